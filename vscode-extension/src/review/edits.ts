/** How a document becomes another text with few words: what stays is not replaced, so that marks and cursors stay where they are. Pure. */
import { diffArrays } from "diff";

/** The lines from `from` to `to`, the latter not included, become `lines`. Counted in the text before, from 0. */
interface LineEdit {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** More differences than this are not worth looking for: everything between the first and the last is replaced. */
const MOST_DIFFERENCES = 2_000;

/** A text as VS Code counts its lines: without line ends; a text that ends with one has an empty last line. */
export function linesOf(text: string): string[] {
  return text.split(/\r\n|\r|\n/);
}

/** What makes lines of `before` into lines of `after`, from the top, touching nowhere. */
export function editsBetween(before: readonly string[], after: readonly string[]): LineEdit[] {
  const parts = diffArrays([...before], [...after], { maxEditLength: MOST_DIFFERENCES });
  if (parts === undefined) {
    return [between(before, after)];
  }
  const edits: LineEdit[] = [];
  let at = 0;
  let open: { from: number; to: number; lines: string[] } | undefined;
  for (const part of parts) {
    if (!part.added && !part.removed) {
      open = undefined;
      at += part.value.length;
      continue;
    }
    if (open === undefined) {
      open = { from: at, to: at, lines: [] };
      edits.push(open);
    }
    if (part.removed) {
      at += part.value.length;
      open.to = at;
    } else {
      open.lines.push(...part.value);
    }
  }
  return edits;
}

function between(before: readonly string[], after: readonly string[]): LineEdit {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) {
    head += 1;
  }
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) {
    tail += 1;
  }
  return { from: head, to: before.length - tail, lines: after.slice(head, after.length - tail) };
}

/** A place in a document, as VS Code counts. */
interface Place {
  readonly line: number;
  readonly character: number;
}

/** The range to replace, and the text to put there, for an edit of a document whose lines are `before`. */
export function replacement(before: readonly string[], edit: LineEdit): { start: Place; end: Place; text: string } {
  if (edit.to < before.length) {
    const text = edit.lines.map((line) => `${line}\n`).join("");
    return { start: { line: edit.from, character: 0 }, end: { line: edit.to, character: 0 }, text };
  }
  const last = before.length - 1;
  const end = { line: last, character: before[last]?.length ?? 0 };
  if (edit.from > 0) {
    const start = { line: edit.from - 1, character: before[edit.from - 1]?.length ?? 0 };
    return { start, end, text: edit.lines.map((line) => `\n${line}`).join("") };
  }
  return { start: { line: 0, character: 0 }, end, text: edit.lines.join("\n") };
}
