/** Where hunks stand in the lines of a document. Pure: knows lines only, counted from 0. */
import type { ChangeParams, ShownFile, ShownHunk } from "../protocol/review";

const LINE_END = /\r\n|\r|\n/;

/** The first line after the hunk; the hunk's own `start` where it only removed lines. */
export function endOf(hunk: ShownHunk): number {
  return hunk.start + hunk.lines.length;
}

/** Those that are lines of the file as it is, from the top: what is shown in its text. */
export function textHunks(file: ShownFile | undefined): ShownHunk[] {
  return file?.hunks.filter((hunk) => hunk.kind === "text" && hunk.state !== "absent") ?? [];
}

/** Whether a cursor in this line is at the hunk. What only removed lines is at both of the lines around them. */
export function covers(hunk: ShownHunk, line: number): boolean {
  if (hunk.lines.length === 0) {
    return line === hunk.start || line === hunk.start - 1;
  }
  return hunk.start <= line && line < endOf(hunk);
}

/** The hunk at a line: rather one with lines there than one that removed lines beside it. */
export function hunkAt(hunks: readonly ShownHunk[], line: number): ShownHunk | undefined {
  const there = hunks.filter((hunk) => covers(hunk, line));
  return there.find((hunk) => hunk.lines.length > 0) ?? there[0];
}

/** The line that stands for the hunk in a document of `lineCount` lines. */
export function lineOf(hunk: ShownHunk, lineCount: number): number {
  return Math.max(0, Math.min(hunk.start, lineCount - 1));
}

/** The next hunk below a line, else the first; -1: the one above, else the last. */
export function neighbour(hunks: readonly ShownHunk[], line: number, direction: 1 | -1): ShownHunk | undefined {
  if (direction === 1) {
    return hunks.find((hunk) => hunk.start > line) ?? hunks[0];
  }
  return hunks.findLast((hunk) => hunk.start < line) ?? hunks.at(-1);
}

/** The hunk after an edit by the user: what was put in or taken out above it moves it. */
export function after(hunk: ShownHunk, { range, text }: ChangeParams): ShownHunk {
  if (!range) {
    return hunk;
  }
  const { start, end } = range;
  const isAbove = end.line < hunk.start || (end.line === hunk.start && end.character === 0 && hunk.lines.length > 0);
  const lines = text.split(LINE_END).length - 1 - (end.line - start.line);
  return isAbove && lines !== 0 ? { ...hunk, start: Math.max(0, hunk.start + lines) } : hunk;
}
