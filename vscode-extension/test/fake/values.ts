/** The values of VS Code's API that host code makes or is given, as far as it reads them. */
import type * as vscode from "vscode";

export class Disposable {
  readonly #ends: () => void;

  constructor(ends: () => void) {
    this.#ends = ends;
  }

  dispose(): void {
    this.#ends();
  }
}

export class EventEmitter<T> {
  readonly #listeners = new Set<(event: T) => unknown>();

  readonly event = (listener: (event: T) => unknown): Disposable => {
    this.#listeners.add(listener);
    return new Disposable(() => {
      this.#listeners.delete(listener);
    });
  };

  fire(event: T): void {
    [...this.#listeners].forEach((each) => each(event));
  }

  dispose(): void {
    this.#listeners.clear();
  }
}

export class Uri {
  readonly scheme: string;
  readonly authority = "";
  readonly path: string;
  readonly query: string;
  readonly fragment = "";

  private constructor(scheme: string, path: string, query = "") {
    this.scheme = scheme;
    this.path = path;
    this.query = query;
  }

  static file(path: string): Uri {
    return new Uri("file", path);
  }

  static from(parts: { scheme: string; path?: string; query?: string }): Uri {
    return new Uri(parts.scheme, parts.path ?? "", parts.query);
  }

  static parse(text: string): Uri {
    const url = new URL(text);
    return new Uri(url.protocol.slice(0, -1), url.pathname, url.search.slice(1));
  }

  static joinPath(base: Uri, ...parts: string[]): Uri {
    const joined = new URL(parts.join("/"), `file://${base.path}/`);
    return new Uri(base.scheme, decodeURIComponent(joined.pathname));
  }

  get fsPath(): string {
    return this.path;
  }

  with(change: { scheme?: string; path?: string; query?: string }): Uri {
    return new Uri(change.scheme ?? this.scheme, change.path ?? this.path, change.query ?? this.query);
  }

  toString(): string {
    return `${this.scheme}://${this.path}${this.query && `?${this.query}`}`;
  }
}

export class Position {
  readonly line: number;
  readonly character: number;

  constructor(line: number, character: number) {
    this.line = line;
    this.character = character;
  }

  isEqual(other: Position): boolean {
    return this.line === other.line && this.character === other.character;
  }
}

export class Range {
  readonly start: Position;
  readonly end: Position;

  constructor(start: Position | number, end: Position | number, endLine = 0, endCharacter = 0) {
    this.start = typeof start === "number" ? new Position(start, Number(end)) : start;
    this.end = typeof end === "number" ? new Position(endLine, endCharacter) : end;
  }

  get isEmpty(): boolean {
    return this.start.isEqual(this.end);
  }
}

export class Selection extends Range {}

export class Location {
  readonly uri: Uri;
  readonly range: Range;

  constructor(uri: Uri, at: Position | Range) {
    this.uri = uri;
    this.range = at instanceof Range ? at : new Range(at, at);
  }
}

let breakpoints = 0;

export class SourceBreakpoint {
  readonly id: string;
  readonly location: Location;
  readonly enabled: boolean;
  readonly condition: string | undefined;

  constructor(location: Location, enabled = true, condition?: string) {
    breakpoints += 1;
    this.id = `breakpoint ${breakpoints}`;
    this.location = location;
    this.enabled = enabled;
    this.condition = condition;
  }
}

export class TextEdit {
  readonly range: Range;
  readonly newText: string;

  constructor(range: Range, newText: string) {
    this.range = range;
    this.newText = newText;
  }

  static replace(range: Range, newText: string): TextEdit {
    return new TextEdit(range, newText);
  }
}

/** Of the texts of files. */
export class WorkspaceEdit {
  readonly files: { uri: Uri; edits: readonly TextEdit[] }[] = [];

  set(uri: Uri, edits: readonly TextEdit[]): void {
    this.files.push({ uri, edits });
  }
}

export class MarkdownString {
  value = "";

  appendCodeblock(code: string): this {
    this.value += code;
    return this;
  }
}

export class CodeLens {
  readonly range: Range;
  command: vscode.Command | undefined;

  constructor(range: Range, command?: vscode.Command) {
    this.range = range;
    this.command = command;
  }
}

export class RelativePattern {
  readonly base: unknown;
  readonly pattern: string;

  constructor(base: unknown, pattern: string) {
    this.base = base;
    this.pattern = pattern;
  }
}

export class TabInputWebview {
  readonly viewType: string;

  constructor(viewType: string) {
    this.viewType = viewType;
  }
}

export class CodeActionKind {
  static readonly QuickFix = new CodeActionKind("quickfix");
  static readonly Empty = new CodeActionKind("");
  readonly value: string;

  constructor(value: string) {
    this.value = value;
  }

  append(part: string): CodeActionKind {
    return new CodeActionKind([this.value, part].filter(Boolean).join("."));
  }
}

export class CodeAction {
  readonly title: string;
  readonly kind: CodeActionKind;
  command: vscode.Command | undefined;
  diagnostics: unknown;

  constructor(title: string, kind: CodeActionKind) {
    this.title = title;
    this.kind = kind;
  }
}

export class ThemeColor {
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }
}

export class TreeItem {
  readonly label: unknown;
  readonly collapsibleState: unknown;

  constructor(label: unknown, collapsibleState?: unknown) {
    this.label = label;
    this.collapsibleState = collapsibleState;
  }
}

export class ThemeIcon {
  static readonly File = new ThemeIcon("file");
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }
}

export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 } as const;
export const StatusBarAlignment = { Left: 1, Right: 2 } as const;
export const FileChangeType = { Changed: 1 } as const;
export const EndOfLine = { LF: 1, CRLF: 2 } as const;
export const CommentMode = { Editing: 0, Preview: 1 } as const;
export const CommentThreadCollapsibleState = { Collapsed: 0, Expanded: 1 } as const;
export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 } as const;
export const ProgressLocation = { SourceControl: 1, Window: 10, Notification: 15 } as const;
export const SymbolKind = { 11: "Function" } as const;
export const TaskGroup = { Test: { id: "test" }, Build: { id: "build" } } as const;
export const NotebookCellKind = { Markup: 1, Code: 2 } as const;
export const ViewColumn = { Active: -1, Beside: -2, One: 1 } as const;
export const TextEditorRevealType = { InCenterIfOutsideViewport: 2 } as const;
