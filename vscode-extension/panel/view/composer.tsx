/**
 * Where the user writes. Enter sends, or queues while a turn runs; Ctrl+Enter gives the words to the running turn; Escape stops it.
 * None of them does anything while an input method composes.
 */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { blocksOf, EMPTY_DRAFT, type Change, type Draft } from "../app/drafts";
import type { Session } from "../app/session";
import { completed, completingAt, fileUri, type Completing } from "../session/completion";
import { wordsOf } from "../session/queue";
import { ASIDE } from "../session/transcript";
import type { Block } from "../session/updates";
import type { Mention } from "../session/mentions";
import { Completion, useChoices } from "./completion";
import { usePanel } from "./context";
import { Icon, IconButton } from "./icons";
import { imagesOf } from "./images";
import { Menu } from "./menu";
import { Meter } from "./meter";
import { FromEditor } from "./fromeditor";
import { Folder, Pickers } from "./pickers";

export function Composer({ session }: { readonly session: Session | undefined }): JSX.Element {
  const panel = usePanel();
  const key = session?.id ?? "";
  const open = session ?? panel.next.prepared.value;
  const draft = panel.drafts.of(key);
  // Of this session also when another is shown by the time that something comes.
  const change = (by: Change): void => {
    panel.drafts.change(key, by);
  };
  const field = useRef<HTMLTextAreaElement>(null);
  const running = session?.running.value ?? false;
  useHeight(field, draft.text);
  useFocusing(field);
  const add = (blocks: readonly Block[]): void => {
    change((before) => ({ ...before, attached: [...before.attached, ...blocks] }));
  };
  const send = (steers: boolean): void => {
    const all = panel.drafts.of(key);
    if (blocksOf(all).length > 0) {
      change(() => EMPTY_DRAFT);
      void deliver(all, steers && running);
    }
  };
  const deliver = async (all: Draft, steers: boolean): Promise<void> => {
    const to = await panel.ensure();
    const from = panel.resending.value;
    panel.resending.value = undefined;
    if (to === undefined) {
      panel.drafts.giveBack(key, [all]);
    } else if (from?.session === to.id) {
      await panel.resend(to, from, all);
    } else {
      await (steers ? to.steer(blocksOf(all)) : to.prompt(blocksOf(all)));
    }
  };
  return (
    <div
      class="composer"
      onDragOver={(event) => {
        event.preventDefault();
      }}
      onDrop={(event) => {
        event.preventDefault();
        void dropped(event.dataTransfer).then(add);
      }}
    >
      <Resending session={session} />
      <Attached
        draft={draft}
        onRemove={(at) => {
          change((before) => ({ ...before, attached: before.attached.filter((_, index) => index !== at) }));
        }}
      />
      <Field field={field} draft={draft} session={session} onChange={change} onAttach={add} onSend={send} />
      <div class="composer-bar">
        <Menu
          icon="attach"
          label={l10n.t("Add to the message")}
          above
          entries={[
            {
              name: l10n.t("Add files…"),
              does: () => {
                void panel.link.pickFile().then((paths) => {
                  add(paths.map(linkOf));
                  field.current?.focus();
                });
              },
            },
            {
              name: l10n.t("Ask on the side (/btw)"),
              does: () => {
                write(field, `/btw ${draft.text.replace(ASIDE, "")}`, (text) => {
                  change((before) => ({ ...before, text }));
                });
              },
            },
          ]}
        />
        {session === undefined && <Folder />}
        {open !== undefined && <Pickers key={open.id} session={open} begins={session === undefined} />}
        <FromEditor
          draft={draft}
          onAdd={(block) => {
            add([block]);
            field.current?.focus();
          }}
        />
        <span class="space" />
        {session !== undefined && <Meter session={session} />}
        {running && session !== undefined && (
          <button
            type="button"
            class="send stop"
            title={l10n.t("Stop (Escape)")}
            aria-label={l10n.t("Stop")}
            disabled={session.stopping.value}
            onClick={() => {
              panel.stop(session);
            }}
          >
            <Icon name="stop" />
          </button>
        )}
        <button
          type="button"
          class="send"
          disabled={blocksOf(draft).length === 0}
          title={running ? l10n.t("Queue (Enter). Send now: Ctrl+Enter") : l10n.t("Send (Enter)")}
          aria-label={running ? l10n.t("Queue") : l10n.t("Send")}
          onClick={() => {
            send(false);
            field.current?.focus();
          }}
        >
          <Icon name={running ? "queue" : "send"} />
        </button>
      </div>
    </div>
  );
}

