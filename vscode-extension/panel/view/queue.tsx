/** The prompts that wait for the running turn: change, move, send now, take out. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Session } from "../app/session";
import { wordsOf, type Queued } from "../session/queue";
import { usePanel } from "./context";
import { focused } from "./focused";
import { IconButton } from "./icons";
import { keyInWords } from "./keys";

export function Queue({ session }: { readonly session: Session }): JSX.Element | null {
  const panel = usePanel();
  const queue = session.queue.value;
  const does = (work: () => Promise<void>): void => {
    void panel.attempt(work);
  };
  const back = (words: string): void => {
    panel.drafts.giveBack(session.id, [{ text: words, attached: [] }]);
  };
  const edited = async (queued: Queued, words: string): Promise<void> => {
    let taken = false;
    try {
      taken = await session.editQueued(queued, [
        { type: "text", text: words },
        ...queued.blocks.filter((block) => block.type !== "text"),
      ]);
    } finally {
      if (!taken) {
        back(words);
      }
    }
  };
  if (queue.length === 0) {
    return null;
  }
  return (
    <section class="queue" aria-label={l10n.t("Queued messages")}>
      <h2 class="bar-title">{l10n.t("{0} queued", queue.length)}</h2>
      <ol>
        {queue.map((queued, at) => (
          <Row
            key={queued.id}
            queued={queued}
            first={at === 0}
            last={at === queue.length - 1}
            onUp={() => {
              does(() => session.moveQueued(queued, at));
            }}
            onDown={() => {
              does(() => session.moveQueued(queued, at + 2));
            }}
            onNow={() => {
              does(() => session.sendNow(queued));
            }}
            onRemove={() => {
              does(() => session.removeQueued(queued));
            }}
            onEdit={(words) => {
              does(() => edited(queued, words));
            }}
            onGone={back}
          />
        ))}
      </ol>
    </section>
  );
}

interface RowProps {
  readonly queued: Queued;
  readonly first: boolean;
  readonly last: boolean;
  readonly onUp: () => void;
  readonly onDown: () => void;
  readonly onNow: () => void;
  readonly onRemove: () => void;
  readonly onEdit: (words: string) => void;
  /** It is not shown any more, and this was being written in its place. */
  readonly onGone: (words: string) => void;
}

function Row({ queued, first, last, onUp, onDown, onNow, onRemove, onEdit, onGone }: RowProps): JSX.Element {
  const words = wordsOf(queued.blocks);
  const [edited, edit] = useState<string | undefined>(undefined);
  const unsaved = useRef("");
  unsaved.current = edited === undefined || edited.trim() === words.trim() ? "" : edited.trim();
  useEffect(
    () => () => {
      if (unsaved.current !== "") {
        onGone(unsaved.current);
      }
    },
    [],
  );
  if (edited !== undefined) {
    const save = (): void => {
      if (edited.trim() !== "") {
        onEdit(edited.trim());
        edit(undefined);
      }
    };
    return (
      <li>
        <form
          class="queue-form"
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <textarea
            class="queue-edit"
            rows={2}
            dir="auto"
            aria-label={l10n.t("Change the queued message")}
            value={edited}
            ref={focused}
            onInput={(event) => {
              edit(event.currentTarget.value);
            }}
            onKeyDown={(event) => {
              keyInWords(event, () => {
                edit(undefined);
              });
            }}
          />
        </form>
      </li>
    );
  }
  return (
    <li>
      <span class="queue-words" dir="auto" title={words}>
        {words || l10n.t("Attachments")}
      </span>
      <span class="queue-does">
        <IconButton icon="send" label={l10n.t("Send now, into the running turn")} onClick={onNow} />
        <IconButton
          icon="edit"
          label={l10n.t("Change")}
          onClick={() => {
            edit(words);
          }}
        />
        <IconButton icon="up" label={l10n.t("Earlier")} disabled={first} onClick={onUp} />
        <IconButton icon="down" label={l10n.t("Later")} disabled={last} onClick={onDown} />
        <IconButton icon="trash" label={l10n.t("Take out of the queue")} onClick={onRemove} />
      </span>
    </li>
  );
}
