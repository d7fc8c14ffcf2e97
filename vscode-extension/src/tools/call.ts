/** What every editor tool has to do with: a call, its document, places as sould counts them (from 1), and errors of the catalogue. */
import { createHash } from "node:crypto";
import * as vscode from "vscode";
import type { Places } from "../editor/places";
import type { CallResult, EditorCall, FileEditsParams, SpanParams } from "../protocol/editor";

export type Data = Record<string, unknown>;

type Code = "busy" | "denied" | "failed" | "not_found" | "not_supported" | "stale" | "timeout" | "untrusted_workspace";

/** A call came to nothing; `code` is one of the catalogue's. */
export class ToolError extends Error {
  readonly code: string;

  constructor(code: Code, message: string) {
    super(message);
    this.code = code;
  }
}

/** One call: its arguments, by the kinds that the catalogue promises. */
export class Call {
  readonly places: Places;
  /** Nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly #call: EditorCall;

  constructor(call: EditorCall, places: Places, signal: AbortSignal) {
    this.#call = call;
    this.places = places;
    this.signal = signal;
  }

  get root(): string {
    return this.#call.root;
  }

  text(name: string): string {
    const given = this.#call.arguments[name];
    return typeof given === "string" ? given : "";
  }

  number(name: string, otherwise: number): number {
    const given = this.#call.arguments[name];
    return typeof given === "number" ? given : otherwise;
  }

  /** How many items of a list are wanted at most, and one more: sould sees by it that there are more. */
  get most(): number {
    return this.number("limit", 100) + 1;
  }

  flag(name: string): boolean {
    return this.#call.arguments[name] === true;
  }

  object(name: string): unknown {
    return this.#call.arguments[name];
  }

  list(name: string): unknown[] {
    const given = this.#call.arguments[name];
    return Array.isArray(given) ? given : [];
  }

  texts(name: string): string[] {
    return this.list(name).filter((each) => typeof each === "string");
  }

  /** The file that the call is about, as a document; nothing is shown. Raises ToolError. */
  async document(file = this.text("file")): Promise<vscode.TextDocument> {
    return await documentOf(file, this.places);
  }

  /** The place that the call is about. Raises ToolError when the document is another one since sould looked. */
  at(document: vscode.TextDocument): vscode.Position {
    const { at, digest } = this.#call;
    if (at === null) {
      return new vscode.Position(0, 0);
    }
    if (digest !== "" && digest !== digestOf(document)) {
      throw new ToolError("stale", `${document.uri.fsPath} has changed since the call was made.`);
    }
    return document.validatePosition(new vscode.Position(at.line - 1, at.column - 1));
  }

  /** The path of a document for an answer; undefined for what is no file. */
  path(uri: vscode.Uri): string | undefined {
    return this.places.pathOf(uri);
  }
}

/** A file as a document; nothing is shown. Raises ToolError. */
export async function documentOf(file: string, places: Places): Promise<vscode.TextDocument> {
  try {
    return await vscode.workspace.openTextDocument(places.uriOf(file));
  } catch {
    throw new ToolError("not_found", `VS Code cannot open ${file} as text.`);
  }
}

/** One of the two directories is the other, or in it. */
export function isRelated(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}

/** The SHA-256 of a document's text in UTF-8. */
function digestOf(document: vscode.TextDocument): string {
  return createHash("sha256").update(document.getText(), "utf8").digest("hex");
}

export function spanOf(range: vscode.Range): SpanParams {
  return { start: placeOf(range.start), end: placeOf(range.end) };
}

function placeOf(position: vscode.Position): { line: number; column: number } {
  return { line: position.line + 1, column: position.character + 1 };
}

/** What a WorkspaceEdit would do, for sould to do. Raises ToolError for what is more than other text in files. */
export async function editsOf(edit: vscode.WorkspaceEdit, call: Call): Promise<FileEditsParams[]> {
  const entries = edit.entries();
  if (partsOf(edit) > entries.reduce((count, [, edits]) => count + edits.length, 0)) {
    throw new ToolError(
      "not_supported",
      "This would do more than change text: files would be made, moved or deleted, which VS Code does not let sould see.",
    );
  }
  return await Promise.all(entries.map(([uri, edits]) => fileEdits(uri, edits, call)));
}

/**
 * How many parts an edit has of whatever kind. VS Code's API tells of those that are text only, `size` included: files that are made, moved
 * or deleted, and snippets, would be left out without a word. So whatever lists it holds are counted.
 */
function partsOf(edit: vscode.WorkspaceEdit): number {
  return Object.values(edit).reduce(
    (count: number, each: unknown) => count + (Array.isArray(each) ? each.length : 0),
    0,
  );
}

/** Edits of one file. */
export async function fileEdits(
  uri: vscode.Uri,
  edits: readonly vscode.TextEdit[],
  call: Call,
): Promise<FileEditsParams> {
  const file = call.path(uri);
  if (file === undefined) {
    throw new ToolError("not_supported", `${uri.toString()} is no file on the disk.`);
  }
  const document = await call.document(file);
  const texts = edits.map((each) => ({ range: spanOf(each.range), newText: each.newText }));
  return { file, edits: texts, digest: digestOf(document) };
}

/** The answer to a call that went wrong. */
export function failed(problem: unknown): CallResult {
  if (problem instanceof ToolError) {
    return { error: { code: problem.code, message: problem.message } };
  }
  return { error: { code: "failed", message: problem instanceof Error ? problem.message : String(problem) } };
}
