/** The lines of a diff, for a card. Pure. */
import { structuredPatch } from "diff";
import type { Edit } from "./updates";

interface Line {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
  /** The number in the new text; of a removed line, in the old one. */
  readonly number: number;
}

interface Change {
  readonly hunks: readonly (readonly Line[])[];
  readonly added: number;
  readonly removed: number;
}

const CONTEXT = 3;
/** Milliseconds after which two texts count as altogether different. */
const PATIENCE = 200;

/** `edits`: which lines changed, as the review has it. Without them, or where they are of other texts, it is found here. */
export function changeOf(oldText: string, newText: string, edits?: readonly Edit[]): Change {
  const [before, after] = [split(oldText), split(newText)];
  const hunks =
    edits !== undefined && areOf(before, after, edits)
      ? together(edits).map((near) => drawn(before, after, near))
      : compared(oldText, newText);
  const all = hunks.flat();
  return {
    hunks,
    added: all.filter((line) => line.sign === "+").length,
    removed: all.filter((line) => line.sign === "-").length,
  };
}

/** The lines as the daemon counts them, without their ends. */
function split(text: string): readonly string[] {
  const lines = text.split(/\r\n|\r|\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** Whether between the edits, and around them, there are as many lines of the one text as of the other. */
function areOf(before: readonly string[], after: readonly string[], edits: readonly Edit[]): boolean {
  const end: Edit = [before.length, before.length, after.length, after.length];
  return [...edits, end].every(([oldStart, oldEnd, newStart, newEnd], at, all) => {
    const [, lastOld, , lastNew] = all[at - 1] ?? [0, 0, 0, 0];
    const ordered = lastOld <= oldStart && oldStart <= oldEnd && newStart <= newEnd;
    return ordered && oldStart - lastOld === newStart - lastNew;
  });
}

/** Those in one hunk whose surroundings touch. */
function together(edits: readonly Edit[]): readonly (readonly Edit[])[] {
  const found: Edit[][] = [];
  for (const edit of edits) {
    const last = found.at(-1);
    if (last !== undefined && edit[0] - (last.at(-1)?.[1] ?? 0) <= 2 * CONTEXT) {
      last.push(edit);
    } else {
      found.push([edit]);
    }
  }
  return found;
}

function drawn(before: readonly string[], after: readonly string[], edits: readonly Edit[]): readonly Line[] {
  const pick = (sign: Line["sign"], lines: readonly string[], from: number, to: number): Line[] =>
    lines.slice(Math.max(0, from), to).map((text, at) => ({ sign, text, number: Math.max(0, from) + at + 1 }));
  return edits.flatMap(([oldStart, oldEnd, newStart, newEnd], at) => [
    ...pick(" ", after, edits[at - 1]?.[3] ?? newStart - CONTEXT, newStart),
    ...pick("-", before, oldStart, oldEnd),
    ...pick("+", after, newStart, newEnd),
    ...(at === edits.length - 1 ? pick(" ", after, newEnd, newEnd + CONTEXT) : []),
  ]);
}

function compared(oldText: string, newText: string): readonly (readonly Line[])[] {
  const patch = structuredPatch("", "", oldText, newText, "", "", { context: CONTEXT, timeout: PATIENCE });
  return (patch?.hunks ?? whole(oldText, newText)).map((hunk) => linesOf(hunk.lines, hunk.oldStart, hunk.newStart));
}

function whole(oldText: string, newText: string): { lines: string[]; oldStart: number; newStart: number }[] {
  const signed = (text: string, sign: string): string[] => split(text).map((line) => sign + line);
  return [{ lines: [...signed(oldText, "-"), ...signed(newText, "+")], oldStart: 1, newStart: 1 }];
}

function linesOf(lines: readonly string[], oldStart: number, newStart: number): readonly Line[] {
  let [before, after] = [oldStart, newStart];
  const found: Line[] = [];
  for (const line of lines) {
    const sign = line[0];
    if (sign === "+") {
      found.push({ sign, text: line.slice(1), number: after++ });
    } else if (sign === "-") {
      found.push({ sign, text: line.slice(1), number: before++ });
    } else if (sign === " ") {
      found.push({ sign, text: line.slice(1), number: after++ });
      before++;
    }
  }
  return found;
}
