/** Draws hunks in the plain editor: lines an agent wrote, a mark where lines were removed, and what they were. Puts no text in between. */
import * as vscode from "vscode";
import type { ShownHunk } from "../protocol/review";
import type { ReviewModel } from "../review/model";
import { endOf, lineOf, textHunks } from "../review/place";
import { changedWords } from "../review/changedwords";
import { diffOf, removedHint } from "../review/wording";
import { argumentOf } from "./chosen";
import type { Places } from "./places";

type Kind = "added" | "changed" | "words" | "removed" | "hint" | "streaming";

export class Painter implements vscode.Disposable {
  readonly #model: ReviewModel;
  readonly #places: Places;
  readonly #types: Record<Kind, vscode.TextEditorDecorationType>;
  readonly #subscriptions: { dispose(): void }[];

  constructor(model: ReviewModel, places: Places) {
    this.#model = model;
    this.#places = places;
    this.#types = types();
    this.#subscriptions = [
      model.onDidChange((paths) => {
        this.#paintThose((path) => paths.has(path));
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.#paintThose(() => true);
      }),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("sould.hints")) {
          this.#paintThose(() => true);
        }
      }),
    ];
    this.#paintThose(() => true);
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
    Object.values(this.#types).forEach((type) => {
      type.dispose();
    });
  }

  #paintThose(are: (path: string) => boolean): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const path = this.#places.pathOf(editor.document.uri);
      // A side of a diff has no column, and colours of its own.
      if (path !== undefined && are(path) && editor.viewColumn !== undefined) {
        this.#paint(editor, path);
      }
    }
  }

  #paint(editor: vscode.TextEditor, path: string): void {
    const file = this.#model.file(path);
    const lineCount = editor.document.lineCount;
    const hints = vscode.workspace.getConfiguration("sould", editor.document).get("hints", true);
    const marks: Record<Kind, vscode.DecorationOptions[]> = {
      added: [],
      changed: [],
      words: [],
      removed: [],
      hint: [],
      streaming: [],
    };
    for (const hunk of textHunks(file)) {
      const line = lineOf(hunk, lineCount);
      marks[kindOf(hunk)].push({
        range: new vscode.Range(line, 0, Math.max(line, Math.min(endOf(hunk), lineCount) - 1), 0),
      });
      for (const words of changedWords(hunk)) {
        marks.words.push({
          range: new vscode.Range(hunk.start + words.line, words.from, hunk.start + words.line, words.to),
        });
      }
      if (hunk.base.length > 0) {
        marks.hint.push(hint(hunk, line, hints));
      }
    }
    for (const hunk of file?.streaming ?? []) {
      const line = lineOf(hunk, lineCount);
      marks.streaming.push({
        range: new vscode.Range(line, 0, Math.max(line, Math.min(hunk.start + hunk.base.length, lineCount) - 1), 0),
      });
    }
    for (const kind of Object.keys(marks) as Kind[]) {
      editor.setDecorations(this.#types[kind], marks[kind]);
    }
  }
}

function kindOf(hunk: ShownHunk): Kind {
  if (hunk.lines.length === 0) {
    return "removed";
  }
  return hunk.base.length === 0 ? "added" : "changed";
}

/** At the end of the hunk's first line: how much is gone; in its hover, all of it. */
function hint(hunk: ShownHunk, line: number, shown: boolean): vscode.DecorationOptions {
  const range = new vscode.Range(line, 0, line, Number.MAX_SAFE_INTEGER);
  const hoverMessage = new vscode.MarkdownString();
  hoverMessage.isTrusted = { enabledCommands: ["sould.keep", "sould.reject"] };
  hoverMessage.appendCodeblock(diffOf(hunk), "diff");
  const given = encodeURIComponent(JSON.stringify([argumentOf(hunk)]));
  const keep = `[${vscode.l10n.t("Keep")}](command:sould.keep?${given})`;
  hoverMessage.appendMarkdown(`${keep} · [${vscode.l10n.t("Reject")}](command:sould.reject?${given})`);
  if (!shown) {
    return { range, hoverMessage };
  }
  const color = new vscode.ThemeColor("editorGutter.deletedBackground");
  return {
    range,
    hoverMessage,
    renderOptions: { after: { contentText: `  ${removedHint(hunk)}`, color, fontStyle: "italic" } },
  };
}

function types(): Record<Kind, vscode.TextEditorDecorationType> {
  const whole = (background: string | undefined, ruler: string): vscode.TextEditorDecorationType =>
    vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      overviewRulerColor: new vscode.ThemeColor(ruler),
      // High contrast themes have no backgrounds, but this colour, which others have not.
      borderColor: new vscode.ThemeColor("diffEditor.insertedTextBorder"),
      borderStyle: "none none none solid",
      borderWidth: "3px",
      ...(background === undefined ? {} : { backgroundColor: new vscode.ThemeColor(background) }),
    });
  return {
    added: whole("diffEditor.insertedLineBackground", "minimapGutter.addedBackground"),
    changed: whole("diffEditor.insertedLineBackground", "minimapGutter.modifiedBackground"),
    words: vscode.window.createTextEditorDecorationType({
      backgroundColor: new vscode.ThemeColor("diffEditor.insertedTextBackground"),
    }),
    removed: vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      overviewRulerColor: new vscode.ThemeColor("minimapGutter.deletedBackground"),
      borderColor: new vscode.ThemeColor("editorGutter.deletedBackground"),
      borderStyle: "dashed none none none",
      borderWidth: "1px",
    }),
    hint: vscode.window.createTextEditorDecorationType({}),
    streaming: whole("editor.rangeHighlightBackground", "minimapGutter.modifiedBackground"),
  };
}
