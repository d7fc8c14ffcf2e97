/**
 * What of VS Code's API host code needs in tests, written by hand; VS Code's own types say what each has to look like.
 *
 * It does nothing by itself: a test sets what is open and reads what was done, through `fake`, which is new after every `reset`.
 */
import * as l10n from "@vscode/l10n";
import type * as vscode from "vscode";
import { FakeDebug } from "./debug";
import type { FakeNotebook } from "./notebook";
import { FakeTasks } from "./tasks";
import {
  Disposable,
  EndOfLine,
  EventEmitter,
  Position,
  Range,
  Selection,
  Uri,
  ViewColumn,
  type RelativePattern,
  type WorkspaceEdit,
} from "./values";

export * from "./values";

/** A document with a text. */
export function document(path: string, text: string, languageId = "plaintext"): vscode.TextDocument {
  const lines = text.split("\n");
  const offsetAt = (at: Position): number =>
    lines.slice(0, at.line).reduce((sum, line) => sum + line.length + 1, 0) + at.character;
  const made = {
    uri: Uri.file(path),
    fileName: path,
    languageId,
    isDirty: false,
    eol: EndOfLine.LF,
    lineCount: lines.length,
    offsetAt,
    validatePosition: (at: Position) => at,
    getText: (range?: Range) => (range ? text.slice(offsetAt(range.start), offsetAt(range.end)) : text),
    lineAt: (line: number) => ({ text: lines[line] ?? "" }),
  };
  return made as unknown as vscode.TextDocument;
}

export type FakeEditor = vscode.TextEditor & { readonly edited: { range: Range; text: string }[] };

/** An editor of a document; `edited` has what was put where. */
export function editor(
  of: vscode.TextDocument,
  from: [number, number] = [0, 0],
  to: [number, number] = from,
): FakeEditor {
  const edited: { range: Range; text: string }[] = [];
  const replace = (range: Range, text: string): void => {
    edited.push({ range, text });
  };
  const made = {
    document: of,
    selection: new Selection(new Position(...from), new Position(...to)),
    viewColumn: ViewColumn.One,
    visibleRanges: [],
    edited,
    edit: (does: (edit: { replace: typeof replace }) => void) => {
      does({ replace });
      return Promise.resolve(true);
    },
    revealRange: () => undefined,
  };
  return made as unknown as FakeEditor;
}

/** What is remembered. */
export class FakeMemento {
  readonly #values = new Map<string, unknown>();

