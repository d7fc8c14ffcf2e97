/**
 * Which hunk VS Code means by a change in its quick diff. Pure.
 *
 * VS Code compares the texts itself, and slides what only adds or removes lines over equal ones, so its line numbers are not ours.
 * The same hunk is the one without which the text is the same text.
 */
import type { ShownHunk } from "../protocol/review";
import { endOf } from "./place";

/** A change as `scm/change/title` gives it: lines counted from 1; an end of 0: nothing on that side, `start` is the line before. */
export interface LineChange {
  readonly originalStartLineNumber: number;
  readonly originalEndLineNumber: number;
  readonly modifiedStartLineNumber: number;
  readonly modifiedEndLineNumber: number;
}

interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** The hunk that taking `change` back would take back; undefined where VS Code shows something else than one hunk. */
export function hunkOf(
  change: LineChange,
  hunks: readonly ShownHunk[],
  current: readonly string[],
  base: readonly string[],
): ShownHunk | undefined {
  const wanted = without(current, reverting(change, base));
  return hunks.find(
    (hunk) => without(current, { from: hunk.start, to: endOf(hunk), lines: hunk.base.map(bare) }) === wanted,
  );
}

function reverting(change: LineChange, base: readonly string[]): Replacement {
  const [from, to] = half(change.modifiedStartLineNumber, change.modifiedEndLineNumber);
  const [first, last] = half(change.originalStartLineNumber, change.originalEndLineNumber);
  return { from, to, lines: base.slice(first, last) };
}

function half(start: number, end: number): [number, number] {
  return end === 0 ? [start, start] : [start - 1, end];
}

function without(lines: readonly string[], change: Replacement): string {
  const kept = [...lines.slice(0, change.from), ...change.lines, ...lines.slice(change.to)];
  // An empty last line is what comes after the last line end; whether a side counts it is a matter of taste.
  while (kept.at(-1) === "") {
    kept.pop();
  }
  return kept.join("\n");
}

/** A line without its end. */
export function bare(line: string): string {
  return line.replace(/\r\n$|[\r\n]$/, "");
}
