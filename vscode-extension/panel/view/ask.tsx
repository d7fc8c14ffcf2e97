/**
 * What waits for the user: permissions and forms, between the conversation and the composer, never over either.
 *
 * What is asked about stands there whole, and nothing is allowed before its end was in sight. Every option that the agent sent is there,
 * by its own name. Keys: Alt and a number, wherever the focus is. A key within half a second of the question's appearing was meant for
 * something else and does nothing.
 */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Ask } from "../app/panel";
import {
  chosen,
  commandOf,
  isRejection,
  rewritten,
  wholeCode,
  type Permission,
  type PermissionOption,
} from "../session/asking";
import type { Content } from "../session/updates";
import { usePanel } from "./context";
import { AskedForm } from "./form";
import { keyInWords } from "./keys";
import { Attachment, Markdown } from "./message";
import { Diff } from "./tool";

/** Milliseconds in which keys do not answer. */
const TOO_SOON = 500;
/** Pixels of what was in sight that stay when the next part is shown. */
const LINES_KEPT = 36;
/** The command itself stands below it, whole. */
const RUN = l10n.t("Run this command?");

const ACTION = {
  needed: l10n.t("Permission needed"),
  titled: (title: string): string => title,
  body: l10n.t("What it would do"),
  placeholder: l10n.t("Or say what to do instead"),
  words: l10n.t("Reject, and say what to do instead"),
};
/** Of a call that has run, before its model sees what it brought. */
const OUTPUT = {
  needed: l10n.t("Pass on to the model"),
  titled: (title: string): string => l10n.t("Pass on to the model: {0}", title),
  body: l10n.t("What came back"),
  placeholder: l10n.t("Or say why not"),
  words: l10n.t("Withhold, and say why"),
};

export function Asks(): JSX.Element | null {
  const panel = usePanel();
  const [first, ...more] = panel.asks.value;
  const keys = useKeysCount(first);
  useReturn(first);
  if (first === undefined) {
    return null;
  }
  return (
    <section class="asks" aria-label={l10n.t("Waiting for your answer")} data-keys={keys ? "on" : "off"}>
      {first.asked.type === "permission" ? (
        <AskedPermission key={String(first.question.id)} ask={first} permission={first.asked} />
      ) : (
        <AskedForm key={String(first.question.id)} ask={first} form={first.asked} />
      )}
      {more.length > 0 && (
        <p class="more-asks">
          {more.length === 1
            ? l10n.t("1 more question waits behind this one.")
            : l10n.t("{0} more questions wait behind this one.", more.length)}
        </p>
      )}
    </section>
  );
}

/** Whether keys answer the question already. */
function useKeysCount(ask: Ask | undefined): boolean {
  const [ready, become] = useState<unknown>(undefined);
  const id = ask?.question.id;
  useEffect(() => {
    const timer =
      ask &&
      setTimeout(
        () => {
          become(id);
        },
        TOO_SOON - (performance.now() - ask.question.since) + 20,
      );
    return () => {
      clearTimeout(timer);
    };
  }, [id]);
  return id !== undefined && ready === id;
}

/** The focus goes back to the composer when what it was in is answered; it is never taken from the editor. */
function useReturn(ask: Ask | undefined): void {
  const id = ask?.question.id;
  const last = useRef(id);
  useEffect(() => {
    const answered = last.current !== undefined && last.current !== id;
    last.current = id;
    if (answered && document.hasFocus() && document.activeElement === document.body) {
      document.querySelector<HTMLElement>(".composer textarea")?.focus();
    }
  }, [id]);
}

function AskedPermission({ ask, permission }: { readonly ask: Ask; readonly permission: Permission }): JSX.Element {
  const panel = usePanel();
  const { call, options } = permission;
  const [words, setWords] = useState("");
  const [line, write] = useState<string | undefined>(undefined);
  const shown = call.content ?? [];
  const end = endOfAsked(shown);
  const body = useRef<HTMLDivElement>(null);
  const seen = useSeen(body);
  // What is allowed must be what stands there: not the command as it was, while another one is being written.
  const rewriting = line !== undefined && line !== permission.command;
  const waits = (option: PermissionOption): boolean => (rewriting || !seen) && !isRejection(option);
  const answer = (option: PermissionOption): void => {
    if (waits(option)) {
      panel.say(rewriting ? "" : l10n.t("Look at all of it first."));
      return;
    }
    panel.client.answer(ask.question, chosen(option, words.trim()));
    panel.say(`${option.name}.`);
  };
  useKeys(ask, options, answer);
  const rejection = options.find(isRejection);
  const once = options.find((option) => option.kind === "allow_once");
  const asks = permission.output ? OUTPUT : ACTION;
  return (
    <div class="ask" role="alertdialog" aria-modal="false" aria-label={`${asks.needed}: ${call.title ?? ""}`}>
      <h2 class="ask-title">
        {commandOf(permission) === undefined ? asks.titled(call.title ?? l10n.t("The agent asks")) : RUN}
      </h2>
      <div class="ask-body" ref={body} tabIndex={0} role="group" aria-label={asks.body}>
        {shown.slice(0, end).map((content, at) => (
          <Shown key={at} content={content} />
        ))}
        <div class="ask-end" />
        {shown.slice(end).map((content, at) => (
          <Shown key={end + at} content={content} />
        ))}
      </div>
      {!seen && (
        <button
          type="button"
          class="link ask-more"
          onClick={() => {
            body.current?.scrollBy({ top: body.current.clientHeight - LINES_KEPT });
          }}
        >
          {l10n.t("More below: look at all of it before you allow it")}
        </button>
      )}
      <div class={rewriting ? "ask-options rewriting" : "ask-options"}>
        {options.map((option, at) => (
          <button
            key={option.id}
            type="button"
            class={`button ${at === 0 ? "" : "secondary"}`}
            disabled={waits(option)}
            onClick={() => {
              answer(option);
            }}
            aria-keyshortcuts={`Alt+${at + 1}`}
          >
            {option.name}
            <kbd aria-hidden="true">Alt+{at + 1}</kbd>
          </button>
        ))}
      </div>
      {permission.command !== undefined && (
        <Rewriting ask={ask} command={permission.command} options={options} line={line} write={write} seen={seen} />
      )}
      {rejection !== undefined && (
        <form
          class="ask-words"
          onSubmit={(event) => {
            event.preventDefault();
            if (words.trim() !== "") {
              answer(rejection);
            }
          }}
        >
          <textarea
            rows={1}
            value={words}
            placeholder={asks.placeholder}
            aria-label={asks.words}
            dir="auto"
            onInput={(event) => {
              setWords(event.currentTarget.value);
            }}
            onKeyDown={keyInWords}
          />
          {words.trim() !== "" && (
            <button type="submit" class="button secondary">
              {l10n.t("{0} with these words", rejection.name)}
            </button>
          )}
          {words.trim() !== "" && once !== undefined && (
            <button
              type="button"
              class="button secondary"
              disabled={waits(once)}
              onClick={() => {
                answer(once);
              }}
            >
              {l10n.t("{0} with these words", once.name)}
            </button>
          )}
        </form>
      )}
    </div>
  );
}

