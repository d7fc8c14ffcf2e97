// Written by scripts/protocol.mjs from docs/schemas/review; change the daemon's shapes, and run make schemas.
import { flag, known, list, nullable, number, oneOf, or, shape, text, type Reader } from "./readers";

/** The answer to `base`: the text as the user accepted it, null when the file is not under review, or no text. */
export interface Base {
  path: string;
  text: string | null;
}
/** The answer to `rejected`: by path, what went last at the end. */
export interface Rejected {
  hunks: RejectedHunk[];
  dropped: Dropped[];
  unsaved: Left[];
}
/**
 * A hunk that is in its file no more, with its text, and who decided that, null when nobody did.
 *
 * `undo` brings one back that was rejected or undone, as long as what is there now is what was there then.
 */
export interface RejectedHunk {
  hunk: ShownHunk;
  decision: ShownDecision | null;
}
/**
 * What is decided about as one: lines that became others (`kind` text), or something that happened to the whole file.
 *
 * `base` became `lines`; they begin at line `baseStart` of what the user accepted, and at line `start` of the file. Of other
 * kinds `before` and `after` say what happened: paths, octal modes, names of line ends, digests of contents; of symbolic links
 * `link:` and where they lead, with `%` escapes.
 */
export interface ShownHunk {
  id: number;
  digest: string;
  path: string;
  kind: "add" | "content" | "delete" | "line_ends" | "mode" | "rename" | "text";
  state: "absent" | "ended" | "kept" | "pending" | "rejected" | "rejecting" | "stale" | "streaming" | "undone";
  start: number;
  baseStart: number;
  base: string[];
  lines: ShownLine[];
  agents: ShownAgent[];
  before: string;
  after: string;
  committed: boolean;
  unsure: boolean;
  shownIn: string;
  earlier: boolean;
  beforeSize: number | null;
  afterSize: number | null;
  problems: string[];
}
/** A current line. `mixed`: an agent's, with words of the user; `agent`: which of the hunk's `agents` wrote it. */
export interface ShownLine {
  text: string;
  author: "agent" | "mixed" | "user";
  agent: number | null;
}
/** A tool call that had a part in a hunk. */
export interface ShownAgent {
  sessionId: string;
  turnId: string;
  toolCallId: string;
  subagent: string;
  model: string;
}
/** Who decided what, and when. `waits`: it is not carried out yet. */
export interface ShownDecision {
  id: number;
  path: string;
  verdict: "keep" | "reject" | "undo";
  by: string;
  at: string;
  reason: string;
  waits: boolean;
}
/** A text of the user that a reject dropped because `replace` was chosen. */
export interface Dropped {
  path: string;
  text: string;
  decision: ShownDecision | null;
}
/** What an editor held unsaved of a file when it ended, and the file does not hold. `by`: the editor. */
export interface Left {
  path: string;
  text: string;
  by: string;
  at: string;
}
/**
 * The notification `_sould/review/changed`: what is another since the last one.
 *
 * `files` are as they are now; `others` changed as well, and are too large or too many to be sent: list them. `everything`:
 * ask for the whole list again. `comments`: all that are not sent yet, null when they are as they were.
 */
export interface ReviewChanged {
  root: string;
  revision: number;
  files: ShownFile[];
  others: string[];
  everything: boolean;
  decisions: ShownDecision[];
  comments: ShownComment[] | null;
  round: ShownRound | null;
}
/**
 * A file with what is to be reviewed in it, from the top; `hunks` is empty when nothing is any more.
 *
 * `streaming` is what running calls are about to write into it: of each, `lines` are to replace
 * the lines `base` at `start` of the file as it is. Nothing of it can be decided about, and its ids, which are below 0, end with it.
 */
export interface ShownFile {
  path: string;
  exists: boolean;
  hunks: ShownHunk[];
  unsaved: boolean;
  unsavedIn: string[];
  isNew: boolean;
  streaming: ShownHunk[];
}
/**
 * What a user has to say to the agent, not sent yet. `code` began at line `start` of the file when it was made.
 *
 * `hunk`: the hunk it is about; without it, it is about these lines.
 */
