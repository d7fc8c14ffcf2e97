/**
 * The files as their user accepted them, as documents of VS Code: `sould-base:/the/path`, of a file that was renamed since
 * `sould-base:/where/it/was?/the/path`. Asked for once, and again when it may be another.
 */
import * as vscode from "vscode";
import type { Connection } from "../connection/connection";
import type { ReviewModel } from "../review/model";
import type { Places } from "./places";
import type { Review } from "./review";

const BASE_SCHEME = "sould-base";

export class Bases implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #asked = new Map<string, vscode.Uri>();
  readonly #texts = new Map<string, string>();
  /** Those that could not be asked for. */
  readonly #failed = new Set<string>();
  readonly #review: Review;
  readonly #places: Places;
  readonly #subscriptions: { dispose(): void }[];

  constructor(review: Review, model: ReviewModel, places: Places, connection: Connection) {
    this.#review = review;
    this.#places = places;
    this.#subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(BASE_SCHEME, this),
      model.onDidChange((paths) => {
        for (const path of paths) {
          if (this.#texts.has(path) || this.#failed.has(path)) {
            this.#again(path);
          }
        }
      }),
      connection.onDidChangeState(() => {
        if (connection.state === "connected") {
          new Set([...this.#texts.keys(), ...this.#failed]).forEach((path) => {
            this.#again(path);
          });
        }
      }),
    ];
  }

  /** The text, as far as it was asked for. */
  known(path: string): string | undefined {
    return this.#texts.get(path);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const path = this.#pathOf(uri);
    if (path === undefined) {
      return "";
    }
    this.#asked.set(uri.toString(), uri);
    try {
      const text = (await this.#review.base(path)) ?? "";
      this.#texts.set(path, text);
      this.#failed.delete(path);
      return text;
    } catch {
      // As it was known last, until it can be asked for again: an empty one would have all of the file look new.
      this.#failed.add(path);
      return this.#texts.get(path) ?? "";
    }
  }

  #again(path: string): void {
    for (const uri of [...this.#asked.values()].filter((each) => this.#pathOf(each) === path)) {
      this.#changed.fire(uri);
    }
  }

  #pathOf(uri: vscode.Uri): string | undefined {
    return this.#places.pathOf(uri.with({ scheme: "file", path: uri.query || uri.path, query: "" }));
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
    this.#changed.dispose();
  }
}

/** `before`: where the file was before it was renamed. */
export function baseUri(uri: vscode.Uri, before?: vscode.Uri): vscode.Uri {
  return before ? before.with({ scheme: BASE_SCHEME, query: uri.path }) : uri.with({ scheme: BASE_SCHEME });
}
