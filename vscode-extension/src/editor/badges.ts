/** How many changes are pending, on files in lists and tabs. */
import * as vscode from "vscode";
import type { ReviewModel } from "../review/model";
import { toReview } from "../review/wording";
import type { Places } from "./places";

export class Badges implements vscode.FileDecorationProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri[]>();
  readonly onDidChangeFileDecorations = this.#changed.event;
  readonly #model: ReviewModel;
  readonly #places: Places;
  readonly #subscriptions: { dispose(): void }[];

  constructor(model: ReviewModel, places: Places) {
    this.#model = model;
    this.#places = places;
    this.#subscriptions = [
      vscode.window.registerFileDecorationProvider(this),
      model.onDidChange((paths) => {
        this.#changed.fire([...paths].map((path) => this.#places.uriOf(path)));
      }),
    ];
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const path = this.#places.pathOf(uri);
    const count = (path === undefined ? undefined : this.#model.file(path))?.hunks.length ?? 0;
    if (count === 0) {
      return undefined;
    }
    // A badge has room for two characters.
    const badge = count > 9 ? "●+" : `●${count}`;
    const decoration = new vscode.FileDecoration(badge, toReview(count), new vscode.ThemeColor("charts.blue"));
    decoration.propagate = true;
    return decoration;
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
    this.#changed.dispose();
  }
}
