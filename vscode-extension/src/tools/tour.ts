/**
 * Lines that an agent marks for the user, each with a note, to be walked through: `editor_highlight`.
 *
 * The first one is shown beside what the user does; only the user goes on to the others. Nothing is written into any text.
 */
import * as vscode from "vscode";
import * as z from "zod";
import type { Places } from "../editor/places";
import { reveal, revealLine } from "../editor/reveal";
import type { CallResult } from "../protocol/editor";
import { type Call, documentOf, ToolError } from "./call";

const marked = z.object({ file: z.string(), startLine: z.number(), endLine: z.number(), note: z.string().default("") });

/** Lines of a file, counted from 1, and what there is to say about them. */
type Marked = z.infer<typeof marked>;

interface Stop {
  readonly uri: vscode.Uri;
  readonly note: string;
  start: number;
  end: number;
}

export class Tour implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#changed.event;
  readonly #places: Places;
  readonly #marked: vscode.TextEditorDecorationType;
  readonly #subscriptions: { dispose(): void }[];
  #stops: readonly Stop[] = [];
  #title = "";
  #at = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(places: Places) {
    this.#places = places;
    this.#marked = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground"),
      borderColor: new vscode.ThemeColor("focusBorder"),
      borderStyle: "none none none solid",
      borderWidth: "2px",
      overviewRulerLane: vscode.OverviewRulerLane.Center,
      overviewRulerColor: new vscode.ThemeColor("focusBorder"),
    });
    this.#subscriptions = [
      this.#changed,
      this.#marked,
      vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.#paint();
      }),
      vscode.workspace.onDidChangeTextDocument((event) => {
        this.#moved(event);
      }),
    ];
  }

  /** Answers the tool: takes the place of what was marked before. */
  async show(call: Call): Promise<CallResult> {
    const items = z.array(marked).safeParse(call.list("items"));
    if (!items.success) {
      throw new ToolError("failed", "These are no places.");
    }
    return {
      data: {
        shown: await this.mark(
          call.text("title") || vscode.l10n.t("Marked by an agent"),
          items.data,
          call.number("ttlSec", 0),
        ),
      },
    };
  }

  /** Marks lines for so many seconds, or until the user has seen them. Returns how many. Raises ToolError. */
  async mark(title: string, items: readonly Marked[], seconds: number): Promise<number> {
    const stops = await Promise.all(items.map((item) => this.#stop(item)));
    const [first] = stops;
    if (first === undefined) {
      throw new ToolError("not_found", "There is nothing to be marked.");
    }
    clearTimeout(this.#timer);
    this.#stops = stops;
    this.#title = title;
    this.#at = 0;
    this.#timer =
      seconds > 0
        ? setTimeout(() => {
            this.end();
          }, seconds * 1_000)
        : undefined;
    const document = await vscode.workspace.openTextDocument(first.uri);
    await reveal(document, new vscode.Range(first.start, 0, first.end, 0), { beside: false, focus: false });
    this.#refresh();
    return stops.length;
  }

  /** The user goes on, or back. */
  async go(direction: 1 | -1): Promise<void> {
    const count = this.#stops.length;
    this.#at = count === 0 ? 0 : (this.#at + direction + count) % count;
    const stop = this.#stops[this.#at];
    if (stop !== undefined) {
      await revealLine(stop.uri, stop.start);
      this.#refresh();
    }
  }

  /** The user has seen it. */
  end(): void {
    clearTimeout(this.#timer);
    this.#stops = [];
    this.#refresh();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    return this.#stops.flatMap((stop, at) =>
      stop.uri.toString() === document.uri.toString() ? this.#lenses(stop, at, document) : [],
    );
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }

  #lenses(stop: Stop, at: number, document: vscode.TextDocument): vscode.CodeLens[] {
    const line = Math.min(stop.start, document.lineCount - 1);
    const lens = (title: string, command: string, tooltip: string): vscode.CodeLens =>
      new vscode.CodeLens(new vscode.Range(line, 0, line, 0), { title, command, tooltip });
    const count = this.#stops.length;
    const note = [count > 1 ? vscode.l10n.t("{0} of {1}", at + 1, count) : "", plain(stop.note)]
      .filter(Boolean)
      .join(": ");
    const more =
      count > 1
        ? [
            lens(vscode.l10n.t("Next"), "sould.tourNext", vscode.l10n.t("Go to the next place")),
            lens(vscode.l10n.t("Previous"), "sould.tourPrevious", vscode.l10n.t("Go back")),
          ]
        : [];
    return [
      lens(`$(milestone) ${note || plain(this.#title)}`, "", `${this.#title}\n${stop.note}`),
      ...more,
      lens(vscode.l10n.t("Done"), "sould.tourEnd", vscode.l10n.t("Take the marks away")),
    ];
  }

  async #stop({ file, startLine, endLine, note }: Marked): Promise<Stop> {
    const { uri, lineCount } = await documentOf(file, this.#places);
    const start = Math.min(startLine, lineCount) - 1;
    return { uri, start, end: Math.min(Math.max(endLine - 1, start), lineCount - 1), note };
  }

  /** Marks stay at their lines while somebody types above them. */
  #moved(event: vscode.TextDocumentChangeEvent): void {
    const here = this.#stops.filter((stop) => stop.uri.toString() === event.document.uri.toString());
    for (const { range, text } of here.length > 0 ? event.contentChanges : []) {
      const by = text.split("\n").length - 1 - (range.end.line - range.start.line);
      for (const stop of here.filter(
        (each) => range.end.line < each.start || (range.end.line === each.start && range.end.character === 0),
      )) {
        stop.start += by;
        stop.end += by;
      }
    }
    if (here.length > 0) {
      this.#refresh();
    }
  }

  #refresh(): void {
    this.#paint();
    this.#changed.fire();
  }

  #paint(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const here = this.#stops.filter((stop) => stop.uri.toString() === editor.document.uri.toString());
      editor.setDecorations(
        this.#marked,
        here.map((stop) => new vscode.Range(stop.start, 0, stop.end, 0)),
      );
    }
  }
}

/** In one line, and without what VS Code draws as an icon. */
function plain(text: string): string {
  return text.replace(/\s+/g, " ").replaceAll("$(", "$ (").trim();
}
