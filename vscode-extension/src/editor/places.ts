/**
 * Which file of the daemon's a document is, and the other way round. The daemon names files by their real paths; a workspace may
 * have been opened through a link, and then everything in it is shown by the path it was opened with.
 */
import { realpathSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { nameOf, visible } from "../../panel/session/visible";

export class Places {
  readonly #real = new Map<string, string>();
  readonly #folders = new Map<string, string>();

  /** The real path of a file's document; undefined for what is no file on the disk. Asks the disk once a document. */
  pathOf(uri: vscode.Uri): string | undefined {
    if (uri.scheme !== "file") {
      return undefined;
    }
    const known = this.#real.get(uri.fsPath);
    if (known !== undefined) {
      return known;
    }
    const real = realPath(uri.fsPath);
    this.#real.set(uri.fsPath, real);
    return real;
  }

  /** Where the file is shown in this window. */
  uriOf(file: string): vscode.Uri {
    const open = vscode.workspace.textDocuments.find((document) => this.pathOf(document.uri) === file);
    if (open !== undefined) {
      return open.uri;
    }
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      const root = this.rootOf(folder);
      if (root !== undefined && root !== folder.uri.fsPath && file.startsWith(root + path.sep)) {
        return vscode.Uri.joinPath(folder.uri, path.relative(root, file));
      }
    }
    return vscode.Uri.file(file);
  }

  /** What a file is called: "new", or "old → new" after a rename. `whole`: with the directories it is in. */
  titleOf(file: string, before: string | undefined, whole = false): string {
    const shown = (each: string): string => visible(vscode.workspace.asRelativePath(this.uriOf(each)));
    const name = whole ? shown(file) : nameOf(file);
    if (before === undefined) {
      return name;
    }
    const isNear = !whole && path.dirname(before) === path.dirname(file);
    return `${isNear ? nameOf(before) : shown(before)} → ${name}`;
  }

  /** The real directory of a workspace folder. */
  rootOf(folder: vscode.WorkspaceFolder): string | undefined {
    if (folder.uri.scheme !== "file") {
      return undefined;
    }
    const known = this.#folders.get(folder.uri.fsPath) ?? realPath(folder.uri.fsPath);
    this.#folders.set(folder.uri.fsPath, known);
    return known;
  }

  /** The real directory of the folder whose file is before the user, or else of the first one. */
  currentRoot(): string | undefined {
    const uri = vscode.window.activeTextEditor?.document.uri;
    const folder = (uri && vscode.workspace.getWorkspaceFolder(uri)) ?? vscode.workspace.workspaceFolders?.[0];
    return folder && this.rootOf(folder);
  }

  /** The file that the user looks at, also as a notebook, an image or a diff; undefined: none. */
  activePath(): string | undefined {
    const text = vscode.window.activeTextEditor?.document.uri;
    const uri = text?.scheme === "file" ? text : shownIn(vscode.window.tabGroups.activeTabGroup.activeTab?.input);
    return uri && this.pathOf(uri);
  }

  /** A document was closed: by the time it is opened again, its path may lead elsewhere. */
  forget(uri: vscode.Uri): void {
    this.#real.delete(uri.fsPath);
  }

  /** The document of a file, when one is open. */
  documentOf(file: string): vscode.TextDocument | undefined {
    return vscode.workspace.textDocuments.find((document) => this.pathOf(document.uri) === file);
  }
}

/** The file that a tab is about. */
export function shownIn(input: unknown): vscode.Uri | undefined {
  if (input instanceof vscode.TabInputTextDiff || input instanceof vscode.TabInputNotebookDiff) {
    return input.modified;
  }
  const whole =
    input instanceof vscode.TabInputNotebook ||
    input instanceof vscode.TabInputCustom ||
    input instanceof vscode.TabInputText;
  return whole ? input.uri : undefined;
}

function realPath(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    // It is not there yet, or not any more: its directory may still be a link.
    const directory = path.dirname(file);
    return directory === file ? file : path.join(realPath(directory), path.basename(file));
  }
}