/** Sets the text of the field, with the cursor behind it. */
function write(field: { current: HTMLTextAreaElement | null }, text: string, set: (text: string) => void): void {
  set(text);
  requestAnimationFrame(() => {
    field.current?.focus();
    field.current?.setSelectionRange(text.length, text.length);
  });
}

interface FieldProps {
  readonly field: { current: HTMLTextAreaElement | null };
  readonly draft: Draft;
  readonly session: Session | undefined;
  readonly onChange: (by: Change) => void;
  readonly onAttach: (blocks: readonly Block[]) => void;
  readonly onSend: (steers: boolean) => void;
}

function Field({ field, draft, session, onChange, onAttach, onSend }: FieldProps): JSX.Element {
  const [completing, complete] = useState<Completing | undefined>(undefined);
  const [marked, mark] = useState(0);
  const panel = usePanel();
  const { list: choices, blocksOf: mentioned } = useChoices(completing, session ?? panel.next.prepared.value);
  const running = session?.running.value ?? false;
  const take = (choice: Mention): void => {
    if (completing !== undefined && field.current !== null) {
      const next = completed(draft.text, field.current.selectionStart, completing, choice.words);
      onChange((before) => ({ ...before, text: next.text }));
      void panel.attempt(async () => {
        onAttach(await mentioned(choice));
      });
      complete(undefined);
      // The value is set when the component is drawn; the cursor comes behind it.
      requestAnimationFrame(() => {
        field.current?.setSelectionRange(next.cursor, next.cursor);
      });
    }
  };
  const look = (): void => {
    const { value, selectionStart } = field.current ?? { value: "", selectionStart: 0 };
    const next = completingAt(value, selectionStart);
    if (next?.typed !== completing?.typed || next?.kind !== completing?.kind) {
      mark(0);
    }
    complete(next);
  };
  const open = choices.length > 0;
  return (
    <div class="field-frame">
      {open && <Completion choices={choices} marked={marked} onTake={take} />}
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        aria-label={l10n.t("Message")}
        value={draft.text}
        aria-autocomplete="list"
        aria-controls={open ? "completions" : undefined}
        aria-activedescendant={open ? `completion-${marked}` : undefined}
        placeholder={
          running
            ? l10n.t("Queue a message, or Ctrl+Enter to send it now")
            : l10n.t("Ask, or describe a change. / for commands, @ for files and more")
        }
        onInput={(event) => {
          const text = event.currentTarget.value;
          onChange((before) => ({ ...before, text }));
          look();
        }}
        onClick={look}
        onFocus={() => {
          if (session === undefined) {
            void panel.next.prepare();
          }
        }}
        onBlur={() => {
          complete(undefined);
        }}
        onPaste={(event) => {
          void imagesOf(event.clipboardData?.files).then((blocks) => {
            if (blocks.length > 0) {
              onAttach(blocks);
            }
          });
        }}
        onKeyDown={(event) => {
          if (event.isComposing) {
            return;
          }
          // a command that is typed in full needs no completion
          const whole =
            event.key === "Enter" &&
            completing?.kind === "command" &&
            choices[marked]?.words === `/${completing.typed}`;
          if (
            open &&
            !whole &&
            keyOfList(event, choices, marked, mark, take, () => {
              complete(undefined);
            })
          ) {
            event.preventDefault();
          } else if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
            event.preventDefault();
            complete(undefined);
            onSend(event.ctrlKey || event.metaKey);
          } else if (
            event.key === "ArrowUp" &&
            session !== undefined &&
            saidBefore(session, draft.text) !== undefined
          ) {
            event.preventDefault();
            write(field, saidBefore(session, draft.text) ?? "", (text) => {
              onChange((before) => ({ ...before, text }));
            });
          } else if (event.key === "Escape" && running && session !== undefined) {
            event.preventDefault();
            panel.stop(session);
          }
        }}
      />
    </div>
  );
}

