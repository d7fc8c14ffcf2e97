/**
 * What is typed and not sent, by session; "" is the one for a session that is yet to begin. Words outlive a reload; what is attached
 * outlives all but that. It is only ever changed as it is then: nothing that comes late may take the place of what came before it.
 */
import { signal } from "@preact/signals";
import type { Link } from "../link";
import { wordsOf } from "../session/queue";
import type { Block } from "../session/updates";

export interface Draft {
  readonly text: string;
  readonly attached: readonly Block[];
}

export type Change = (draft: Draft) => Draft;

export const EMPTY_DRAFT: Draft = { text: "", attached: [] };

/** What was sent, to be written on. */
export function draftOf(blocks: readonly Block[]): Draft {
  return { text: wordsOf(blocks), attached: blocks.filter((block) => block.type !== "text") };
}

/** A draft as it is sent; nothing when there is nothing in it. */
export function blocksOf({ text, attached }: Draft): readonly Block[] {
  const words = text.trim();
  return words === "" ? attached : [{ type: "text", text: words }, ...attached];
}

export function joined(first: Draft, second: Draft, between = "\n\n"): Draft {
  const text = [first.text, second.text].filter((words) => words.trim() !== "").join(between);
  return { text, attached: [...first.attached, ...second.attached] };
}

export class Drafts {
  readonly #link: Link;
  readonly #known = signal<ReadonlyMap<string, Draft>>(new Map());

  constructor(link: Link) {
    this.#link = link;
  }

  of(session: string): Draft {
    return this.#known.value.get(session) ?? { ...EMPTY_DRAFT, text: this.#link.state.drafts?.[session] ?? "" };
  }

  change(session: string, by: Change): void {
    const next = by(this.of(session));
    this.#known.value = new Map(this.#known.value).set(session, next);
    const { [session]: _, ...others } = this.#link.state.drafts ?? {};
    this.#link.state = { ...this.#link.state, drafts: next.text === "" ? others : { ...others, [session]: next.text } };
  }

  /** Has it come back, before what was typed since. */
  giveBack(session: string, drafts: readonly Draft[]): void {
    this.change(session, (draft) => [...drafts, draft].reduce((first, second) => joined(first, second)));
  }
}
