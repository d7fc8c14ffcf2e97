// Written by scripts/protocol.mjs from docs/schemas/editor; change the daemon's shapes, and run make schemas.
import { flag, list, nullable, number, object, or, shape, text, type Reader } from "./readers";

/**
 * `_sould/editor/call`: do what a tool wants, in the project of `root`.
 *
 * `arguments`: as the catalogue has them, checked; paths are absolute, and what they name may be looked at. `at`: where the call's
 * anchor points in the text that the user sees, whose sha256 is `digest`.
 */
export interface EditorCall {
  tool: string;
  arguments: {
    [k: string]: unknown;
  };
  root: string;
  directories: string[];
  at: Position | null;
  digest: string;
  sessionId: string;
}
/** A place in a text. */
export interface Position {
  line: number;
  column: number;
}
/** The answer to `run`: `data` and `meta`, or `error`. `partial`: not all was written. */
export interface RunAnswer {
  data: {
    [k: string]: unknown;
  } | null;
  meta: {
    [k: string]: unknown;
  } | null;
  error: RunError | null;
  partial: boolean;
}
/** Why a call came to nothing; `message` has the candidates, if there are any. */
export interface RunError {
  code: string;
  message: string;
}
/**
 * What a client answers to `_sould/editor/call`: `data` in the shape of the tool's result, or `error`.
 *
 * `edits`: what the tool wants written; the client writes nothing itself. `more`: a word on what was left out. `version`: of
 * the document.
 */
export interface CallResult {
  data?: {
    [k: string]: unknown;
  } | null;
  error?: CallErrorParams | null;
  edits?: FileEditsParams[];
  more?: string;
  version?: number | null;
}
/** Why a call came to nothing; `code` is one of the catalogue's. */
export interface CallErrorParams {
  code: string;
  message?: string;
  candidates?: CandidateParams[];
}
/** What may have been meant. */
export interface CandidateParams {
  file: string;
  line: number;
  text?: string;
  namePath?: string;
}
/**
 * What is to become of a file: `edits`, all relative to one text, or `newText`, all of it anew.
 *
 * `digest`: sha256 (hex) of the UTF-8 bytes of the text that the edits are for, where the client knows it.
 */
export interface FileEditsParams {
  file: string;
  edits?: EditParams[];
  newText?: string | null;
  digest?: string;
}
/** `newText` in the place of what stands in `range`. */
export interface EditParams {
  range: SpanParams;
  newText: string;
}
/** From `start` up to `end`, which is not included. */
export interface SpanParams {
  start: PlaceParams;
  end: PlaceParams;
}
/** A place in a text. */
export interface PlaceParams {
  line: number;
  column?: number;
}
/**
 * `_sould/editor/state`, a notification: what the client can do and how its window stands, whole, whenever that changes.
 *
 * `tools`: those of the catalogue it serves by `_sould/editor/call`. `workspaceFolders`: what it is asked about; without any, nothing.
 * `focused`: the user looks at this window. The rest is what `editor_state` answers, as far as the user shares it; a client may
 * leave it out.
 */
export interface StateParams {
  tools?: string[];
  app?: string;
  workspaceFolders?: string[];
  focused?: boolean;
  active?: ActiveParams | null;
  open?: OpenParams[];
  terminals?: TerminalParams[];
}
/** The file the user looks at. */
export interface ActiveParams {
  file: string;
  languageId?: string;
  cursor?: PlaceParams | null;
  selection?: SelectionParams | null;
  visible?: SpanParams | null;
}
/** What is selected. */
export interface SelectionParams {
  range: SpanParams;
  text?: string;
}
/** A file that is open. */
export interface OpenParams {
  file: string;
  dirty?: boolean;
}
/** A terminal that its user shares with agents. */
export interface TerminalParams {
  terminalId: string;
  title?: string;
}

export const editorCall: Reader<EditorCall> = /* @__PURE__ */ shape(() => ({
  tool: text,
  arguments: object,
  root: text,
  directories: or(list(text), []),
  at: or(nullable(position), null),
  digest: or(text, ""),
  sessionId: or(text, ""),
}));
export const position: Reader<Position> = /* @__PURE__ */ shape(() => ({ line: number, column: or(number, 1) }));
export const runAnswer: Reader<RunAnswer> = /* @__PURE__ */ shape(() => ({
  data: or(nullable(object), null),
  meta: or(nullable(object), null),
  error: or(nullable(runError), null),
  partial: or(flag, false),
}));
export const runError: Reader<RunError> = /* @__PURE__ */ shape(() => ({ code: text, message: text }));