export interface ShownComment {
  id: number;
  path: string;
  start: number;
  code: string[];
  text: string;
  by: string;
  at: string;
  hunk: number | null;
}
/** When comments were sent last, and to which session; "" when the client sent them itself. */
export interface ShownRound {
  revision: number;
  sessionId: string;
  by: string;
  at: string;
}
/** The answer to `list`, and to `subscribe`. `revision` counts what happened in the project. */
export interface ReviewList {
  root: string;
  revision: number;
  files: ShownFile[];
  comments: ShownComment[];
  round: ShownRound | null;
}
/** The answer to `keep`, `reject` and `undo`: what is done, and what is not. */
export interface ReviewOutcome {
  done: DoneHunk[];
  left: LeftHunk[];
}
/**
 * It is decided, and `hunk` was so before. `stayed`: lines of the user that a reject left in the file.
 *
 * `waits`: it is carried out when the running step of the agent ends. `newFile`: what became of a file that agents had made,
 * when this rejected the last of it. `part`: the id that the `lines` it was about have since, to undo it by; else that is `id`.
 */
export interface DoneHunk {
  id: number;
  path: string;
  verdict: "keep" | "reject" | "undo";
  hunk: ShownHunk | null;
  stayed: string[];
  waits: boolean;
  newFile: "" | "gone" | "stays";
  part: number;
}
/**
 * Nothing was done about it. `message` is for people, the rest what is needed to go on.
 *
 * `needs_choice`: words of the user are in the lines `mixed`: say `drop`, `mine` or `leave` as `choice`. `hunk_stale`: it is
 * `present` now, or has ended. `already_decided`: `by` whom, `at` which time, and what it is now (`state`). `conflict`: something
 * of the user's is at `path`; say `replace` where `choices` has it. `shared`: other turns or sessions had a part in it, `unsure`:
 * the user may have; name the hunk. `still_streaming`: not written yet. `not_there`: not in the file. `changed`: cannot be undone.
 */
export interface LeftHunk {
  id: number;
  path: string;
  why:
    | "already_decided"
    | "changed"
    | "conflict"
    | "failed"
    | "hunk_stale"
    | "needs_choice"
    | "not_there"
    | "shared"
    | "still_streaming"
    | "unknown"
    | "unsure";
  message: string;
  present: ShownHunk | null;
  mixed: string[];
  choices: string[];
  by: string;
  at: string;
  state: string;
  canUndo: boolean;
}
/**
 * The answer to `comments/send`.
 *
 * `sent`: `sessionId` has the prompt, and a round begins; it was opened for that when it was closed. `returned`: send `prompt`
 * yourself; a round begins. `closed`: there is no session `sessionId` any more: say another one, or `send: false`; nothing was done.
 * `nothing`: there is no comment.
 */
export interface SentComments {
  outcome: "closed" | "nothing" | "returned" | "sent";
  sessionId: string;
  prompt: string;
  round: ShownRound | null;
}
/**
 * The request `_sould/review/write` to a client with `buffers`: put `text` in place of `version` of a file it has open.
 *
 * `save`: the file was saved, so save it; else leave it unsaved.
 */
export interface Write {
  path: string;
  version: number;
  text: string;
  save: boolean;
}
/**
 * `_sould/review/comment`: `text` about a `hunk`, or about `lines` of the file `path`, from 0, the second not included.
 *
 * `id`: in place of this comment, which is not sent yet; with an empty `text` it is taken out.
 */
export interface CommentParams {
  cwd?: string | null;
  text: string;
  id?: number | null;
  hunk?: number | null;
  path?: string | null;
  lines?: [number, number] | null;
}
/**
 * `_sould/review/keep`, `reject`: the hunks named, or all of some paths, of a session, of a turn, or of the project (`all`).
 *
 * `lines`: of one hunk, only these of its current lines, counted from 0, the second not included. `baseLines`:
 * the lines of its `base` that go with them; without them, all go with the first of its lines. `choice`: see `LeftHunk`.
 * `reason`: what the agent is told of a reject.
 */
