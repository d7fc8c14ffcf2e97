/**
 * The editor tools that this VS Code serves, in one table, and what the daemon is told of its window.
 *
 * In a workspace that the user does not trust nothing is served: language servers would run what is in it. sould then reads the disk.
 */
import * as vscode from "vscode";
import { type Places, shownIn } from "../editor/places";
import { editorCall, type CallResult, type StateParams } from "../protocol/editor";
import { parse } from "../protocol/readers";
import type { ReviewModel } from "../review/model";
import { ask } from "./ask";
import { Call, failed, spanOf, ToolError } from "./call";
import { Debugging } from "./debug";
import { Fixes, format } from "./fixes";
import * as language from "./language";
import * as notebooks from "./notebooks";
import { move } from "./move";
import { Problems } from "./problems";
import { remove } from "./remove";
import * as run from "./run";
import { ReviewRequests } from "./review";
import { scm } from "./scm";
import * as show from "./show";
import { Terminals } from "./terminals";
import * as tests from "./tests";
import { Tour } from "./tour";

/** What calls leave behind for later ones, and for the user. */
interface Kept {
  readonly debugging: Debugging;
  readonly fixes: Fixes;
  readonly model: ReviewModel;
  readonly problems: Problems;
  readonly requests: ReviewRequests;
  readonly terminals: Terminals;
  readonly tour: Tour;
}

/**
 * Not in it: what sould serves without an editor as well (`doc_read`, `doc_edit`), unsaved text included.
 */
const TOOLS: Record<string, (call: Call, kept: Kept) => Promise<CallResult>> = {
  editor_open: show.open,
  editor_highlight: (call, { tour }) => tour.show(call),
  editor_ask: ask,
  doc_save: show.save,
  doc_format: format,
  diagnostics: (call, { problems }) => problems.list(call),
  quick_fixes: (call, { fixes }) => fixes.list(call),
  apply_quick_fix: (call, { fixes }) => fixes.apply(call),
  symbols: language.symbols,
  definition: language.definition,
  references: language.references,
  hierarchy: language.hierarchy,
  hover: language.hover,
  rename: language.rename,
  move_symbol: move,
  safe_delete: remove,
  tests_list: tests.list,
  tests_run: tests.run,
  tasks_list: run.tasks,
  task_run: run.task,
  terminal_read: (call, { terminals }) => terminals.read(call),
  review: (call, { requests }) => requests.act(call),
  scm: (call, { model }) => scm(call, model),
  notebook_run: notebooks.run,
  debug: (call, { debugging }) => debugging.act(call),
  editor_command: run.command,
};

/** The tools that there is nothing for as long as the user has not set or shared something. */
function isServed(tool: string, kept: Kept): boolean {
  switch (tool) {
    case "terminal_read":
      return kept.terminals.all.length > 0;
    case "editor_command":
      return run.allowedCommands().length > 0;
    default:
      return true;
  }
}

/** What is said of the window is said at most this often. Milliseconds. */
const PAUSE = 300;
const LONGEST_SELECTION = 20_000;

export class Tools implements vscode.Disposable {
  readonly terminals: Terminals;
  readonly tour: Tour;
  readonly #places: Places;
  readonly #kept: Kept;
  readonly #say: (state: StateParams) => void;
  readonly #subscriptions: { dispose(): void }[];
  #timer: NodeJS.Timeout | undefined;

  /** `say`: tells the daemon how this window stands. */
  constructor(places: Places, model: ReviewModel, say: (state: StateParams) => void) {
    this.#places = places;
    this.#say = say;
    const soon = (): void => {
      this.#soon();
    };
    this.terminals = new Terminals();
    this.tour = new Tour(places);
    const problems = new Problems(model);
    const debugging = new Debugging();
    this.#kept = {
      debugging,
      fixes: new Fixes(),
      model,
      problems,
      requests: new ReviewRequests(model, this.tour),
      terminals: this.terminals,
      tour: this.tour,
    };
    this.#subscriptions = [
      debugging,
      problems,
      this.terminals,
      this.terminals.onDidChange(soon),
      this.tour,
      vscode.window.onDidChangeWindowState(soon),
      vscode.window.onDidChangeActiveTextEditor(soon),
      vscode.window.onDidChangeTextEditorSelection(soon),
      vscode.window.tabGroups.onDidChangeTabs(soon),
      vscode.workspace.onDidOpenTextDocument(soon),
      vscode.workspace.onDidCloseTextDocument(soon),
      vscode.workspace.onDidChangeWorkspaceFolders(soon),
      vscode.workspace.onDidGrantWorkspaceTrust(soon),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("sould.allowedCommands")) {
          soon();
        }
      }),
    ];
  }

  /** Answers `_sould/editor/call`. `signal`: nobody waits any more. */
  async serve(params: unknown, signal: AbortSignal): Promise<CallResult> {
    try {
      const call = parse(editorCall, params);
      const tool = Object.hasOwn(TOOLS, call.tool) ? TOOLS[call.tool] : undefined;
      if (tool === undefined) {
        throw new ToolError("not_supported", `VS Code does not serve ${call.tool}.`);
      }
      if (!vscode.workspace.isTrusted) {
        throw new ToolError("untrusted_workspace", "The user does not trust this workspace.");
      }
      return await tool(new Call(call, this.#places, signal), this.#kept);
    } catch (problem) {
      return failed(problem);
    }
  }

  /** All of it, now. */
  tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#say(this.#state());
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.tell();
    }, PAUSE);
  }

  #state(): StateParams {
    const window = {
      app: vscode.env.appName,
      workspaceFolders: (vscode.workspace.workspaceFolders ?? []).flatMap((each) => this.#places.rootOf(each) ?? []),
      focused: vscode.window.state.focused,
    };
    if (!vscode.workspace.isTrusted) {
      return window;
    }
    // VS Code has further documents open for itself, the user's settings among them.
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const shown = new Set(tabs.map((tab) => shownIn(tab.input)?.toString()));
    const documents = vscode.workspace.textDocuments
      .filter((each) => each.isDirty || shown.has(each.uri.toString()))
      .map((each) => ({ file: this.#places.pathOf(each.uri), dirty: each.isDirty }));
    // Told to sould alone: what agents may know of it is the user's choice there (`/editor-context`).
    const active = this.#active();
    return {
      ...window,
      tools: Object.keys(TOOLS).filter((each) => isServed(each, this.#kept)),
      terminals: this.terminals.all,
      open: documents.flatMap(({ file, dirty }) => (file === undefined ? [] : [{ file, dirty }])),
      ...(active === undefined ? {} : { active }),
    };
  }

  #active(): StateParams["active"] | undefined {
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
