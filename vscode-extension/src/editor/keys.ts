/** The context keys that say when keys and buttons have something to act on. Set only when they change. */
import * as vscode from "vscode";
import type { Connection } from "../connection/connection";
import type { ReviewModel } from "../review/model";
import { hunkAt, textHunks } from "../review/place";
import type { Places } from "./places";

/** While a comment is written its box is the active editor; what the file has is as it was. */
const COMMENT_SCHEME = "comment";

export class Keys implements vscode.Disposable {
  readonly #model: ReviewModel;
  readonly #places: Places;
  readonly #connection: Connection;
  readonly #values = new Map<string, unknown>();
  readonly #subscriptions: { dispose(): void }[];

  constructor(model: ReviewModel, places: Places, connection: Connection) {
    this.#model = model;
    this.#places = places;
    this.#connection = connection;
    this.#subscriptions = [
      model.onDidChange(() => {
        this.#refresh();
      }),
      connection.onDidChangeState(() => {
        this.#refresh();
      }),
      vscode.window.onDidChangeActiveTextEditor(() => {
        this.#refresh();
      }),
      vscode.window.onDidChangeTextEditorSelection(() => {
        this.#refresh();
      }),
      vscode.window.tabGroups.onDidChangeTabs(() => {
        this.#refresh();
      }),
      vscode.window.tabGroups.onDidChangeTabGroups(() => {
        this.#refresh();
      }),
    ];
    this.#refresh();
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }

  #refresh(): void {
    this.#set("sould.state", this.#connection.state === "connecting" ? "connected" : this.#connection.state);
    this.#set("sould.connected", this.#connection.state === "connected");
    this.#set(
      "sould.pending",
      this.#model.files.some((file) => file.hunks.length > 0),
    );
    this.#set("sould.comments", this.#model.comments.length > 0);
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.scheme === COMMENT_SCHEME) {
      return;
    }
    const shown = this.#places.activePath();
    const pending = ((shown === undefined ? undefined : this.#model.file(shown))?.hunks.length ?? 0) > 0;
    this.#set("sould.filePending", pending);
    const path = editor && this.#places.pathOf(editor.document.uri);
    // A notebook, an image: no line of it can be decided about.
    this.#set("sould.wholeFile", pending && shown !== path);
    const file = path === undefined ? undefined : this.#model.file(path);
    const line = editor?.selection.active.line ?? 0;
    this.#set("sould.onHunk", hunkAt(textHunks(file), line) !== undefined);
  }

  #set(key: string, value: unknown): void {
    if (this.#values.get(key) !== value) {
      this.#values.set(key, value);
      void vscode.commands.executeCommand("setContext", key, value);
    }
  }
}
