// Written by scripts/protocol.mjs from docs/schemas/inbox; change the daemon's shapes, and run it again.

export type JsonValue = unknown;

/**
 * To one question: labels of its options, words of the user's own where it takes them, or both; nothing of either skips it.
 */
export interface GivenAnswer {
  /**
   * @maxItems 100
   */
  chosen?: string[];
  words?: string;
}
/**
 * `_sould/inbox/answer`: what the user decided about the request `id`.
 *
 * `approve`, for a `scope` that the request offers; once also with another `text` for the command, or the one file that would be written.
 * `reject`, with `words` for the agent: without them its turn ends. `answer` has `answers` in the order of the questions, or of a
 * form `content`, its values by field; `dismiss` answers none, and is no "no": that is `decline`, of a form.
 */
export interface AnswerParams {
  id: string;
  decision: "approve" | "reject" | "answer" | "dismiss" | "decline";
  scope?: "once" | "session" | "session_also_changed" | "project" | "always";
  words?: string;
  text?: string | null;
  /**
   * @maxItems 100
   */
  answers?: GivenAnswer[];
  content?: {
    [k: string]: JsonValue;
  } | null;
}
/**
 * The answer to `answer`, a sentence of it in `message`. `taken`: yours is what counts, as `ended` says.
 *
 * `already_answered`: somebody was faster, as `ended` says. `ended`: it was cancelled with its turn, or what it was about changed.
 * `unknown`: nothing of this id waits, and it is not known that anything did.
 */
export interface Answered {
  outcome: "already_answered" | "ended" | "taken" | "unknown";
  message: string;
  ended?: EndedItem | null;
}
/**
 * A request that waits no more: `outcome`, by whom ("" when nobody answered) and when; `words` are what was said with it.
 */
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
  words?: string;
}
/**
 * The notification `_sould/inbox/changed`: what waits since the last one, or is another now, and what waits no more.
 *
 * `everything`: ask for the whole list again.
 */
export interface InboxChanged {
  items?: InboxItem[];
  ended?: EndedItem[];
  everything?: boolean;
}
/**
 * A request that nobody has answered.
 *
 * `title` is one line, `lines` the rest of it as text for a terminal, `more` how many of these were left out. `asker` is the
 * subagent that asks, "" for the agent itself. An approval has `scopes`; a `form` is a MCP server's, and the same as `questions`.
 */
export interface InboxItem {
  id: string;
  kind: "approval" | "form" | "question";
  session: InboxSession;
  since: string;
  title: string;
  lines?: string[];
  more?: number;
  asker?: string;
  toolCallId?: string;
  action?: string;
  commands?: AskedCommand[];
  edits?: AskedEdit[];
  scopes?: OfferedScope[];
  questions?: AskedQuestion[];
  form?: {};
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
  open?: boolean;
}
/**
 * A command, with each character that prints nothing as a mark; it runs in `directory`.
 */
export interface AskedCommand {
  command: string;
  directory: string;
  language?: string;
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
  beforeStart?: number;
  afterStart?: number;
  part?: boolean;
  isNew?: boolean;
  cut?: boolean;
}
/**
 * How far an approval may reach. `label` fits a button; `remembers` is a sentence about what is not asked again, "" for nothing.
 *
 * `project` and `always` outlive the session.
 */
export interface OfferedScope {
  scope: "always" | "once" | "project" | "session" | "session_also_changed";
  label: string;
  remembers?: string;
}
/**
 * One question. Without options it takes words, which may begin with `default`; `words`: what they are offered as beside options.
 */
export interface AskedQuestion {
  question: string;
  header?: string;
  body?: string;
  options?: AskedOption[];
  several?: boolean;
  words?: string;
  default?: string;
}
/**
 * One choice.
 */
export interface AskedOption {
  label: string;
  description?: string;
}
/**
 * `_sould/inbox/list`, `subscribe`, `unsubscribe`: of all projects.
 */
export interface ListParams {}
/**
 * The answer to `list`, and to `subscribe`: what waits longest first.
 */
export interface InboxList {
  items: InboxItem[];
}
/**
 * `_sould/inbox/show`: one request.
 */
export interface ShowParams {
  id: string;
}
/**
 * `_sould/inbox/list`, `subscribe`, `unsubscribe`: of all projects.
 */
export interface SubscribeParams {}
/**
 * `_sould/inbox/list`, `subscribe`, `unsubscribe`: of all projects.
 */
export interface UnsubscribeParams {}
/**
 * An answer that says only that it is done, or a notification that says all by its name.
 */
export interface Nothing {}
