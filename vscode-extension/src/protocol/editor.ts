// Written by scripts/protocol.mjs from docs/schemas/editor; change the daemon's shapes, and run it again.

/**
 * `_sould/editor/call`: do what a tool wants, in the project of `root`.
 *
 * `arguments`: as the catalogue has them, checked; paths are absolute, and what they name may be looked at. `at`: where the call's
 * anchor points in the text that the user sees, whose sha256 is `digest`.
 */
export interface EditorCall {
  tool: string;
  arguments: {};
  root: string;
  directories?: string[];
  at?: Position | null;
  digest?: string;
  sessionId?: string;
}
/**
 * A place in a text.
 */
export interface Position {
  line: number;
  column?: number;
}
/**
 * Why a call came to nothing; `code` is one of the catalogue's.
 */
export interface CallErrorParams {
  code: string;
  message?: string;
  candidates?: CandidateParams[];
}
/**
 * What may have been meant.
 */
export interface CandidateParams {
  file: string;
  line: number;
  text?: string;
  namePath?: string;
}
/**
 * `newText` in the place of what stands in `range`.
 */
export interface EditParams {
  range: SpanParams;
  newText: string;
}
/**
 * From `start` up to `end`, which is not included.
 */
export interface SpanParams {
  start: PlaceParams;
  end: PlaceParams;
}
/**
 * A place in a text.
 */
export interface PlaceParams {
  line: number;
  column?: number;
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
/**
 * `_sould/editor/context`: whether agents in `cwd` may know what the user looks at; with `sharing`, that is chosen.
 */
export interface ContextParams {
  cwd: string;
  sharing?: ("off" | "ask" | "on") | null;
}
/**
 * Whether agents may know what the user looks at: `ask` asks, each time an agent wants to.
 */
export interface Context {
  sharing: "ask" | "off" | "on";
}
/**
 * `_sould/editor/forgotten`: say `_sould/editor/state` again.
 */
export interface Forgotten {}
/**
 * `_sould/editor/run`: call a tool in the project of the directory `cwd`, for the agent that is called `agent`.
 */
export interface RunParams {
  cwd: string;
  tool: string;
  arguments?: {
    [k: string]: unknown;
  };
  agent?: string;
}
/**
 * The answer to `run`: `data` and `meta`, or `error`. `partial`: not all was written.
 */
export interface RunAnswer {
  data?: {} | null;
  meta?: {} | null;
  error?: RunError | null;
  partial?: boolean;
}
/**
 * Why a call came to nothing; `message` has the candidates, if there are any.
 */
export interface RunError {
  code: string;
  message: string;
}
/**
 * The file the user looks at.
 */
export interface ActiveParams {
  file: string;
  languageId?: string;
  cursor?: PlaceParams | null;
  selection?: SelectionParams | null;
  visible?: SpanParams | null;
}
/**
 * What is selected.
 */
export interface SelectionParams {
  range: SpanParams;
  text?: string;
}
/**
 * A file that is open.
 */
export interface OpenParams {
  file: string;
  dirty?: boolean;
}
/**
 * A terminal that its user shares with agents.
 */
export interface TerminalParams {
  terminalId: string;
  title?: string;
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
/**
 * An answer that says only that it is done, or a notification that says all by its name.
 */
export interface Nothing {}
/**
 * `_sould/editor/tools`: those that somebody can serve in the project of the directory `cwd`.
 */
export interface ToolsParams {
  cwd: string;
}
/**
 * The answer to `tools`.
 */
export interface OfferedTools {
  tools: OfferedTool[];
}
/**
 * A tool as a model is told of it. `does`: `read`, `show`, `write` or `run`.
 */
export interface OfferedTool {
  name: string;
  description: string;
  does: string;
  schema: {};
}