/** Another command in place of the one that is asked about, for this once. */
function Rewriting({
  ask,
  command,
  options,
  line,
  write,
  seen,
}: {
  readonly ask: Ask;
  readonly command: string;
  readonly options: readonly PermissionOption[];
  readonly line: string | undefined;
  readonly write: (line: string | undefined) => void;
  readonly seen: boolean;
}): JSX.Element | null {
  const panel = usePanel();
  const once = options.find((option) => option.kind === "allow_once");
  if (once === undefined) {
    return null;
  }
  if (line === undefined) {
    return (
      <div class="ask-rewrite">
        <button
          type="button"
          class="link"
          onClick={() => {
            write(command);
          }}
        >
          {l10n.t("Change the command…")}
        </button>
      </div>
    );
  }
  return (
    <form
      class="ask-words"
      onSubmit={(event) => {
        event.preventDefault();
        if (seen && line.trim() !== "") {
          panel.client.answer(ask.question, line === command ? chosen(once, "") : rewritten(once, line));
          panel.say(l10n.t("Allowed as you changed it."));
        }
      }}
    >
      <textarea
        class="mono"
        rows={1}
        dir="ltr"
        spellcheck={false}
        value={line}
        aria-label={l10n.t("The command to run instead")}
        ref={(field) => {
          if (line === command) {
            field?.focus();
          }
        }}
        onInput={(event) => {
          write(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          keyInWords(event, () => {
            write(undefined);
          });
        }}
      />
      <button type="submit" class="button secondary" disabled={line.trim() === "" || !seen}>
        {l10n.t("Run this instead")}
      </button>
    </form>
  );
}

function Shown({ content }: { readonly content: Content }): JSX.Element | null {
  if (content.type === "diff") {
    return <Diff diff={content} whole />;
  }
  if (content.type !== "block") {
    return null;
  }
  if (content.block.type !== "text") {
    return <Attachment block={content.block} />;
  }
  const code = wholeCode(content.block.text);
  return code === undefined ? (
    <Markdown source={content.block.text} />
  ) : (
    <pre class="ask-code" dir="ltr">
      {code}
    </pre>
  );
}

/** Behind which piece what is asked about ends: the last command, change or output; what follows says more about it. */
function endOfAsked(shown: readonly Content[]): number {
  const last = shown.findLastIndex(
    (each) =>
      each.type === "diff" ||
      (each.type === "block" && (each.block.type !== "text" || wholeCode(each.block.text) !== undefined)),
  );
  return last < 0 ? shown.length : last + 1;
}

/** Whether the end of what is asked about was in sight. */
function useSeen(body: { readonly current: HTMLElement | null }): boolean {
  const [seen, see] = useState(false);
  useEffect(() => {
    const end = body.current?.querySelector(".ask-end");
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) {
        see(true);
      }
    });
    if (end instanceof Element) {
      observer.observe(end);
    }
    return () => {
      observer.disconnect();
    };
  }, []);
  return seen;
}

/** Whether the key is a character in a field of text: on many keyboards Alt and a number are one. */
function types(event: KeyboardEvent): boolean {
  const isText = event.target instanceof HTMLTextAreaElement || event.target instanceof HTMLInputElement;
  return isText && event.key.length === 1 && `Digit${event.key}` !== event.code;
}

/** Alt and a number; behind the page's own handlers, and before VS Code's, which has other uses for these keys. */
function useKeys(ask: Ask, options: readonly PermissionOption[], answer: (option: PermissionOption) => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const number = event.altKey && !event.ctrlKey && !event.metaKey ? Number(event.code.replace(/^Digit/, "")) : NaN;
      const option = options[number - 1];
      if (option !== undefined && !event.isComposing && !types(event)) {
        event.preventDefault();
        event.stopPropagation();
        if (performance.now() - ask.question.since > TOO_SOON) {
          answer(option);
        }
      }
    };
    document.addEventListener("keydown", pressed, true);
    return () => {
      document.removeEventListener("keydown", pressed, true);
    };
  });
}
