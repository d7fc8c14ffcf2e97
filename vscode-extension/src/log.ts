/** The extension's log, in VS Code's Output. No text of a file and nothing of a request's contents goes there. */
import * as vscode from "vscode";

export class Log {
  readonly #channel = vscode.window.createOutputChannel("sould", { log: true });

  info(line: string): void {
    this.#channel.info(line);
  }

  warn(line: string): void {
    this.#channel.warn(line);
  }

  /** Whether somebody has chosen the level Trace for it. */
  get isTraced(): boolean {
    return this.#channel.logLevel === vscode.LogLevel.Trace;
  }

  trace(line: string): void {
    this.#channel.trace(line);
  }

  /** Shows it, beside what the user is doing. */
  show(): void {
    this.#channel.show(true);
  }

  dispose(): void {
    this.#channel.dispose();
  }
}
