/** Which words of a hunk are others than those that stood there. Pure. */
import { diffWordsWithSpace } from "diff";
import type { ShownHunk } from "../protocol/review";
import { bare } from "./quickchange";

/** Columns `from` to `to` of a line of the hunk, all counted from 0. */
interface Words {
  readonly line: number;
  readonly from: number;
  readonly to: number;
}

/** Characters of both sides: more are not compared. */
const MOST_COMPARED = 8_000;
/** Where more than this part of the new lines is new, marks in it say nothing. */
const MOST_NEW = 0.6;

/** The words that are new, from the top; none where the lines have little in common with those that stood there. */
export function changedWords(hunk: ShownHunk): Words[] {
  const before = hunk.base.map(bare).join("\n");
  const after = hunk.lines.map((each) => bare(each.text)).join("\n");
  if (before === "" || before.length + after.length > MOST_COMPARED) {
    return [];
  }
  const found: Words[] = [];
  let [line, column, count] = [0, 0, 0];
  for (const part of diffWordsWithSpace(before, after).filter((each) => !each.removed)) {
    for (const [at, text] of part.value.split("\n").entries()) {
      [line, column] = at === 0 ? [line, column] : [line + 1, 0];
      if (part.added && text.trim() !== "") {
        found.push({ line, from: column, to: column + text.length });
        count += text.length;
      }
      column += text.length;
    }
  }
  return count > after.length * MOST_NEW ? [] : found;
}
