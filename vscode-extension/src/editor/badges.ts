/** How many changes are pending: on files in lists and tabs, and in the status bar, where nothing is shown when nothing is. */
import * as vscode from "vscode";
import type { Connection } from "../connection/connection";
import type { ReviewModel } from "../review/model";
import { changes, pendingIn } from "../review/wording";
import type { Places } from "./places";

export class Badges implements vscode.FileDecorationProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri[]>();
  readonly onDidChangeFileDecorations = this.#changed.event;
  readonly #model: ReviewModel;
  readonly #places: Places;
  readonly #connection: Connection;
  readonly #status: vscode.StatusBarItem;
  readonly #subscriptions: { dispose(): void }[];

  constructor(model: ReviewModel, places: Places, connection: Connection) {
    this.#model = model;
    this.#places = places;
    this.#connection = connection;
    this.#status = vscode.window.createStatusBarItem("sould.status", vscode.StatusBarAlignment.Right, 100);
    this.#status.name = "sould";
    this.#subscriptions = [
      this.#status,
      vscode.window.registerFileDecorationProvider(this),
      model.onDidChange((paths) => {
        this.#changed.fire([...paths].map((path) => this.#places.uriOf(path)));
        this.#show();
      }),
      connection.onDidChangeState(() => {
        this.#show();
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
    const decoration = new vscode.FileDecoration(
      badge,
      `${changes(count)} to review`,
      new vscode.ThemeColor("charts.blue"),
    );
    decoration.propagate = true;
    return decoration;
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
    this.#changed.dispose();
  }

  #show(): void {
    const count = pendingIn(this.#model.files);
    if (this.#connection.state === "waiting") {
      this.#status.text = "$(debug-disconnect) sould";
      this.#status.tooltip = `There is no connection to sould; it is tried again. ${this.#connection.problem}`;
      this.#status.command = "sould.diagnose";
      this.#status.show();
    } else if (count > 0) {
      this.#status.text = `$(checklist) ${count} to review`;
      this.#status.tooltip = `${changes(count)} of agents to review`;
      this.#status.command = "sould.reviewAll";
      this.#status.show();
    } else {
      this.#status.hide();
    }
  }
}
