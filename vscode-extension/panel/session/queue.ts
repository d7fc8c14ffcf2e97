/** The prompts that wait for the running turn. Pure. */
import { queue } from "../../src/protocol/session";
import { readBlock, type Block } from "./updates";

export interface Queued {
  readonly id: string;
  readonly blocks: readonly Block[];
  /** It was sent from this window: a stop drops it. */
  readonly mine: boolean;
}

export function readQueue(raw: unknown): readonly Queued[] {
  const prompts = queue(raw)?.prompts ?? [];
  return prompts.map(({ id, mine, prompt }) => ({
    id,
    mine,
    blocks: prompt.map(readBlock).filter((block) => block !== undefined),
  }));
}

/** The words of a prompt. */
export function wordsOf(blocks: readonly Block[]): string {
  return blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

/** A block as it is sent. */
export function sent(block: Block): object {
  if (block.type === "link") {
    return { type: "resource_link", uri: block.uri, name: block.name };
  }
  if (block.type === "resource") {
    return { type: "resource", resource: { uri: block.uri, text: block.text } };
  }
  return block;
}
