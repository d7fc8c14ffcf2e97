// Written by scripts/protocol.mjs from docs/schemas/inbox; change the daemon's shapes, and run make schemas.
import { flag, known, list, nullable, number, object, oneOf, or, shape, text, type Reader } from "./readers";

export type JsonValue = unknown;

/**
 * The answer to `answer`, a sentence of it in `message`. `taken`: yours is what counts, as `ended` says.
 *
 * `already_answered`: somebody was faster, as `ended` says. `ended`: it was cancelled with its turn, or what it was about changed.
 * `unknown`: nothing of this id waits, and it is not known that anything did.
 */
export interface Answered {
  outcome: "already_answered" | "ended" | "taken" | "unknown";
  message: string;
  ended: EndedItem | null;
}
/** A request that waits no more: `outcome`, by whom ("" when nobody answered) and when; `words` are what was said with it. */
export interface EndedItem {
  id: string;
  sessionId: string;
  outcome:
    | "answered"
    | "approved"
    | "approved_always"
    | "approved_for_project"
    | "approved_for_session"
    | "cancelled"
    | "declined"
    | "dismissed"
    | "expired"
    | "rejected";
  by: string;
  at: string;
  words: string;
}
/**
 * The notification `_sould/inbox/changed`: what waits since the last one, or is another now, and what waits no more.
 *
 * `everything`: ask for the whole list again.
 */
export interface InboxChanged {
  items: InboxItem[];
  ended: EndedItem[];
  everything: boolean;
}
/**
 * A request that nobody has answered.
 *
 * `title` is one line, `lines` the rest of it as text for a terminal, `more` how many of these were left out. `asker` is the
 * subagent that asks, "" for the agent itself. An approval has `scopes`; a `form` is a MCP server's, and the same as `questions`.
 */
export interface InboxItem {
  id: string;
  kind: "approval" | "form" | "question" | "unknown";
  session: InboxSession;
  since: string;
  title: string;
  lines: string[];
  more: number;
  asker: string;
  toolCallId: string;
  action: string;
  commands: AskedCommand[];
  edits: AskedEdit[];
  scopes: OfferedScope[];
  questions: AskedQuestion[];
  form: {
    [k: string]: unknown;
  };
}
/**
 * Who asks. `project` is the root of the project of its directory `cwd`.
 *
 * `open` false: nobody has opened it since sould was restarted. The answer does so, with the environment of who answers.
 */
export interface InboxSession {
  id: string;
  title: string;
  cwd: string;
  project: string;
  open: boolean;
}
/** A command, with each character that prints nothing as a mark; it runs in `directory`. */
export interface AskedCommand {
  command: string;
  directory: string;
  language: string;
}
/**
 * A change of a file. `part`: the texts are only parts of it, from these lines on, counted from 1.
 *
 * `cut`: the texts are too long for a list; `show` has them.
 */
export interface AskedEdit {
  path: string;
  before: string;
  after: string;
  beforeStart: number;
  afterStart: number;
  part: boolean;
  isNew: boolean;
  cut: boolean;
}
/**
 * How far an approval may reach. `label` fits a button; `remembers` is a sentence about what is not asked again, "" for nothing.
 *
 * `project` and `always` outlive the session.
 */
export interface OfferedScope {
  scope: "always" | "once" | "project" | "session" | "session_also_changed";
  label: string;
  remembers: string;
}
/** One question. Without options it takes words, which may begin with `default`; `words`: what they are offered as beside options. */
export interface AskedQuestion {
  question: string;
  header: string;
  body: string;
  options: AskedOption[];
  several: boolean;
  words: string;
  default: string;
}
/** One choice. */
export interface AskedOption {
  label: string;
  description: string;
}
/** The answer to `list`, and to `subscribe`: what waits longest first. */
export interface InboxList {
  items: InboxItem[];
}
/**
 * `_sould/inbox/answer`: what the user decided about the request `id`.
 *
 * `approve`, for a `scope` that the request offers; once also with another `text` for the command, or the one file that would be written.
 * `reject`, with `words` for the agent: without them its turn ends. Those of an approval reach it with the call's result.
 * `answer` has `answers` in the order of the questions, or of a form `content`, its values by field; `dismiss` answers none,
 * and is no "no": that is `decline`, of a form.
 */
