/** The way to the chat in the status bar: always there, and the first to say when something is wrong. */
import * as vscode from "vscode";
import type { Connection, State } from "../connection/connection";

const SAID: Record<State, string> = {
  idle: "Open the chat",
  missing: "sould was not found",
  connecting: "Connecting to sould",
  connected: "Open the chat",
  waiting: "The connection to sould was lost; it is tried again",
};

export class Entry implements vscode.Disposable {
  readonly #item: vscode.StatusBarItem;
  readonly #connection: Connection;
  readonly #own: string;
  readonly #listening: { dispose(): void };

  /** `own`: this extension's version. */
  constructor(connection: Connection, own: string) {
    this.#connection = connection;
    this.#own = own;
    this.#item = vscode.window.createStatusBarItem("sould.chat", vscode.StatusBarAlignment.Right, 102);
    this.#item.name = "sould: chat";
    this.#item.command = "sould.openChat";
    this.#listening = connection.onDidChangeState(() => {
      this.#refresh();
    });
    this.#refresh();
    this.#item.show();
  }

  dispose(): void {
    this.#listening.dispose();
    this.#item.dispose();
  }

  #refresh(): void {
    const { state, problem, version } = this.#connection;
    const icon =
      state === "missing" || state === "waiting"
        ? "warning"
        : state === "connecting"
          ? "sync~spin"
          : "comment-discussion";
    this.#item.text = `$(${icon}) sould`;
    const serves =
      version === this.#own ? `sould ${version}` : `sould ${version} serves this window; the extension is ${this.#own}`;
    this.#item.tooltip = [SAID[state], problem, state === "connected" ? serves : ""].filter(Boolean).join("\n");
    this.#item.accessibilityInformation = { label: `sould: ${SAID[state]}`, role: "button" };
  }
}
