/**
 * The words above each hunk: keep, reject, comment, and which one of how many it is. Also in the diffs of VS Code.
 *
 * VS Code makes all words of a file anew whenever it is told that some are others, and what is being clicked on goes with them. So
 * it is told only when they are.
 */
import * as vscode from "vscode";
import type { ShownHunk } from "../protocol/review";
import type { ReviewModel } from "../review/model";
import { lineOf } from "../review/place";
import { broughtProblems, happened, ordinal } from "../review/wording";
import { argumentOf } from "./chosen";
import type { Places } from "./places";
import { keyOf, type Shortcuts } from "./shortcuts";

export class Lenses implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#changed.event;
  readonly #model: ReviewModel;
  readonly #places: Places;
  readonly #shortcuts: Shortcuts;
  /** What VS Code was given last of each open file, by its path. */
  readonly #given = new Map<string, string>();
  readonly #subscriptions: { dispose(): void }[];

  constructor(model: ReviewModel, places: Places, shortcuts: Shortcuts) {
    this.#model = model;
    this.#places = places;
    this.#shortcuts = shortcuts;
    this.#subscriptions = [
      model.onDidChange((paths) => {
        if ([...paths].some((path) => this.#areOthers(path))) {
          this.#changed.fire();
        }
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.#given.delete(this.#places.pathOf(document.uri) ?? "");
      }),
      vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
    ];
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const path = this.#places.pathOf(document.uri);
    if (path === undefined) {
      return [];
    }
    const lenses = this.#of(path, document.lineCount);
    this.#given.set(path, JSON.stringify(lenses));
    return lenses;
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
    this.#changed.dispose();
  }

  #areOthers(path: string): boolean {
    const given = this.#given.get(path);
    const document = given === undefined ? undefined : this.#places.documentOf(path);
    return document !== undefined && JSON.stringify(this.#of(path, document.lineCount)) !== given;
  }

  #of(path: string, lineCount: number): vscode.CodeLens[] {
    const file = this.#model.file(path);
    const hunks = file?.hunks.filter((hunk) => hunk.state !== "absent") ?? [];
    const news = file?.isNew === true ? vscode.l10n.t("new file") : "";
    const pending = hunks.flatMap((hunk) => lensesOf(hunk, hunks, atLine(hunk, lineCount), news, this.#shortcuts));
    const streaming = file?.streaming.map((hunk) => streamed(hunk, lineCount)) ?? [];
    return [...pending, ...streaming];
  }
}

function lensesOf(
  hunk: ShownHunk,
  hunks: readonly ShownHunk[],
  range: vscode.Range,
  news: string,
  shortcuts: Shortcuts,
): vscode.CodeLens[] {
  if (hunk.state === "rejecting") {
    return [new vscode.CodeLens(range, { title: vscode.l10n.t("$(clock) is being rejected"), command: "" })];
  }
  const lens = (title: string, command: string, tooltip: string): vscode.CodeLens =>
    new vscode.CodeLens(range, { title, command, tooltip, arguments: [argumentOf(hunk)] });
  const which = [hunk.kind === "text" ? news : happened(hunk), ordinal(hunk, hunks)].filter(Boolean).join(" · ");
  const problems =
    hunk.problems.length > 0
      ? [lens(`$(error) ${broughtProblems(hunk)}`, "sould.problems", hunk.problems.join("\n"))]
      : [];
  const own = hunk.unsure
    ? [
        lens(
          vscode.l10n.t("$(question) may be yours"),
          "sould.peek",
          vscode.l10n.t("A program of the agent ran while this was written; it may have been you"),
        ),
      ]
    : [];
  return [
    lens(
      shortcuts.beside(vscode.l10n.t("$(check) Keep"), "Y"),
      "sould.keep",
      vscode.l10n.t("Keep this change ({0})", keyOf("Y")),
    ),
    lens(
      shortcuts.beside(vscode.l10n.t("$(discard) Reject"), "N"),
      "sould.reject",
      vscode.l10n.t("Take this change back; what you typed stays ({0})", keyOf("N")),
    ),
    lens(
      vscode.l10n.t("$(comment) Comment"),
      "sould.comment",
      vscode.l10n.t("Say something about it to the agent ({0})", keyOf("M")),
    ),
    lens(
      which,
      hunk.kind === "text" ? "sould.peek" : "sould.diff",
      vscode.l10n.t("Show what was there before ({0})", keyOf("P")),
    ),
    ...problems,
    ...own,
  ];
}

function streamed(hunk: ShownHunk, lineCount: number): vscode.CodeLens {
  const title =
    hunk.lines.length === 1
      ? vscode.l10n.t("$(loading~spin) an agent is about to write 1 line here")
      : vscode.l10n.t("$(loading~spin) an agent is about to write {0} lines here", hunk.lines.length);
  return new vscode.CodeLens(atLine(hunk, lineCount), { title, command: "" });
}

function atLine(hunk: ShownHunk, lineCount: number): vscode.Range {
  const line = hunk.kind === "text" ? lineOf(hunk, lineCount) : 0;
  return new vscode.Range(line, 0, line, 0);
}
