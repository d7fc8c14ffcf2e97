/**
 * The editor tools that this VS Code serves, in one table, and what the daemon is told of its window.
 *
 * In a workspace that the user does not trust nothing is served: language servers would run what is in it. sould then reads the disk.
 */
import * as vscode from "vscode";
import type { Places } from "../editor/places";
import { editorCall, type CallResult, type State } from "../protocol/editorshapes";
import { Call, failed, spanOf, ToolError } from "./call";
import * as language from "./language";
import * as show from "./show";

const TOOLS: Record<string, (call: Call) => Promise<CallResult>> = {
  editor_open: show.open,
  doc_save: show.save,
  doc_format: language.format,
  diagnostics: show.diagnostics,
  symbols: language.symbols,
  definition: language.definition,
  references: language.references,
  hierarchy: language.hierarchy,
  hover: language.hover,
  rename: language.rename,
  tasks_list: show.tasks,
};

/** What is said of the window is said at most this often. Milliseconds. */
const PAUSE = 300;
const LONGEST_SELECTION = 20_000;

/** Answers `_sould/editor/call`. */
export async function serve(params: unknown, places: Places): Promise<CallResult> {
  try {
    const call = editorCall.parse(params);
    const tool = TOOLS[call.tool];
    if (tool === undefined) {
      throw new ToolError("not_supported", `VS Code does not serve ${call.tool}.`);
    }
    if (!vscode.workspace.isTrusted) {
      throw new ToolError("untrusted_workspace", "The user does not trust this workspace.");
    }
    return await tool(new Call(call, places));
  } catch (problem) {
    return failed(problem);
  }
}

/** Tells the daemon how this window stands, whenever that changes. */
export class WindowState implements vscode.Disposable {
  readonly #places: Places;
  readonly #say: (state: State) => void;
  readonly #subscriptions: vscode.Disposable[];
  #timer: NodeJS.Timeout | undefined;

  constructor(places: Places, say: (state: State) => void) {
    this.#places = places;
    this.#say = say;
    const soon = (): void => { this.#soon(); };
    this.#subscriptions = [
      vscode.window.onDidChangeWindowState(soon),
      vscode.window.onDidChangeActiveTextEditor(soon),
      vscode.window.onDidChangeTextEditorSelection(soon),
      vscode.workspace.onDidOpenTextDocument(soon),
      vscode.workspace.onDidCloseTextDocument(soon),
      vscode.workspace.onDidChangeWorkspaceFolders(soon),
      vscode.workspace.onDidGrantWorkspaceTrust(soon),
    ];
  }

  /** All of it, now. */
  tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#say(this.#state());
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#subscriptions.forEach((each) => { each.dispose(); });
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => { this.tell(); }, PAUSE);
  }

  #state(): State {
    const tools = vscode.workspace.isTrusted ? Object.keys(TOOLS) : [];
    const documents = vscode.workspace.textDocuments.map((each) => ({ file: this.#places.pathOf(each.uri), dirty: each.isDirty }));
    // Told to sould alone: what agents may know of it is the user's choice there (`/editor-context`).
    const active = this.#active();
    return {
      tools,
      app: vscode.env.appName,
      workspaceFolders: (vscode.workspace.workspaceFolders ?? []).flatMap((each) => this.#places.rootOf(each) ?? []),
      focused: vscode.window.state.focused,
      open: documents.flatMap(({ file, dirty }) => (file === undefined ? [] : [{ file, dirty }])),
      ...(active === undefined ? {} : { active }),
    };
  }

  #active(): State["active"] | undefined {
    const editor = vscode.window.activeTextEditor;
    const file = editor && this.#places.pathOf(editor.document.uri);
    if (editor === undefined || file === undefined) {
      return undefined;
    }
    const { document, selection } = editor;
    const [visible] = editor.visibleRanges;
    const text = document.getText(selection).slice(0, LONGEST_SELECTION);
    return {
      file,
      languageId: document.languageId,
      cursor: spanOf(selection).start,
      selection: selection.isEmpty ? null : { range: spanOf(selection), text },
      visible: visible ? spanOf(visible) : null,
    };
  }
}
