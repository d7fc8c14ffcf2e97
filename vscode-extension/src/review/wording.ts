/** What hunks are called where they are shown. Pure. */
import * as path from "node:path";
import { l10n } from "vscode";
import type { ShownDecision, ShownFile, ShownHunk } from "../protocol/review";
import { bare } from "./quickchange";

const LONGEST_HINT = 120;
const LONGEST_LABEL = 60;
/** Before where a symbolic link leads, as `before` and `after` have it. */
const LINK = "link:";
/** Beside a hunk that does not wait any more. */
const STATES: Record<ShownHunk["state"], string> = {
  absent: l10n.t("absent"),
  ended: l10n.t("ended"),
  kept: l10n.t("kept"),
  pending: "",
  rejected: l10n.t("rejected"),
  rejecting: l10n.t("is being rejected"),
  stale: l10n.t("stale"),
  streaming: l10n.t("streaming"),
  undone: l10n.t("undone"),
};

/** How much a hunk removed and added: "−1 · +2". */
export function counts(hunk: ShownHunk): string {
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
export function ordinal(hunk: ShownHunk, hunks: readonly ShownHunk[]): string {
  const which = hunks.findIndex((each) => each.id === hunk.id) + 1;
  return [l10n.t("{0} of {1}", which, hunks.length), counts(hunk)].filter(Boolean).join(" · ");
}

/** How much a hunk removed, and its lines as far as they fit, for the end of a line; "" when it removed nothing. */
export function removedHint(hunk: ShownHunk): string {
  const removed = hunk.base.length;
  if (removed === 0) {
    return "";
  }
  const lines = hunk.base.map((line) => bare(line).trim()).filter(Boolean);
  const what = hunk.lines.length === 0 ? l10n.t("−{0} removed", removed) : `−${removed}`;
  return lines.length === 0 ? what : `${what}: ${clip(lines.join(" ⏎ "), LONGEST_HINT)}`;
}

/** The hunk as the lines of a diff, without a heading. */
export function diffOf(hunk: ShownHunk): string {
  const removed = hunk.base.map((line) => `-${bare(line)}`);
  const added = hunk.lines.map((line) => `+${bare(line.text)}`);
  return [...removed, ...added].join("\n");
}

/** All changes of a file as a patch without lines around them. */
export function patchOf(file: ShownFile): string {
  return file.hunks
    .map((hunk) => (hunk.kind === "text" ? `${heading(hunk)}\n${diffOf(hunk)}` : happened(hunk)))
    .join("\n");
}

function heading(hunk: ShownHunk): string {
  // As git counts: where a side has no line, the line before it is named.
  const side = (start: number, count: number): string => `${count === 0 ? start : start + 1},${count}`;
  return `@@ -${side(hunk.baseStart, hunk.base.length)} +${side(hunk.start, hunk.lines.length)} @@`;
}

/** What happened to a file, in git's letters. */
export function statusOf(file: ShownFile): string {
  if (!file.exists) {
    return "D";
  }
  return file.isNew ? "A" : "M";
}

/** Where a file was before an agent renamed it, as long as that is pending. */
export function renamedFrom(file: ShownFile | undefined): string | undefined {
  return file?.hunks.find((hunk) => hunk.kind === "rename")?.before;
}

/** One line that says what a hunk is about: its first line that has words, else what happened to the file. */
export function label(hunk: ShownHunk): string {
  if (hunk.kind !== "text") {
    return happened(hunk);
  }
  const lines = hunk.lines.length > 0 ? hunk.lines.map((line) => line.text) : hunk.base;
  const first = lines.map((line) => bare(line).trim()).find(Boolean) ?? l10n.t("blank lines");
  const where = hunk.state === "absent" ? l10n.t("not in the file now") : `${hunk.start + 1}`;
  return `${where}: ${clip(first, LONGEST_LABEL)}`;
}

/** Where a link leads, as it was sent: what cannot be shown is escaped in it. */
function leads(name: string): string {
  if (name === "") {
    return l10n.t("none");
  }
  return name.startsWith(LINK) ? name.slice(LINK.length) : l10n.t("a file");
}

/** What happened to a file as a whole. */
export function happened(hunk: ShownHunk): string {
  if (hunk.before.startsWith(LINK) || hunk.after.startsWith(LINK)) {
    return l10n.t("link {0} → {1}", leads(hunk.before), leads(hunk.after));
  }
  switch (hunk.kind) {
    case "add":
      return l10n.t("new file");
    case "delete":
      return l10n.t("file deleted");
    case "rename":
      return l10n.t("renamed from {0}", path.relative(path.dirname(hunk.path), hunk.before));
    case "mode":
      return l10n.t("mode {0} → {1}", hunk.before, hunk.after);
    case "line_ends":
      return l10n.t("line ends {0} → {1}", hunk.before, hunk.after);
    case "content":
      return otherContents(hunk);
    case "text":
      return l10n.t("lines changed");
  }
}

function otherContents({ beforeSize, afterSize }: ShownHunk): string {
  return beforeSize === null || afterSize === null
    ? l10n.t("other contents")
    : l10n.t("other contents, {0} → {1} bytes", beforeSize, afterSize);
}

/** Beside a hunk in a list: its size, and what else is to be known of it. */
export function remarks(hunk: ShownHunk): string {
  const parts = hunk.kind === "text" ? [counts(hunk)] : [];
  if (hunk.state !== "pending") {
    parts.push(STATES[hunk.state]);
  }
  if (hunk.committed) {
    parts.push(l10n.t("committed"));
  }
  if (hunk.unsure) {
    parts.push(l10n.t("may be yours"));
  }
  if (hunk.problems.length > 0) {
    parts.push(broughtProblems(hunk));
  }
  if (hunk.lines.some((line) => line.author !== "agent")) {
    parts.push(l10n.t("edited by you"));
  }
  return parts.join(" · ");
}

/** How many errors came with it: "2 new errors". */
export function broughtProblems(hunk: ShownHunk): string {
  return hunk.problems.length === 1 ? l10n.t("1 new error") : l10n.t("{0} new errors", hunk.problems.length);
}

/** Who wrote it, for a tooltip. */
export function authors(hunk: ShownHunk): string {
  const names = hunk.agents.map((agent) => [agent.subagent || l10n.t("agent"), agent.model].filter(Boolean).join(", "));
  return [...new Set(names)].join("; ");
}

/** "3 changes", "1 change". */
export function changes(count: number): string {
  return count === 1 ? l10n.t("1 change") : l10n.t("{0} changes", count);
}

/** "3 changes to review". */
export function toReview(count: number): string {
  return count === 1 ? l10n.t("1 change to review") : l10n.t("{0} changes to review", count);
}

/** How many hunks of these files are pending. */
export function pendingIn(files: Iterable<ShownFile>): number {
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
export function rejectedText(hunk: ShownHunk): string {
  if (hunk.kind !== "text") {
    return `${hunk.kind}: ${hunk.before} → ${hunk.after}\n`;
  }
  if (hunk.lines.length === 0) {
    return hunk.base.map((line) => `-${line}`).join("");
  }
  return hunk.lines.map((line) => line.text).join("");
}

/** Its first line with something in it. */
export function rejectedTitle(hunk: ShownHunk): string {
  const first = rejectedText(hunk)
    .split("\n")
    .find((line) => line.trim() !== "");
  return (first ?? l10n.t("empty lines")).trim();
}

/** Who decided, and when. */
export function decidedBy(decision: ShownDecision | null): string {
  if (decision === null) {
    return "";
  }
  const at = new Date(decision.at);
  const said = Number.isNaN(at.getTime())
    ? l10n.t("rejected by {0}", decision.by)
    : l10n.t("rejected by {0}, {1}", decision.by, at.toLocaleString());
  return decision.reason ? `${said}: ${decision.reason}` : said;
}
