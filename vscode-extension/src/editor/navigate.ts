/** Goes to hunks, and shows what was there before. Called for what the user asks only: this moves the cursor. */
import * as vscode from "vscode";
import type { ShownFile, ShownHunk } from "../protocol/review";
import type { ReviewModel } from "../review/model";
import { lineOf, neighbour, textHunks } from "../review/place";
import { bare } from "../review/quickchange";
import { renamedFrom } from "../review/wording";
import { baseUri } from "./base";
import type { Places } from "./places";
import { putCursor, revealLine } from "./reveal";

/** From this many lines on, a diff shows a hunk better than the small window of the peek. */
const TALL = 12;

export class Navigator {
  readonly #model: ReviewModel;
  readonly #places: Places;

  constructor(model: ReviewModel, places: Places) {
    this.#model = model;
    this.#places = places;
  }

  /** The next hunk of the file, after its last one the first of the next file. */
  async go(direction: 1 | -1): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const path = editor && this.#places.pathOf(editor.document.uri);
    const hunks = path === undefined ? [] : textHunks(this.#model.file(path));
    const line = editor?.selection.active.line ?? 0;
    const found = neighbour(hunks, line, direction);
    const wraps = found === undefined || (direction === 1 ? found.start <= line : found.start >= line);
    if (editor !== undefined && found !== undefined && !(wraps && this.#others(path).length > 0)) {
      putCursor(editor, lineOf(found, editor.document.lineCount));
      return;
    }
    const others = this.#others(path);
    const file = direction === 1 ? others[0] : others.at(-1);
    const first = file && (direction === 1 ? file.hunks[0] : file.hunks.at(-1));
    if (first !== undefined) {
      await this.open(first);
    }
  }

  /** Shows a hunk in its file; a file that is not there any more in what it was; what is no text, or a notebook, as VS Code has it. */
  async open(hunk: ShownHunk): Promise<void> {
    const file = this.#model.file(hunk.path);
    if (file?.exists === false) {
      await this.diff(hunk.path);
      return;
    }
    const uri = this.#places.uriOf(hunk.path);
    if (hunk.kind === "content" || hunk.path.endsWith(".ipynb")) {
      await vscode.commands.executeCommand("vscode.open", uri, { preview: true });
      return;
    }
    await revealLine(uri, hunk.start);
  }

  /** What was there before a hunk: in VS Code's peek, or in a diff where that has no room. */
  async peek(hunk: ShownHunk): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || hunk.kind !== "text" || hunk.base.length + hunk.lines.length > TALL) {
      await this.diff(hunk.path);
      return;
    }
    putCursor(editor, peekLine(hunk, editor.document));
    await vscode.commands.executeCommand("editor.action.dirtydiff.next");
  }

  /** The file beside what the user accepted. */
  async diff(path: string): Promise<void> {
    const uri = this.#places.uriOf(path);
    const file = this.#model.file(path);
    const title = vscode.l10n.t("{0} (accepted ↔ now)", this.#places.titleOf(path, renamedFrom(file), true));
    await vscode.commands.executeCommand("vscode.diff", this.#base(path, file), uri, title, { preview: false });
  }

  /** Everything that is pending, in one tab. */
  async all(): Promise<void> {
    const files = [...this.#model.files].filter((file) => file.hunks.length > 0);
    if (files.length === 0) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("$(checklist) Nothing is pending"), 5_000);
      return;
    }
    const changes = files.map((file) => {
      const uri = this.#places.uriOf(file.path);
      return [uri, file.isNew ? undefined : this.#base(file.path, file), file.exists ? uri : undefined];
    });
    await vscode.commands.executeCommand("vscode.changes", vscode.l10n.t("Changes of Agents"), changes);
  }

  #base(path: string, file: ShownFile | undefined): vscode.Uri {
    const before = renamedFrom(file);
    return baseUri(this.#places.uriOf(path), before === undefined ? undefined : this.#places.uriOf(before));
  }

  #others(path: string | undefined): { hunks: ShownHunk[] }[] {
    const files = this.#model.files.filter((file) => file.hunks.length > 0).sort((a, b) => (a.path < b.path ? -1 : 1));
    const at = files.findIndex((file) => file.path === path);
    const turned = [...files.slice(at + 1), ...files.slice(0, Math.max(at, 0))];
    return turned.map((file) => ({ hunks: file.hunks }));
  }
}

/** VS Code opens the peek at the first change below the cursor, and may have slid one that only removed lines upwards. */
function peekLine(hunk: ShownHunk, document: vscode.TextDocument): number {
  let line = hunk.start;
  if (hunk.lines.length === 0) {
    let removed = hunk.base.map(bare);
    while (line > 0 && document.lineAt(line - 1).text === removed.at(-1)) {
      removed = [removed.at(-1) ?? "", ...removed.slice(0, -1)];
      line -= 1;
    }
    line -= 1;
  }
  return Math.max(0, Math.min(line, document.lineCount - 1));
}