  keys(): string[] {
    return [...this.#values.keys()];
  }

  get<T>(key: string, otherwise?: T): T {
    return (this.#values.get(key) ?? otherwise) as T;
  }

  update(key: string, value: unknown): Promise<void> {
    this.#values.set(key, value);
    return Promise.resolve();
  }
}

/** A page: what it was posted, and a way to speak as it would. */
export class FakeWebview {
  options: vscode.WebviewOptions = {};
  html = "";
  readonly cspSource = "https://files.test";
  readonly posted: Record<string, unknown>[] = [];
  readonly #said = new EventEmitter<unknown>();
  readonly onDidReceiveMessage = this.#said.event;

  postMessage(message: Record<string, unknown>): Promise<boolean> {
    this.posted.push(structuredClone(message));
    return Promise.resolve(true);
  }

  asWebviewUri(uri: Uri): Uri {
    return uri.with({ scheme: "https" });
  }

  says(message: unknown): void {
    this.#said.fire(message);
  }
}

/** A view, or a tab, with a page in it. */
export class FakePage {
  readonly webview = new FakeWebview();
  readonly #ended = new EventEmitter<undefined>();
  readonly onDidDispose = this.#ended.event;
  iconPath: unknown;

  dispose(): void {
    this.#ended.fire(undefined);
  }
}

/** A list that its user chooses from. */
export class FakeList {
  items: readonly { label: string }[] = [];
  placeholder = "";
  readonly onDidAccept = new EventEmitter<undefined>().event;
  readonly onDidHide = new EventEmitter<undefined>().event;
  show = (): void => undefined;
  dispose = (): void => undefined;
}

class State {
  readonly providers = new Map<string, vscode.WebviewViewProvider>();
  readonly serializers = new Map<string, vscode.WebviewPanelSerializer>();
  readonly tabs: FakePage[] = [];
  /** Commands that were run, with what they were given. */
  readonly ran: unknown[][] = [];
  readonly shown: { uri: string; options: unknown }[] = [];
  /** Notifications, which wait for their user. */
  readonly notified: { text: string; answer: (choice: string | undefined) => void }[] = [];
  /** Of the items of a quick pick, the one that its user takes. */
  takes: (items: readonly { label: string }[]) => unknown = () => undefined;
  /** Lists that change while they are shown. */
  readonly lists: FakeList[] = [];
  /** What the next dialog for files gives. */
  picked: Uri[] | undefined;
  /** Patterns that files were searched by, and what a search gives. */
  readonly searched: string[] = [];
  found: Uri[] = [];
  folders: { uri: Uri; name: string; index: number }[] = [];
  active: FakeEditor | undefined;
  visible: FakeEditor[] = [];
  activeTab: unknown;
  clipboard = "";
  /** What a command does, by its id. */
  readonly does = new Map<string, (...given: unknown[]) => unknown>();
  /** What other extensions export, by their ids. */
  readonly extensions = new Map<string, unknown>();
  readonly closed = new EventEmitter<vscode.TextDocument>();
  /** Documents, by their paths. */
  readonly documents = new Map<string, vscode.TextDocument>();
  /** Documents that were asked for, by their paths. */
  readonly opened: string[] = [];
  /** Files of the disk. */
  readonly disk = new Map<string, string>();
  readonly debug = new FakeDebug();
  readonly tasks = new FakeTasks();
  readonly notebooks = new Map<string, FakeNotebook>();
  readonly notebooksShown: { notebook: unknown; options: unknown }[] = [];
  readonly notebookChanged = new EventEmitter<unknown>();
  /** Settings, by their whole names. */
  readonly settings = new Map<string, unknown>();
  /** What extensions that are installed declare. */
  readonly manifests: unknown[] = [];
  readonly documentOpened = new EventEmitter<vscode.TextDocument>();
  readonly documentChanged = new EventEmitter<unknown>();
  readonly documentSaved = new EventEmitter<vscode.TextDocument>();
  /** What an edit of documents comes to. */
  applies: (edit: WorkspaceEdit) => boolean = () => true;
  /** Whether the user is in this window. */
  focused = true;
  readonly focusChanged = new EventEmitter<vscode.WindowState>();
  /** What is said to be going on, by its title. */
  readonly notes = new Set<string>();
  /** Comments beside lines that are there. */
  readonly threads = new Set<object>();
  readonly activeChanged = new EventEmitter<FakeEditor | undefined>();
  readonly selectionChanged = new EventEmitter<unknown>();
  readonly visibleChanged = new EventEmitter<unknown>();
  readonly foldersChanged = new EventEmitter<unknown>();

  /** The user goes to an editor, or from all of them to something else. */
  activate(next: FakeEditor | undefined): void {
    this.active = next;
    this.visible = next ? [next] : this.visible;
    this.activeChanged.fire(next);
  }
}

export let fake = new State();

export function reset(): void {
  fake = new State();
}

/** What stands for something of VS Code's without being all of it. */
const some = (value: unknown): never => value as never;

export const window = {
  get activeTextEditor() {
    return fake.active;
  },
  get visibleTextEditors() {
    return fake.visible;
  },
  get tabGroups(): vscode.TabGroups {
    return some({ activeTabGroup: { activeTab: { input: fake.activeTab } } });
  },
  onDidChangeActiveTextEditor: (listener: (event: vscode.TextEditor | undefined) => unknown) =>
    fake.activeChanged.event(listener),
  onDidChangeTextEditorSelection: (listener: (event: never) => unknown) =>
    fake.selectionChanged.event((event) => listener(some(event))),
  onDidChangeVisibleTextEditors: (listener: (event: never) => unknown) =>
    fake.visibleChanged.event((event) => listener(some(event))),
  onDidChangeTextEditorVisibleRanges: (listener: (event: never) => unknown) =>
    fake.visibleChanged.event((event) => listener(some(event))),
  registerWebviewViewProvider: (id: string, provider: vscode.WebviewViewProvider) => {
    fake.providers.set(id, provider);
    return new Disposable(() => {
      fake.providers.delete(id);
    });
  },
  registerWebviewPanelSerializer: (id: string, serializer: vscode.WebviewPanelSerializer) => {
    fake.serializers.set(id, serializer);
    return new Disposable(() => {
      fake.serializers.delete(id);
    });
  },
  createWebviewPanel: () => {
    const tab = new FakePage();
    fake.tabs.push(tab);
    return some(tab);
  },
  showOpenDialog: () => Promise.resolve(some(fake.picked)),
  showTextDocument: (of: unknown, options?: unknown) => {
    const uri = of instanceof Uri ? of : (of as vscode.TextDocument).uri;
    fake.shown.push({ uri: uri.toString(), options });
    return Promise.resolve(editor(document(uri.fsPath, "\n".repeat(99))));
  },
  activeNotebookEditor: undefined,
  get visibleNotebookEditors() {
    return some(fake.notebooksShown);
  },
  showNotebookDocument: (notebook: unknown, options?: unknown) => {
    fake.notebooksShown.push({ notebook, options });
    return Promise.resolve(some(undefined));
  },
  onDidStartTerminalShellExecution: (listener: (event: never) => unknown) =>
    fake.tasks.printed.event((event) => listener(some(event))),
  showQuickPick: (items: unknown) => Promise.resolve(some(fake.takes(items as readonly { label: string }[]))),
  createQuickPick: () => {
    const list = new FakeList();
    fake.lists.push(list);
    return some(list);
  },
  get state() {
    return { focused: fake.focused, active: fake.focused };
  },
  onDidChangeWindowState: (listener: (event: vscode.WindowState) => unknown) => fake.focusChanged.event(listener),
  showErrorMessage: (text: string) =>
    new Promise((answer) => {
      fake.notified.push({
        text,
        answer: (choice) => {
          answer(some(choice));
        },
      });
    }),
  showInformationMessage: (text: string) =>
    new Promise((answer) => {
      fake.notified.push({
        text,
        answer: (choice) => {
          answer(some(choice));
        },
      });
    }),
  setStatusBarMessage: () => new Disposable(() => undefined),
  createTreeView: () => some({ badge: undefined, dispose: () => undefined }),
  createStatusBarItem: () => some({ show: () => undefined, hide: () => undefined, dispose: () => undefined }),
  withProgress: async (options: vscode.ProgressOptions, task: (progress: never, token: never) => Thenable<unknown>) => {
    const title = options.title ?? "";
    fake.notes.add(title);
    const answer = await task(some(undefined), some(undefined));
    fake.notes.delete(title);
    return some(answer);
  },
} satisfies Partial<typeof vscode.window>;

export const workspace = {
  get workspaceFolders() {
    return some(fake.folders);
  },
  get textDocuments() {
    return [...fake.documents.values()];
  },
  asRelativePath: (of: unknown) => {
    const { path } = of as Uri;
    const folder = fake.folders.find((each) => path.startsWith(`${each.uri.path}/`));
    return folder ? path.slice(folder.uri.path.length + 1) : path;
  },
  getConfiguration: (section = "") => some({ get: (name: string) => fake.settings.get(`${section}.${name}`) }),
  applyEdit: (edit: unknown) => Promise.resolve(fake.applies(edit as WorkspaceEdit)),
  registerTextDocumentContentProvider: () => new Disposable(() => undefined),
  registerFileSystemProvider: () => new Disposable(() => undefined),
  onDidOpenTextDocument: (listener: (document: vscode.TextDocument) => unknown) => fake.documentOpened.event(listener),
  onDidChangeTextDocument: (listener: (event: never) => unknown) =>
    fake.documentChanged.event((event) => listener(some(event))),
  onDidSaveTextDocument: (listener: (document: vscode.TextDocument) => unknown) => fake.documentSaved.event(listener),
  onDidCloseTextDocument: (listener: (document: vscode.TextDocument) => unknown) => fake.closed.event(listener),
  onDidChangeWorkspaceFolders: (listener: (event: never) => unknown) =>
    fake.foldersChanged.event((event) => listener(some(event))),
  getWorkspaceFolder: (uri: vscode.Uri) =>
    some(fake.folders.find((each) => uri.fsPath.startsWith(`${each.uri.fsPath}/`))),
  findFiles: (pattern: vscode.GlobPattern) => {
    fake.searched.push((pattern as RelativePattern).pattern);
    return Promise.resolve(some(fake.found));
  },
  openTextDocument: (uri: unknown) => {
    fake.opened.push((uri as Uri).fsPath);
    return Promise.resolve(some(fake.documents.get((uri as Uri).fsPath) ?? fake.active?.document ?? uri));
  },
  openNotebookDocument: (uri: unknown) => {
    const found = fake.notebooks.get((uri as Uri).fsPath);
    return found ? Promise.resolve(some(found)) : Promise.reject(new Error("no notebook"));
  },
  onDidChangeNotebookDocument: (listener: (event: never) => unknown) =>
    fake.notebookChanged.event((event) => listener(some(event))),
  fs: some({
    stat: (uri: Uri) =>
      fake.documents.has(uri.fsPath) ? Promise.resolve({}) : Promise.reject(new Error("no such file")),
    readFile: (uri: Uri) => {
      const text = fake.disk.get(uri.fsPath);
      return text === undefined
        ? Promise.reject(new Error("no such file"))
        : Promise.resolve(new TextEncoder().encode(text));
    },
  }),
} satisfies Partial<typeof vscode.workspace>;

export const comments = {
  createCommentController: () =>
    some({
      createCommentThread: (uri: Uri, range: Range, given: unknown) => {
        const thread = { uri, range, comments: given, dispose: () => fake.threads.delete(thread) };
        fake.threads.add(thread);
        return thread;
      },
      dispose: () => undefined,
    }),
} satisfies Partial<typeof vscode.comments>;

export const commands = {
  executeCommand: (...given: unknown[]) => {
    fake.ran.push(given);
    return Promise.resolve(some(fake.does.get(String(given[0]))?.(...given.slice(1))));
  },
} satisfies Partial<typeof vscode.commands>;

const clipboard = {
  readText: () => Promise.resolve(fake.clipboard),
  writeText: (text: string) => {
    fake.clipboard = text;
    return Promise.resolve();
  },
};

export { l10n };

export const env = { appName: "VS Code", language: "en", clipboard } satisfies Partial<typeof vscode.env>;

export const debug = new Proxy<Partial<typeof vscode.debug>>(
  {},
  { get: (_, name: keyof typeof vscode.debug) => fake.debug.api[name] },
);

export const tasks = new Proxy<Partial<typeof vscode.tasks>>(
  {},
  { get: (_, name: keyof typeof vscode.tasks) => fake.tasks.api[name] },
);

export const languages = {
  getDiagnostics: () => some([]),
  registerCodeLensProvider: () => new Disposable(() => undefined),
} satisfies Partial<typeof vscode.languages>;

export const extensions = {
  get all() {
    return some(fake.manifests.map((packageJSON) => ({ packageJSON })));
  },
  getExtension: (id: string) =>
    some(fake.extensions.has(id) ? { activate: () => Promise.resolve(fake.extensions.get(id)) } : undefined),
} satisfies Partial<typeof vscode.extensions>;
