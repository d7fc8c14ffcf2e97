/** What keys are called in words above lines, where VS Code shows none itself: until the user has used one. */
import * as vscode from "vscode";

const USED = "sould.keysUsed";

export class Shortcuts {
  readonly #memory: vscode.Memento;

  constructor(memory: vscode.Memento) {
    this.#memory = memory;
  }

  /** The user decided by a key. */
  used(): void {
    if (!this.#memory.get<boolean>(USED, false)) {
      void this.#memory.update(USED, true);
    }
  }

  /** The words, with the key behind them as long as that is to be shown. */
  beside(words: string, letter: string): string {
    return this.#memory.get<boolean>(USED, false) ? words : `${words} (${keyOf(letter)})`;
  }
}

/** The default key. Of a window on another machine it is not known whether it is a Mac's. */
export function keyOf(letter: string): string {
  const isMac = vscode.env.remoteName === undefined && process.platform === "darwin";
  return `${isMac ? "Ctrl+Cmd" : "Alt"}+${letter}`;
}
