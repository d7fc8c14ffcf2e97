/** Which rows have some words. Pure. */
import { wordsOf } from "./queue";
import type { Node, Row } from "./rows";

/** The numbers of the rows, in their order. Letters may be large or small. */
export function rowsWith(rows: readonly Row[], words: string): readonly number[] {
  const wanted = words.toLowerCase();
  if (wanted.trim() === "") {
    return [];
  }
  return rows.flatMap((row, at) => {
    const nodes = row.type === "item" ? [row.node] : row.nodes;
    return nodes.some((node) => has(node, wanted)) ? [at] : [];
  });
}

function has(node: Node, wanted: string): boolean {
  return (
    textsOf(node).some((text) => text.toLowerCase().includes(wanted)) ||
    node.children.some((child) => has(child, wanted))
  );
}

function textsOf({ item }: Node): readonly string[] {
  switch (item.kind) {
    case "user":
    case "agent":
    case "thought":
      return [wordsOf(item.blocks)];
    case "aside":
      return [item.question, wordsOf(item.answer)];
    case "notice":
      return [item.title, item.description];
    case "compaction":
      return [item.words, item.summary];
    case "call": {
      const { title, printed, content } = item.call;
      const texts = content.flatMap((each) => {
        if (each.type === "diff") {
          return [each.path, each.newText];
        }
        return each.type === "block" && each.block.type === "text" ? [each.block.text] : [];
      });
      return [title, printed, ...texts];
    }
  }
}