export interface KeepParams {
  cwd?: string | null;
  hunks?: NamedHunk[];
  paths?: string[];
  sessionId?: string;
  turnId?: string;
  all?: boolean;
  lines?: [number, number] | null;
  baseLines?: [number, number] | null;
  choice?: ("drop" | "mine" | "leave" | "replace") | null;
  reason?: string;
}
/** A hunk by its id. `digest`: what was seen of it; when it is another by now, nothing is done about it. */
export interface NamedHunk {
  id: number;
  digest?: string;
}
/**
 * `_sould/review/keep`, `reject`: the hunks named, or all of some paths, of a session, of a turn, or of the project (`all`).
 *
 * `lines`: of one hunk, only these of its current lines, counted from 0, the second not included. `baseLines`:
 * the lines of its `base` that go with them; without them, all go with the first of its lines. `choice`: see `LeftHunk`.
 * `reason`: what the agent is told of a reject.
 */
export interface RejectParams {
  cwd?: string | null;
  hunks?: NamedHunk[];
  paths?: string[];
  sessionId?: string;
  turnId?: string;
  all?: boolean;
  lines?: [number, number] | null;
  baseLines?: [number, number] | null;
  choice?: ("drop" | "mine" | "leave" | "replace") | null;
  reason?: string;
}
/**
 * `_sould/review/report`: what the client has open.
 *
 * `open`: with `text`, unless it is what the disk holds. `change`: with `text`, or with `changes`, each relative to the text after
 * those before it. `save`, `close`; `focus`: the user looks at this client. `version` goes up with every change; an older one
 * than known is ignored. `unsaved`: of `open` and `change`, whether the text is another one than the disk's.
 */
export interface ReportParams {
  cwd?: string | null;
  event: "open" | "change" | "save" | "focus" | "close";
  path?: string | null;
  version?: number | null;
  text?: string | null;
  changes?: ChangeParams[];
  unsaved?: boolean | null;
}
/** `text` is what stands in `range` now; without `range`, it is the whole text. */
export interface ChangeParams {
  range?: RangeParams | null;
  text: string;
}
/** From `start` up to `end`, which is not included and not before it. */
export interface RangeParams {
  start: PositionParams;
  end: PositionParams;
}
/** A place in a text: `line` from 0, `character` in UTF-16 code units from the line's beginning. */
export interface PositionParams {
  line: number;
  character: number;
}
/** `_sould/review/undo`: take the decisions about these hunks back. */
export interface UndoParams {
  cwd?: string | null;
  hunks: NamedHunk[];
}
/**
 * What a client answers to `_sould/review/write`: `written`, and whether it saved the file; or `outdated`: it has another version.
 *
 * `version`: of its buffer now; `text`: what it holds, when that is not what was to be written.
 */
export interface WriteResult {
  outcome: "written" | "outdated";
  saved?: boolean;
  version?: number | null;
  text?: string | null;
}

