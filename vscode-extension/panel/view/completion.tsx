/** The list above the composer: commands of the agent, and what can be mentioned. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Mentions } from "../app/mentions";
import type { Session } from "../app/session";
import { fitting, type Completing } from "../session/completion";
import type { Mention } from "../session/mentions";
import type { Block } from "../session/updates";
import { usePanel } from "./context";

interface Choices {
  readonly list: readonly Mention[];
  /** What is sent with the message for one of them. */
  readonly blocksOf: (choice: Mention) => Promise<readonly Block[]>;
}

const MOST = 50;
const NONE: readonly Mention[] = [];

export function useChoices(completing: Completing | undefined, session: Session | undefined): Choices {
  const panel = usePanel();
  const [mentions, setMentions] = useState(NONE);
  const commands = session?.transcript.value.commands ?? [];
  const typed = completing?.kind === "mention" ? completing.typed : undefined;
  const root = session?.cwd ?? panel.next.root.value?.path;
  const mentioning = typed !== undefined;
  const found = useMemo(
    () => (mentioning && root !== undefined ? new Mentions(panel, root, session?.id ?? "") : undefined),
    [mentioning, root, session],
  );
  useEffect(() => {
    let current = true;
    setMentions((before) => (typed === undefined ? NONE : before));
    if (typed !== undefined) {
      found?.look(typed, (list) => {
        if (current) {
          setMentions(list);
        }
      });
    }
    return () => {
      current = false;
    };
  }, [typed, found]);
  if (completing?.kind === "command") {
    const list = fitting(commands, completing.typed)
      .slice(0, MOST)
      .map(({ name, description, hint }) => ({
        words: `/${name}`,
        shown: `/${name}${hint === "" ? "" : ` ${hint}`}`,
        about: description,
      }));
    return { list, blocksOf: () => Promise.resolve([]) };
  }
  return {
    list: completing === undefined ? NONE : mentions,
    blocksOf: async (choice) => (await found?.blocksOf(choice)) ?? [],
  };
}

export function Completion({
  choices,
  marked,
  onTake,
}: {
  readonly choices: readonly Mention[];
  readonly marked: number;
  readonly onTake: (choice: Mention) => void;
}): JSX.Element {
  return (
    <ul class="completions" id="completions" role="listbox" aria-label={l10n.t("Completions")} tabIndex={0}>
      {choices.map((choice, at) => (
        <li
          key={`${choice.words} ${choice.about}`}
          id={`completion-${at}`}
          role="option"
          aria-selected={at === marked}
          ref={(row) => {
            if (at === marked) {
              row?.scrollIntoView({ block: "nearest" });
            }
          }}
          onMouseDown={(event) => {
            event.preventDefault();
            onTake(choice);
          }}
        >
          <span class="completion-name">{choice.shown}</span>
          <span class="completion-about">{choice.about}</span>
        </li>
      ))}
    </ul>
  );
}
