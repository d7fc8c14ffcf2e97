/** What hunks are called where they are shown. Pure. */
import * as path from "node:path";
import type { Decision, FileReview, Hunk } from "../protocol/shapes";
import { bare } from "./quickchange";

const LONGEST_HINT = 120;
const LONGEST_LABEL = 60;
/** Before where a symbolic link leads, as `before` and `after` have it. */
const LINK = "link:";

/** How much a hunk removed and added: "−1 · +2". */
export function counts(hunk: Hunk): string {
  const parts: string[] = [];
  if (hunk.base.length > 0) {
    parts.push(`−${hunk.base.length}`);
  }
  if (hunk.lines.length > 0) {
    parts.push(`+${hunk.lines.length}`);
  }
  return parts.join(" · ");
}

/** Which one of a file's hunks it is, and how large: "2 of 4 · −1 · +2". */
export function ordinal(hunk: Hunk, hunks: readonly Hunk[]): string {
  const which = hunks.findIndex((each) => each.id === hunk.id) + 1;
  return [`${which} of ${hunks.length}`, counts(hunk)].filter(Boolean).join(" · ");
}

/** How much a hunk removed, and its lines as far as they fit, for the end of a line; "" when it removed nothing. */
export function removedHint(hunk: Hunk): string {
  const removed = hunk.base.length;
  if (removed === 0) {
    return "";
  }
  const lines = hunk.base.map((line) => bare(line).trim()).filter(Boolean);
  const what = hunk.lines.length === 0 ? " removed" : "";
  return `−${removed}${what}${lines.length === 0 ? "" : `: ${clip(lines.join(" ⏎ "), LONGEST_HINT)}`}`;
}

/** The hunk as the lines of a diff, without a heading. */
export function diffOf(hunk: Hunk): string {
  const removed = hunk.base.map((line) => `-${bare(line)}`);
  const added = hunk.lines.map((line) => `+${bare(line.text)}`);
  return [...removed, ...added].join("\n");
}

/** All changes of a file as a patch without lines around them. */
export function patchOf(file: FileReview): string {
  return file.hunks
    .map((hunk) => (hunk.kind === "text" ? `${heading(hunk)}\n${diffOf(hunk)}` : happened(hunk)))
    .join("\n");
}

function heading(hunk: Hunk): string {
  // As git counts: where a side has no line, the line before it is named.
  const side = (start: number, count: number): string => `${count === 0 ? start : start + 1},${count}`;
  return `@@ -${side(hunk.baseStart, hunk.base.length)} +${side(hunk.start, hunk.lines.length)} @@`;
}

/** What happened to a file, in git's letters. */
export function statusOf(file: FileReview): string {
  if (!file.exists) {
    return "D";
  }
  return file.isNew ? "A" : "M";
}

/** Where a file was before an agent renamed it, as long as that is pending. */
export function renamedFrom(file: FileReview | undefined): string | undefined {
  return file?.hunks.find((hunk) => hunk.kind === "rename")?.before;
}

/** One line that says what a hunk is about: its first line that has words, else what happened to the file. */
export function label(hunk: Hunk): string {
  if (hunk.kind !== "text") {
    return happened(hunk);
  }
  const lines = hunk.lines.length > 0 ? hunk.lines.map((line) => line.text) : hunk.base;
  const first = lines.map((line) => bare(line).trim()).find(Boolean) ?? "blank lines";
  const where = hunk.state === "absent" ? "not in the file now" : `${hunk.start + 1}`;
  return `${where}: ${clip(first, LONGEST_LABEL)}`;
}

/** Where a link leads, as it was sent: what cannot be shown is escaped in it. */
function leads(name: string): string {
  if (name === "") {
    return "none";
  }
  return name.startsWith(LINK) ? name.slice(LINK.length) : "a file";
}

/** What happened to a file as a whole. */
export function happened(hunk: Hunk): string {
  if (hunk.before.startsWith(LINK) || hunk.after.startsWith(LINK)) {
    return `link ${leads(hunk.before)} → ${leads(hunk.after)}`;
  }
  switch (hunk.kind) {
    case "add":
      return "new file";
    case "delete":
      return "file deleted";
    case "rename":
      return `renamed from ${path.relative(path.dirname(hunk.path), hunk.before)}`;
    case "mode":
      return `mode ${hunk.before} → ${hunk.after}`;
    case "line_ends":
      return `line ends ${hunk.before} → ${hunk.after}`;
    case "content":
      return `other contents${sizes(hunk)}`;
    case "text":
      return "lines changed";
  }
}

function sizes(hunk: Hunk): string {
  return hunk.beforeSize === null || hunk.afterSize === null ? "" : `, ${hunk.beforeSize} → ${hunk.afterSize} bytes`;
}

/** Beside a hunk in a list: its size, and what else is to be known of it. */
export function remarks(hunk: Hunk): string {
  const parts = hunk.kind === "text" ? [counts(hunk)] : [];
  if (hunk.state !== "pending") {
    parts.push(hunk.state === "rejecting" ? "is being rejected" : hunk.state);
  }
  if (hunk.committed) {
    parts.push("committed");
  }
  if (hunk.unsure) {
    parts.push("may be yours");
  }
  if (hunk.problems.length > 0) {
    parts.push(broughtProblems(hunk));
  }
  if (hunk.lines.some((line) => line.author !== "agent")) {
    parts.push("edited by you");
  }
  return parts.join(" · ");
}

/** How many errors came with it: "2 new errors". */
export function broughtProblems(hunk: Hunk): string {
  return hunk.problems.length === 1 ? "1 new error" : `${hunk.problems.length} new errors`;
}

/** Who wrote it, for a tooltip. */
export function authors(hunk: Hunk): string {
  const names = hunk.agents.map((agent) => [agent.subagent || "agent", agent.model].filter(Boolean).join(", "));
  return [...new Set(names)].join("; ");
}

/** "3 changes", "1 change". */
export function changes(count: number): string {
  return count === 1 ? "1 change" : `${count} changes`;
}

/** How many hunks of these files are pending. */
export function pendingIn(files: Iterable<FileReview>): number {
  let count = 0;
  for (const file of files) {
    count += file.hunks.length;
  }
  return count;
}

function clip(text: string, most: number): string {
  const characters = Array.from(text);
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : text;
}

/** What a change that is gone would have put there; of one that only removed lines, those, as a patch says it. */
export function rejectedText(hunk: Hunk): string {
  if (hunk.kind !== "text") {
    return `${hunk.kind}: ${hunk.before} → ${hunk.after}\n`;
  }
  if (hunk.lines.length === 0) {
    return hunk.base.map((line) => `-${line}`).join("");
  }
  return hunk.lines.map((line) => line.text).join("");
}

/** Its first line with something in it. */
export function rejectedTitle(hunk: Hunk): string {
  const first = rejectedText(hunk)
    .split("\n")
    .find((line) => line.trim() !== "");
  return (first ?? "empty lines").trim();
}

/** Who decided, and when. */
export function decidedBy(decision: Decision | null): string {
  if (decision === null) {
    return "";
  }
  const at = new Date(decision.at);
  const when = Number.isNaN(at.getTime()) ? "" : `, ${at.toLocaleString()}`;
  return `rejected by ${decision.by}${when}${decision.reason ? `: ${decision.reason}` : ""}`;
}
