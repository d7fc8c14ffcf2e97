/** The rows of the transcript: turns, what subagents did below the call that began them, and, condensed, steps folded into one. Pure. */
import * as l10n from "@vscode/l10n";
import type { Call, Item } from "./transcript";

export interface Node {
  readonly item: Item;
  /** What subagents of this call did. */
  readonly children: readonly Node[];
}

export type Row =
  | { readonly type: "item"; readonly key: string; readonly node: Node; readonly turn: number }
  /** Steps that are folded: calls and thoughts between two messages. */
  | { readonly type: "steps"; readonly key: string; readonly nodes: readonly Node[]; readonly turn: number };

/** `condensed`: steps are folded, but for those that wait or have failed last. */
export function rowsOf(items: readonly Item[], condensed: boolean): readonly Row[] {
  const rows: Row[] = [];
  let folded: Node[] = [];
  let turn = 0;
  const flush = (): void => {
    const [first] = folded;
    if (first !== undefined) {
      rows.push({ type: "steps", key: `steps:${first.item.key}`, nodes: folded, turn });
      folded = [];
    }
  };
  for (const node of nodesOf(items)) {
    if (condensed && isStep(node.item)) {
      folded.push(node);
      continue;
    }
    flush();
    turn += node.item.kind === "user" ? 1 : 0;
    rows.push({ type: "item", key: node.item.key, node, turn });
  }
  flush();
  return rows;
}

function isStep(item: Item): boolean {
  return item.kind === "thought" || item.kind === "call";
}

function nodesOf(items: readonly Item[]): readonly Node[] {
  if (!items.some((item) => item.kind === "call" && item.call.parent !== "")) {
    return items.map((item) => ({ item, children: [] }));
  }
  const known = new Set(items.map((item) => item.key));
  const below = new Map<string, Item[]>();
  const above: Item[] = [];
  for (const item of items) {
    const parent = item.kind === "call" && item.call.parent !== "" ? `call:${item.call.parent}` : "";
    if (parent !== "" && known.has(parent) && parent !== item.key) {
      below.set(parent, [...(below.get(parent) ?? []), item]);
    } else {
      above.push(item);
    }
  }
  const node = (item: Item, depth: number): Node => ({
    item,
    children: depth < DEEPEST ? (below.get(item.key) ?? []).map((child) => node(child, depth + 1)) : [],
  });
  return above.map((item) => node(item, 0));
}

/** Subagents of subagents. What names itself as its own parent ends here. */
const DEEPEST = 8;

const COUNTED: Readonly<Record<string, (count: number) => string>> = {
  read: (count) => (count === 1 ? l10n.t("1 file read") : l10n.t("{0} files read", count)),
  edit: (count) => (count === 1 ? l10n.t("1 edit") : l10n.t("{0} edits", count)),
  delete: (count) => (count === 1 ? l10n.t("1 deletion") : l10n.t("{0} deletions", count)),
  move: (count) => (count === 1 ? l10n.t("1 move") : l10n.t("{0} moves", count)),
  search: (count) => (count === 1 ? l10n.t("1 search") : l10n.t("{0} searches", count)),
  execute: (count) => (count === 1 ? l10n.t("1 command") : l10n.t("{0} commands", count)),
  fetch: (count) => (count === 1 ? l10n.t("1 page") : l10n.t("{0} pages", count)),
  think: (count) => (count === 1 ? l10n.t("1 thought") : l10n.t("{0} thoughts", count)),
};

function others(count: number): string {
  return count === 1 ? l10n.t("1 other step") : l10n.t("{0} other steps", count);
}

/** What some steps were, such as "2 edits, 1 command". */
export function summary(nodes: readonly Node[]): string {
  const counts = new Map<string, number>();
  for (const { item } of nodes) {
    const kind = item.kind === "call" ? item.call.kind : "think";
    const known = Object.hasOwn(COUNTED, kind) ? kind : "other";
    counts.set(known, (counts.get(known) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => (COUNTED[kind] ?? others)(count)).join(", ");
}

export function isOpen(call: Call): boolean {
  return call.status === "pending" || call.status === "in_progress";
}
