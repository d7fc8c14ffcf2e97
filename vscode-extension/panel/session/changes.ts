/** The lines of a diff, for a card. Pure. */
import { structuredPatch } from "diff";

export interface Line {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
  /** The number in the new text; of a removed line, in the old one. */
  readonly number: number;
}

export interface Change {
  readonly hunks: readonly (readonly Line[])[];
  readonly added: number;
  readonly removed: number;
}

const CONTEXT = 3;
/** Milliseconds after which two texts count as altogether different. */
const PATIENCE = 200;

export function changeOf(oldText: string, newText: string): Change {
  const patch = structuredPatch("", "", oldText, newText, "", "", { context: CONTEXT, timeout: PATIENCE });
  const hunks = (patch?.hunks ?? whole(oldText, newText)).map((hunk) =>
    linesOf(hunk.lines, hunk.oldStart, hunk.newStart),
  );
  const all = hunks.flat();
  return {
    hunks,
    added: all.filter((line) => line.sign === "+").length,
    removed: all.filter((line) => line.sign === "-").length,
  };
}

function whole(oldText: string, newText: string): { lines: string[]; oldStart: number; newStart: number }[] {
  const split = (text: string, sign: string): string[] =>
    text === ""
      ? []
      : text
          .replace(/\n$/, "")
          .split("\n")
          .map((line) => sign + line);
  return [{ lines: [...split(oldText, "-"), ...split(newText, "+")], oldStart: 1, newStart: 1 }];
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
