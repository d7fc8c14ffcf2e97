/**
 * What agents ask to write, as documents of VS Code: `sould-asked:/REQUEST/EDIT/after/name`. Nothing of it is on a disk.
 *
 * The right side of a proposed change may be edited, saved or not: with the approval its text is what is written. All else is read only.
 */
import * as vscode from "vscode";

const ASKED_SCHEME = "sould-asked";

interface Asked {
  bytes: Uint8Array;
  readonly text: string;
  readonly editable: boolean;
  mtime: number;
}

export class AskedFiles implements vscode.FileSystemProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;
  /** Kept while the window is open: its tabs may be. */
  readonly #files = new Map<string, Asked>();
  readonly #registration: vscode.Disposable;

  constructor() {
    this.#registration = vscode.workspace.registerFileSystemProvider(ASKED_SCHEME, this, { isCaseSensitive: true });
  }

  /** A document with this text; one that is there already stays as its user has made it. */
  put(path: string, text: string, editable = false): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: ASKED_SCHEME, path });
    if (this.#files.get(path)?.text !== text) {
      this.#files.set(path, { bytes: new TextEncoder().encode(text), text, editable, mtime: Date.now() });
      this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    }
    return uri;
  }

  /** What the user made of the one change of a request, as it stands in its editor; undefined: nothing else than was asked. */
  edited(id: string): string | undefined {
    for (const [path, asked] of this.#of(id)) {
      if (asked.editable) {
        const open = documentOf(path);
        const text =
          open === undefined
            ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(asked.bytes)
            : withMark(open.getText(), asked);
        return sameText(text, asked.text) ? undefined : text;
      }
    }
    return undefined;
  }

  /** It is answered: tabs that show it go, without a question. */
  async close(id: string): Promise<void> {
    const paths = this.#of(id).map(([path]) => path);
    for (const document of paths.map(documentOf).filter((each) => each?.isDirty === true)) {
      await document?.save();
    }
    const tabs = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter(({ input }) => {
        const uri =
          input instanceof vscode.TabInputTextDiff
            ? input.modified
            : input instanceof vscode.TabInputText
              ? input.uri
              : undefined;
        return uri?.scheme === ASKED_SCHEME && paths.includes(uri.path);
      });
    await vscode.window.tabGroups.close(tabs, true);
    paths.forEach((path) => this.#files.delete(path));
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { bytes, editable, mtime } = this.#file(uri);
    const stat = { type: vscode.FileType.File, ctime: 0, mtime, size: bytes.length };
    return editable ? stat : { ...stat, permissions: vscode.FilePermission.Readonly };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.#file(uri).bytes;
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    const file = this.#file(uri);
    if (!file.editable) {
      throw vscode.FileSystemError.NoPermissions(uri);
    }
    file.bytes = content;
    file.mtime = Date.now();
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  dispose(): void {
    this.#registration.dispose();
    this.#changed.dispose();
  }

  #of(id: string): [string, Asked][] {
    return [...this.#files].filter(([path]) => path.startsWith(`/${id}/`));
  }

  #file(uri: vscode.Uri): Asked {
    const file = this.#files.get(uri.path);
    if (file === undefined) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    return file;
  }
}

/** The request that a document is about. */
export function requestOf(uri: vscode.Uri | undefined): string | undefined {
  return uri?.scheme === ASKED_SCHEME ? uri.path.split("/")[1] : undefined;
}

function documentOf(path: string): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((each) => each.uri.scheme === ASKED_SCHEME && each.uri.path === path);
}

/** VS Code takes a byte order mark away, and gives all lines one kind of ends. */
function withMark(text: string, asked: Asked): string {
  return asked.text.startsWith("\ufeff") ? `\ufeff${text}` : text;
}

function sameText(one: string, other: string): boolean {
  return one === other || one.replaceAll("\r\n", "\n") === other.replaceAll("\r\n", "\n");
}