export const base: Reader<Base> = /* @__PURE__ */ shape(() => ({ path: text, text: nullable(text) }));
export const rejected: Reader<Rejected> = /* @__PURE__ */ shape(() => ({
  hunks: known(rejectedHunk),
  dropped: or(known(dropped), []),
  unsaved: or(known(left), []),
}));
export const rejectedHunk: Reader<RejectedHunk> = /* @__PURE__ */ shape(() => ({
  hunk: shownHunk,
  decision: or(nullable(shownDecision), null),
}));
export const shownHunk: Reader<ShownHunk> = /* @__PURE__ */ shape(() => ({
  id: number,
  digest: text,
  path: text,
  kind: oneOf(["add", "content", "delete", "line_ends", "mode", "rename", "text"], "content"),
  state: oneOf(
    ["absent", "ended", "kept", "pending", "rejected", "rejecting", "stale", "streaming", "undone"],
    "pending",
  ),
  start: number,
  baseStart: number,
  base: list(text),
  lines: list(shownLine),
  agents: list(shownAgent),
  before: or(text, ""),
  after: or(text, ""),
  committed: or(flag, false),
  unsure: or(flag, false),
  shownIn: or(text, ""),
  earlier: or(flag, false),
  beforeSize: or(nullable(number), null),
  afterSize: or(nullable(number), null),
  problems: or(list(text), []),
}));
export const shownLine: Reader<ShownLine> = /* @__PURE__ */ shape(() => ({
  text: text,
  author: oneOf(["agent", "mixed", "user"], "mixed"),
  agent: or(nullable(number), null),
}));
export const shownAgent: Reader<ShownAgent> = /* @__PURE__ */ shape(() => ({
  sessionId: text,
  turnId: text,
  toolCallId: text,
  subagent: or(text, ""),
  model: or(text, ""),
}));
export const shownDecision: Reader<ShownDecision> = /* @__PURE__ */ shape(() => ({
  id: number,
  path: text,
  verdict: oneOf(["keep", "reject", "undo"]),
  by: text,
  at: text,
  reason: or(text, ""),
  waits: or(flag, false),
}));
export const dropped: Reader<Dropped> = /* @__PURE__ */ shape(() => ({
  path: text,
  text: text,
  decision: or(nullable(shownDecision), null),
}));
export const left: Reader<Left> = /* @__PURE__ */ shape(() => ({ path: text, text: text, by: text, at: text }));
export const reviewChanged: Reader<ReviewChanged> = /* @__PURE__ */ shape(() => ({
  root: text,
  revision: number,
  files: or(known(shownFile), []),
  others: or(list(text), []),
  everything: or(flag, false),
  decisions: or(known(shownDecision), []),
  comments: or(nullable(known(shownComment)), null),
  round: or(nullable(shownRound), null),
}));
export const shownFile: Reader<ShownFile> = /* @__PURE__ */ shape(() => ({
  path: text,
  exists: flag,
  hunks: known(shownHunk),
  unsaved: or(flag, false),
  unsavedIn: or(list(text), []),
  isNew: or(flag, false),
  streaming: or(known(shownHunk), []),
}));
export const shownComment: Reader<ShownComment> = /* @__PURE__ */ shape(() => ({
  id: number,
  path: text,
  start: number,
  code: list(text),
  text: text,
  by: text,
  at: text,
  hunk: or(nullable(number), null),
}));
export const shownRound: Reader<ShownRound> = /* @__PURE__ */ shape(() => ({
  revision: number,
  sessionId: text,
  by: text,
  at: text,
}));
export const reviewList: Reader<ReviewList> = /* @__PURE__ */ shape(() => ({
  root: text,
  revision: number,
  files: known(shownFile),
  comments: or(known(shownComment), []),
  round: or(nullable(shownRound), null),
}));
export const reviewOutcome: Reader<ReviewOutcome> = /* @__PURE__ */ shape(() => ({
  done: known(doneHunk),
  left: known(leftHunk),
}));
export const doneHunk: Reader<DoneHunk> = /* @__PURE__ */ shape(() => ({
  id: number,
  path: text,
  verdict: oneOf(["keep", "reject", "undo"]),
  hunk: or(nullable(shownHunk), null),
  stayed: or(list(text), []),
  waits: or(flag, false),
  newFile: or(oneOf(["", "gone", "stays"]), ""),
  part: or(number, 0),
}));
export const leftHunk: Reader<LeftHunk> = /* @__PURE__ */ shape(() => ({
  id: number,
  path: text,
  why: oneOf(
    [
      "already_decided",
      "changed",
      "conflict",
      "failed",
      "hunk_stale",
      "needs_choice",
      "not_there",
      "shared",
      "still_streaming",
      "unknown",
      "unsure",
    ],
    "failed",
  ),
  message: text,
  present: or(nullable(shownHunk), null),
  mixed: or(list(text), []),
  choices: or(list(text), []),
  by: or(text, ""),
  at: or(text, ""),
  state: or(text, ""),
  canUndo: or(flag, false),
}));
export const sentComments: Reader<SentComments> = /* @__PURE__ */ shape(() => ({
  outcome: oneOf(["closed", "nothing", "returned", "sent"]),
  sessionId: or(text, ""),
  prompt: or(text, ""),
  round: or(nullable(shownRound), null),
}));
export const write: Reader<Write> = /* @__PURE__ */ shape(() => ({
  path: text,
  version: number,
  text: text,
  save: flag,
}));
