/** The list above the composer: commands of the agent, and what can be mentioned. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Panel } from "../app/panel";
import type { Session } from "../app/session";
import { fileUri, fitting, relative, type Completing } from "../session/completion";
import { list, object, text } from "../session/read";
import type { Block } from "../session/updates";
import { usePanel } from "./context";

export interface Choice {
  /** What is put into the message. */
  readonly words: string;
  readonly shown: string;
  readonly about: string;
  /** What is sent with it. */
  readonly block?: Block;
}

const MOST = 50;

export function useChoices(completing: Completing | undefined, session: Session | undefined): readonly Choice[] {
  const panel = usePanel();
  const [mentions, setMentions] = useState<readonly Choice[]>([]);
  const commands = session?.transcript.value.commands ?? [];
  const typed = completing?.kind === "mention" ? completing.typed : undefined;
  useEffect(() => {
    let current = true;
    if (typed === undefined) {
      setMentions([]);
    } else {
      void mentionsOf(panel, session, typed).then((found) => { if (current) { setMentions(found); } });
    }
    return () => { current = false; };
  }, [typed, session]);
  if (completing?.kind === "command") {
    return fitting(commands, completing.typed).slice(0, MOST)
      .map(({ name, description, hint }) => ({ words: `/${name}`, shown: `/${name}${hint === "" ? "" : ` ${hint}`}`, about: description }));
  }
  return completing === undefined ? [] : mentions;
}

/** Files and folders of the project; other sessions by their titles. */
async function mentionsOf(panel: Panel, session: Session | undefined, typed: string): Promise<readonly Choice[]> {
  const root = session?.cwd ?? panel.surroundings.value.roots[0]?.path;
  if (root === undefined) {
    return [];
  }
  const found = object(await panel.client.request("_panel/findFiles", { root, query: typed, limit: MOST }).catch(() => ({})));
  return list(found["paths"]).map((path) => text(path)).map((path) => {
    const name = relative(path, root);
    return { words: `@${name}`, shown: name.replace(/\/$/, "").split("/").at(-1) ?? name, about: name, block: { type: "link", uri: fileUri(path), name } };
  });
}

export function Completion({ choices, marked, onTake }: { readonly choices: readonly Choice[]; readonly marked: number; readonly onTake: (choice: Choice) => void }): JSX.Element {
  return (
    <ul class="completions" id="completions" role="listbox" aria-label="Completions" tabIndex={0}>
      {choices.map((choice, at) => (
        <li key={choice.words} id={`completion-${at}`} role="option" aria-selected={at === marked}
          ref={(row) => { if (at === marked) { row?.scrollIntoView({ block: "nearest" }); } }}
          onMouseDown={(event) => { event.preventDefault(); onTake(choice); }}>
          <span class="completion-name">{choice.shown}</span><span class="completion-about">{choice.about}</span>
        </li>
      ))}
    </ul>
  );
}
