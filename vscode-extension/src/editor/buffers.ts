/**
 * Tells the daemon what is open here, and what the user types, in the order in which it happened.
 *
 * VS Code loads a clean document again when its file changed on the disk, and tells of that as of typing, before it says whether the
 * document is unsaved by now. So what changes in a clean document waits until that is known, or until a moment has passed.
 */
import * as vscode from "vscode";
import type { ReportParams } from "../protocol/review";
import type { Places } from "./places";

/** After this a change of a clean document that did not make it unsaved was a load from the disk. Milliseconds. */
const MOMENT = 100;

interface Open {
  readonly path: string;
  changes: vscode.TextDocumentContentChangeEvent[];
  timer: NodeJS.Timeout | undefined;
  /** Edits of the daemon's are being put into it: it is told of them by the answer. */
  writing: boolean;
}

export class Buffers implements vscode.Disposable {
  readonly #places: Places;
  readonly #say: (report: ReportParams) => void;
  readonly #open = new Map<vscode.TextDocument, Open>();
  readonly #subscriptions: vscode.Disposable[];

  constructor(places: Places, say: (report: ReportParams) => void) {
    this.#places = places;
    this.#say = say;
    this.#subscriptions = [
      vscode.workspace.onDidOpenTextDocument((document) => {
        this.#opened(document);
      }),
      vscode.workspace.onDidChangeTextDocument((event) => {
        this.#changed(event);
      }),
      vscode.workspace.onDidSaveTextDocument((document) => {
        this.#saved(document);
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.#closed(document);
      }),
      vscode.window.onDidChangeWindowState((state) => {
        if (state.focused) {
          this.#focused();
        }
      }),
    ];
  }

  /** Tell all of it: the daemon knows nothing of this window. */
  reportAll(): void {
    for (const open of this.#open.values()) {
      clearTimeout(open.timer);
    }
    this.#open.clear();
    vscode.workspace.textDocuments.forEach((document) => {
      this.#opened(document);
    });
    if (vscode.window.state.focused) {
      this.#focused();
    }
  }

  /** What was typed by now is told before anything that is said after this. */
  flush(): void {
    for (const [document, open] of this.#open) {
      this.#send(document, open);
    }
  }

  /**
   * Does something with a document whose changes the daemon knows by itself, or learns from the answer: where it does not (`tells`), or
   * there is none, it is told all of the document before that. What was typed meanwhile would be unknown to it otherwise.
   */
  async quietly<T>(document: vscode.TextDocument, does: () => Promise<T>, tells: (answer: T) => boolean): Promise<T> {
    const open = this.#open.get(document);
    if (open === undefined) {
      return await does();
    }
    let told = false;
    open.writing = true;
    try {
      const answer = await does();
      told = tells(answer);
      return answer;
    } finally {
      open.writing = false;
      if (!told && this.#open.get(document) === open) {
        this.#opened(document);
      }
    }
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
    for (const open of this.#open.values()) {
      clearTimeout(open.timer);
    }
  }

  #opened(document: vscode.TextDocument): void {
    const path = this.#places.pathOf(document.uri);
    if (path === undefined) {
      return;
    }
    this.#open.set(document, { path, changes: [], timer: undefined, writing: false });
    this.#say({ event: "open", path, version: document.version, text: document.getText(), unsaved: document.isDirty });
  }

  #changed(event: vscode.TextDocumentChangeEvent): void {
    const open = this.#open.get(event.document);
    if (open === undefined || open.writing) {
      return;
    }
    open.changes.push(...event.contentChanges);
    if (event.document.isDirty) {
      this.#send(event.document, open);
    } else if (open.changes.length > 0) {
      open.timer ??= setTimeout(() => {
        this.#send(event.document, open);
      }, MOMENT);
    }
  }

  #send(document: vscode.TextDocument, open: Open): void {
    clearTimeout(open.timer);
    open.timer = undefined;
    if (open.changes.length === 0) {
      return;
    }
    const changes = open.changes.map((change) => ({ range: asRange(change.range), text: change.text }));
    open.changes = [];
    this.#say({ event: "change", path: open.path, version: document.version, changes, unsaved: document.isDirty });
  }

  #saved(document: vscode.TextDocument): void {
    const open = this.#open.get(document);
    if (open !== undefined && !open.writing) {
      this.#send(document, open);
      this.#say({ event: "save", path: open.path, version: document.version });
    }
  }

  #closed(document: vscode.TextDocument): void {
    const open = this.#open.get(document);
    if (open !== undefined) {
      clearTimeout(open.timer);
      this.#open.delete(document);
      this.#places.forget(document.uri);
      this.#say({ event: "close", path: open.path });
    }
  }

  #focused(): void {
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      const cwd = this.#places.rootOf(folder);
      if (cwd !== undefined) {
        this.#say({ event: "focus", cwd });
      }
    }
  }
}

function asRange(range: vscode.Range): {
  start: { line: number; character: number };
  end: { line: number; character: number };
} {
  const { start, end } = range;
  return { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } };
}