export interface AnswerParams {
  id: string;
  decision: "approve" | "reject" | "answer" | "dismiss" | "decline";
  scope?: "once" | "session" | "session_also_changed" | "project" | "always";
  words?: string;
  text?: string | null;
  answers?: GivenAnswer[];
  content?: {
    [k: string]: JsonValue;
  } | null;
}
/** To one question: labels of its options, words of the user's own where it takes them, or both; nothing of either skips it. */
export interface GivenAnswer {
  chosen?: string[];
  words?: string;
}

export const answered: Reader<Answered> = /* @__PURE__ */ shape(() => ({
  outcome: oneOf(["already_answered", "ended", "taken", "unknown"]),
  message: text,
  ended: or(nullable(endedItem), null),
}));
export const endedItem: Reader<EndedItem> = /* @__PURE__ */ shape(() => ({
  id: text,
  sessionId: text,
  outcome: oneOf(
    [
      "answered",
      "approved",
      "approved_always",
      "approved_for_project",
      "approved_for_session",
      "cancelled",
      "declined",
      "dismissed",
      "expired",
      "rejected",
    ],
    "answered",
  ),
  by: text,
  at: text,
  words: or(text, ""),
}));
export const inboxChanged: Reader<InboxChanged> = /* @__PURE__ */ shape(() => ({
  items: or(known(inboxItem), []),
  ended: or(known(endedItem), []),
  everything: or(flag, false),
}));
export const inboxItem: Reader<InboxItem> = /* @__PURE__ */ shape(() => ({
  id: text,
  kind: oneOf(["approval", "form", "question"], "unknown"),
  session: inboxSession,
  since: text,
  title: text,
  lines: or(list(text), []),
  more: or(number, 0),
  asker: or(text, ""),
  toolCallId: or(text, ""),
  action: or(text, ""),
  commands: or(list(askedCommand), []),
  edits: or(list(askedEdit), []),
  scopes: or(known(offeredScope), []),
  questions: or(list(askedQuestion), []),
  form: or(object, {}),
}));
export const inboxSession: Reader<InboxSession> = /* @__PURE__ */ shape(() => ({
  id: text,
  title: text,
  cwd: text,
  project: text,
  open: or(flag, true),
}));
export const askedCommand: Reader<AskedCommand> = /* @__PURE__ */ shape(() => ({
  command: text,
  directory: text,
  language: or(text, "bash"),
}));
export const askedEdit: Reader<AskedEdit> = /* @__PURE__ */ shape(() => ({
  path: text,
  before: text,
  after: text,
  beforeStart: or(number, 1),
  afterStart: or(number, 1),
  part: or(flag, false),
  isNew: or(flag, false),
  cut: or(flag, false),
}));
export const offeredScope: Reader<OfferedScope> = /* @__PURE__ */ shape(() => ({
  scope: oneOf(["always", "once", "project", "session", "session_also_changed"]),
  label: text,
  remembers: or(text, ""),
}));
export const askedQuestion: Reader<AskedQuestion> = /* @__PURE__ */ shape(() => ({
  question: text,
  header: or(text, ""),
  body: or(text, ""),
  options: or(known(askedOption), []),
  several: or(flag, false),
  words: or(text, ""),
  default: or(text, ""),
}));
export const askedOption: Reader<AskedOption> = /* @__PURE__ */ shape(() => ({
  label: text,
  description: or(text, ""),
}));
export const inboxList: Reader<InboxList> = /* @__PURE__ */ shape(() => ({ items: known(inboxItem) }));
