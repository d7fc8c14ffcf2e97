// Written by scripts/protocol.mjs from docs/schemas/session; change the daemon's shapes, and run it again.

/**
 * A place in a text: `line` from 0, `character` in UTF-16 code units from the line's beginning.
 */
export interface PositionParams {
  line: number;
  character: number;
}
/**
 * From `start` up to `end`, which is not included and not before it.
 */
export interface RangeParams {
  start: PositionParams;
  end: PositionParams;
}
/**
 * `_sould/session/apply`: `text` in the place of what stands in `range` of a file, or of all of it.
 *
 * `expected`: what stood there as the user saw it; where that is another text by now, nothing is written.
 */
export interface ApplyParams {
  sessionId: string;
  path: string;
  text: string;
  range?: RangeParams | null;
  expected?: string | null;
}
/**
 * `unchanged`: the file held exactly this already. `path`: resolved.
 */
export interface Applied {
  outcome: "applied" | "unchanged";
  path: string;
}
/**
 * `_sould/session/archive`: out of the lists, or back into them.
 */
export interface ArchiveParams {
  sessionId: string;
  archived?: boolean;
}
/**
 * Where a session is now.
 */
export interface Archived {
  archived: boolean;
}
/**
 * `_sould/session/commit_message`.
 */
export interface CommitMessageParams {
  sessionId: string;
}
/**
 * A subject, and perhaps a body behind an empty line.
 */
export interface CommitMessage {
  message: string;
}
/**
 * `_sould/session/context`.
 */
export interface ContextParams {
  sessionId: string;
}
/**
 * Tokens of the model's window. `counted`: its server has counted `used`, but for what was added since.
 *
 * How it divides is estimated. `asked`: what people said, with notes and summaries; `answered`: what the agent said and thought.
 */
export interface ContextBreakdown {
  used: number;
  window: number;
  counted: boolean;
  instructions: number;
  asked: number;
  answered: number;
  tools: ToolTokens[];
}
/**
 * What a tool, or with `server` all tools of an MCP server, take of the window; `calls`: those the model still remembers.
 *
 * `described`: tokens of what the model is told of them at each call; `used`: those of their calls and results.
 */
export interface ToolTokens {
  name: string;
  server: boolean;
  calls: number;
  described: number;
  used: number;
}
/**
 * `_sould/session/export`.
 */
export interface ExportParams {
  sessionId: string;
}
/**
 * A conversation as Markdown.
 */
export interface Exported {
  text: string;
}
/**
 * `_sould/session/import`: a new session in `cwd` with the conversation in the file `path`; of which `agent`, shows in it.
 */
export interface ImportParams {
  cwd: string;
  path: string;
  agent?: ("claude" | "codex" | "kimi") | null;
}
/**
 * The new session, from where it is (`source`), how many `messages` it has, and how much was passed over, by why.
 */
export interface Imported {
  sessionId: string;
  source: string;
  messages: number;
  skipped: {
    [k: string]: number;
  };
}
/**
 * `_sould/session/imports`: conversations about the directory `cwd` that other agents keep.
 */
export interface ImportsParams {
  cwd: string;
}
/**
 * Last used first.
 */
export interface KeptConversations {
  found: KeptElsewhere[];
}
/**
 * A conversation of another agent; `updated_at` in ISO 8601.
 */
export interface KeptElsewhere {
  agent: string;
  path: string;
  title: string;
  updatedAt: string;
}
/**
 * `_sould/session/resources`.
 */
export interface ResourcesParams {
  sessionId: string;
}
/**
 * By server, in its order; `partial`: there are more.
 */
export interface SessionResources {
  resources: MentionedResource[];
  partial: boolean;
}
/**
 * Something that an MCP server of the session offers: a `resource_link` with its `uri` in a prompt has it read.
 */
export interface MentionedResource {
  server: string;
  uri: string;
  name: string;
  description: string;
}
/**
 * `_sould/session/search`: sessions with every word of `query` in their title or in what was said; of the directory `cwd`, or all.
 */
export interface SearchParams {
  query: string;
  cwd?: string | null;
  limit?: number;
  archived?: boolean;
}
/**
 * Last used first.
 */
export interface FoundSessions {
  sessions: FoundSession[];
}
/**
 * A session that has the words; `snippet`: one line of what was said around them, or empty.
 */
export interface FoundSession {
  sessionId: string;
  cwd: string;
  title: string;
  updatedAt: string;
  archived: boolean;
  snippet: string;
}
/**
 * `_sould/session/tasks/stop`, `_sould/session/tasks/output`: of one background task.
 */
export interface TasksOutputParams {
  sessionId: string;
  id: string;
}
/**
 * The end of what a task has printed.
 */
export interface TaskOutput {
  text: string;
}
/**
 * `_sould/session/tasks`.
 */
export interface TasksParams {
  sessionId: string;
}
/**
 * All that are known, oldest first.
 */
export interface BackgroundTasks {
  tasks: BackgroundTask[];
}
/**
 * What goes on beside the turns, or did. `toolCallId`: the call that began a subagent; `message`: how it ended.
 */
export interface BackgroundTask {
  id: string;
  kind: "agent" | "shell";
  description: string;
  status: "completed" | "failed" | "lost" | "running" | "stopped" | "timed_out";
  message: string;
  startedAt: string;
  endedAt: string | null;
  toolCallId: string | null;
}
/**
 * `_sould/session/tasks/stop`, `_sould/session/tasks/output`: of one background task.
 */
export interface TasksStopParams {
  sessionId: string;
  id: string;
}
/**
 * `_sould/session/transcript`: the newest page, or the one that ends at `before`, which the page after it said.
 */
export interface TranscriptParams {
  sessionId: string;
  before?: number | null;
  limit?: number;
}
/**
 * A page of a conversation, oldest first.
 */
export interface Transcript {
  updates: ShownUpdate[];
  before: number | null;
  sequence: number;
}
/**
 * An update of the conversation, whole: as `session/update` has it, in its present state.
 */
export interface ShownUpdate {
  sequence: number;
  update: {};
}