/** What the user said last; before what stands there, where that is something they said. */
function saidBefore(session: Session, text: string): string | undefined {
  const said = session.transcript.value.items.flatMap((item) => (item.kind === "user" ? wordsOf(item.blocks) : []));
  return said[(text === "" ? said.length : said.lastIndexOf(text)) - 1];
}

/** Whether the key was one of the list's. */
function keyOfList(
  event: KeyboardEvent,
  choices: readonly Mention[],
  marked: number,
  mark: (at: number) => void,
  take: (choice: Mention) => void,
  close: () => void,
): boolean {
  const choice = choices[marked];
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    mark((marked + (event.key === "ArrowDown" ? 1 : choices.length - 1)) % choices.length);
  } else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && choice !== undefined) {
    take(choice);
  } else if (event.key === "Escape") {
    close();
  } else {
    return false;
  }
  return true;
}

function nameOf(block: Block): string {
  switch (block.type) {
    case "link":
      return block.name;
    case "resource":
      return decodeURIComponent(block.uri.split("/").at(-1) ?? block.uri).replace("#L", ":");
    case "image":
      return l10n.t("Picture");
    case "audio":
      return l10n.t("Audio");
    case "text":
      return block.text;
  }
}

/** That what is sent comes in place of an earlier message. */
function Resending({ session }: { readonly session: Session | undefined }): JSX.Element | null {
  const panel = usePanel();
  if (session === undefined || panel.resending.value?.session !== session.id) {
    return null;
  }
  return (
    <p class="resending" role="status">
      {l10n.t(
        "Sent from that point: what was said and changed after it goes back first. What you typed or kept stays.",
      )}
      <button
        type="button"
        class="link"
        onClick={() => {
          panel.resending.value = undefined;
        }}
      >
        {l10n.t("Send at the end instead")}
      </button>
    </p>
  );
}

/** Exactly what is sent beside the words. */
function Attached({
  draft,
  onRemove,
}: {
  readonly draft: Draft;
  readonly onRemove: (at: number) => void;
}): JSX.Element | null {
  if (draft.attached.length === 0) {
    return null;
  }
  return (
    <ul class="attached" aria-label={l10n.t("Sent with the message")}>
      {draft.attached.map((block, at) => (
        <li
          class="chip"
          key={at}
          title={block.type === "link" ? block.uri : block.type === "resource" ? block.text : ""}
        >
          {block.type === "image" ? (
            <img alt={l10n.t("Picture")} src={`data:${block.mimeType};base64,${block.data}`} />
          ) : (
            <Icon name="file" />
          )}
          {nameOf(block)}
          <IconButton
            icon="close"
            label={l10n.t("Do not send this")}
            onClick={() => {
              onRemove(at);
            }}
          />
        </li>
      ))}
    </ul>
  );
}

function linkOf(path: string): Block {
  return { type: "link", uri: fileUri(path), name: path.replace(/\/$/, "").split("/").at(-1) ?? path };
}

async function dropped(data: DataTransfer | null): Promise<readonly Block[]> {
  const uris = (data?.getData("text/uri-list") ?? "").split(/\r?\n/).filter((uri) => uri.startsWith("file://"));
  const links = uris.map((uri): Block => ({
    type: "link",
    uri,
    name: decodeURIComponent(uri.split("/").at(-1) ?? uri),
  }));
  return [...links, ...(await imagesOf(data?.files))];
}

/** As high as its text, up to a third of the window. */
function useHeight(field: { current: HTMLTextAreaElement | null }, text: string): void {
  useLayoutEffect(() => {
    if (field.current !== null) {
      field.current.style.height = "auto";
      field.current.style.height = `${Math.min(field.current.scrollHeight, window.innerHeight / 3)}px`;
    }
  }, [text]);
}

/** What comes from elsewhere, such as a message to be edited, brings the user here. */
function useFocusing(field: { current: HTMLTextAreaElement | null }): void {
  const panel = usePanel();
  const focusing = panel.focusing.value;
  useEffect(() => {
    if (focusing) {
      panel.focusing.value = false;
      field.current?.focus();
    }
  }, [focusing]);
}
