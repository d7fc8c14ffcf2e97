/**
 * What a command is about: the hunk of a lens, of the peek or of a tree, else the one at the cursor.
 *
 * A lens may be half a second older than the text, so what it says is looked up, and is refused when an agent has changed it since.
 */
import * as vscode from "vscode";
import type { ShownHunk } from "../protocol/review";
import type { Node } from "../review/groups";
import type { ReviewModel } from "../review/model";
import { linesOf } from "../review/edits";
import { hunkAt, textHunks } from "../review/place";
import { hunkOf, type LineChange } from "../review/quickchange";
import type { Places } from "./places";

/** A hunk as a lens names it. `calls`: the tool calls that wrote it; the user's own typing makes it no other hunk. */
interface HunkArgument {
  readonly hunk: number;
  readonly path: string;
  readonly calls: string;
}

export type Chosen =
  | { readonly hunk: ShownHunk; readonly byKey: boolean }
  | { readonly node: Exclude<Node, { kind: "hunk" }> }
  | { readonly problem: string };

export function argumentOf(hunk: ShownHunk): HunkArgument {
  return { hunk: hunk.id, path: hunk.path, calls: callsOf(hunk) };
}

/** The tool calls that had a part in it. */
export function callsOf(hunk: ShownHunk): string {
  return hunk.agents.map((agent) => agent.toolCallId).join(" ");
}

const CHANGED = vscode.l10n.t(
  "This change is another one by now: an agent has written here since it was shown. Look at it again.",
);
const NOTHING = vscode.l10n.t("There is no change of an agent at the cursor.");
const NOT_ONE = vscode.l10n.t(
  "VS Code shows more than one change of the agent as one here. Use the words above each of them.",
);

export class Chooser {
  readonly #model: ReviewModel;
  readonly #places: Places;
  readonly #baseOf: (path: string) => string | undefined;

  /** `baseOf`: the accepted text of a file, as far as it was fetched. */
  constructor(model: ReviewModel, places: Places, baseOf: (path: string) => string | undefined) {
    this.#model = model;
    this.#places = places;
    this.#baseOf = baseOf;
  }

  /** By the arguments that VS Code gave a command. */
  choose(given: readonly unknown[]): Chosen {
    const [first, second, third] = given;
    if (isHunkArgument(first)) {
      return this.#named(first);
    }
    if (first instanceof vscode.Uri && Array.isArray(second) && typeof third === "number") {
      return this.#shown(first, second as LineChange[], third);
    }
    if (isNode(first)) {
      return first.kind === "hunk" ? this.#named(argumentOf(first.hunk)) : { node: first };
    }
    return this.#atCursor();
  }

  #named(named: HunkArgument): Chosen {
    const hunk = this.#model.hunk(named.path, named.hunk);
    if (hunk === undefined || callsOf(hunk) !== named.calls) {
      return { problem: CHANGED };
    }
    return { hunk, byKey: false };
  }

  #shown(uri: vscode.Uri, changes: readonly LineChange[], at: number): Chosen {
    const path = this.#places.pathOf(uri);
    const document = path === undefined ? undefined : this.#places.documentOf(path);
    const base = path === undefined ? undefined : this.#baseOf(path);
    const change = changes[at];
    if (path === undefined || document === undefined || base === undefined || change === undefined) {
      return { problem: CHANGED };
    }
    const hunks = textHunks(this.#model.file(path));
    const hunk = hunkOf(change, hunks, linesOf(document.getText()), linesOf(base));
    return hunk === undefined ? { problem: NOT_ONE } : { hunk, byKey: false };
  }

  #atCursor(): Chosen {
    const editor = vscode.window.activeTextEditor;
    const path = editor && this.#places.pathOf(editor.document.uri);
    const file = path === undefined ? undefined : this.#model.file(path);
    const hunk = editor && hunkAt(textHunks(file), editor.selection.active.line);
    return hunk === undefined ? { problem: NOTHING } : { hunk, byKey: true };
  }
}

function isHunkArgument(given: unknown): given is HunkArgument {
  return (
    typeof given === "object" && given !== null && "hunk" in given && typeof given.hunk === "number" && "calls" in given
  );
}

function isNode(given: unknown): given is Node {
  return (
    typeof given === "object" &&
    given !== null &&
    "kind" in given &&
    ["hunk", "file", "turn", "session"].includes(String(given.kind))
  );
}
