/** What of a session's edits is to be reviewed, where no editor shows it. Pure. */
import * as l10n from "@vscode/l10n";
import { reviewList, reviewOutcome, type ShownHunk } from "../../src/protocol/review";
import { relative } from "./completion";
import { visible } from "./visible";

export interface Pending {
  readonly id: number;
  readonly digest: string;
  /** Where it begins in the file, from 1. */
  readonly line: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
  /** What it is where it is no text, such as a deletion. */
  readonly what: string;
}

export interface PendingFile {
  readonly path: string;
  /** Where it was before it was renamed; "" where it was not. */
  readonly before: string;
  readonly hunks: readonly Pending[];
}

const WHAT: Readonly<Record<ShownHunk["kind"], string>> = {
  text: "",
  add: l10n.t("A new file"),
  content: l10n.t("Another content, which is no text"),
  delete: l10n.t("The file is deleted"),
  line_ends: l10n.t("Other line ends"),
  mode: l10n.t("Another mode"),
  rename: l10n.t("Another name"),
};

export function readPending(raw: unknown): readonly PendingFile[] {
  const files = reviewList(raw)?.files ?? [];
  return files
    .map(({ path, hunks }) => ({
      path,
      before: hunks.find((hunk) => hunk.kind === "rename")?.before ?? "",
      hunks: hunks.filter((hunk) => hunk.state === "pending").map(pendingOf),
    }))
    .filter((file) => file.hunks.length > 0);
}

function pendingOf({ id, digest, start, base, lines, kind }: ShownHunk): Pending {
  return { id, digest, line: start + 1, removed: base, added: lines.map((line) => line.text), what: WHAT[kind] };
}

/** What a file is called: "new", or "old → new" after a rename, below the root it is in. */
export function titleOf({ path, before }: PendingFile, root: string): string {
  const names = before === "" ? [path] : [before, path];
  return names.map((each) => visible(relative(each, root))).join(" → ");
}

/** How many lines came, and how many went. */
export function countOf(hunks: readonly Pending[]): { readonly added: number; readonly removed: number } {
  return {
    added: hunks.reduce((all, hunk) => all + hunk.added.length, 0),
    removed: hunks.reduce((all, hunk) => all + hunk.removed.length, 0),
  };
}

/** Why some of what was to be decided was not, in a sentence; "" when all of it was. */
export function leftOf(raw: unknown): string {
  const left = reviewOutcome(raw)?.left ?? [];
  return [...new Set(left.map((each) => each.message))].join(" ");
}
