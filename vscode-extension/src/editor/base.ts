/** The files as their user accepted them, as documents of VS Code: `sould-base:/the/path`. Asked for once, and again when it may be another. */
import * as vscode from "vscode";
import type { ReviewModel } from "../review/model";
import type { Places } from "./places";
import type { Review } from "./review";

export const BASE_SCHEME = "sould-base";

export class Bases implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #texts = new Map<string, string>();
  readonly #review: Review;
  readonly #places: Places;
  readonly #subscriptions: { dispose(): void }[];

  constructor(review: Review, model: ReviewModel, places: Places) {
    this.#review = review;
    this.#places = places;
    this.#subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(BASE_SCHEME, this),
      model.onDidChange((paths) => {
        for (const path of paths) {
          if (this.#texts.has(path)) {
            this.#changed.fire(baseUri(this.#places.uriOf(path)));
          }
        }
      }),
    ];
  }

  /** The text, as far as it was asked for. */
  known(path: string): string | undefined {
    return this.#texts.get(path);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const path = this.#places.pathOf(uri.with({ scheme: "file" }));
    if (path === undefined) {
      return "";
    }
    const text = (await this.#review.base(path).catch(() => undefined)) ?? "";
    this.#texts.set(path, text);
    return text;
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => { each.dispose(); });
    this.#changed.dispose();
  }
}

export function baseUri(uri: vscode.Uri): vscode.Uri {
  return uri.with({ scheme: BASE_SCHEME });
}
