// Written by scripts/protocol.mjs from docs/schemas/session; change the daemon's shapes, and run make schemas.
import { flag, known, nullable, number, numbers, object, oneOf, shape, text, type Reader } from "./readers";

/** All that are known, oldest first. */
export interface BackgroundTasks {
  tasks: BackgroundTask[];
}
/** What goes on beside the turns, or did. `toolCallId`: the call that began a subagent; `message`: how it ended. */
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
/** A subject, and perhaps a body behind an empty line. */
export interface CommitMessage {
  message: string;
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
/** A conversation as Markdown. */
export interface Exported {
  text: string;
}
/** The new session, from where it is (`source`), how many `messages` it has, and how much was passed over, by why. */
export interface Imported {
  sessionId: string;
  source: string;
  messages: number;
  skipped: {
    [k: string]: number;
  };
}
/** Last used first. */
export interface KeptConversations {
  found: KeptElsewhere[];
}
/** A conversation of another agent; `updated_at` in ISO 8601. */
export interface KeptElsewhere {
  agent: string;
  path: string;
  title: string;
  updatedAt: string;
}
/** By server, in its order; `partial`: there are more. */
export interface SessionResources {
  resources: MentionedResource[];
  partial: boolean;
}
/** Something that an MCP server of the session offers: a `resource_link` with its `uri` in a prompt has it read. */
export interface MentionedResource {
  server: string;
  uri: string;
  name: string;
  description: string;
}
/** The end of what a task has printed. */
export interface TaskOutput {
  text: string;
}
/** A page of a conversation, oldest first. */
export interface Transcript {
  updates: ShownUpdate[];
  before: number | null;
  sequence: number;
}
/** An update of the conversation, whole: as `session/update` has it, in its present state. */
export interface ShownUpdate {
  sequence: number;
  update: {
    [k: string]: unknown;
  };
}

export const backgroundTasks: Reader<BackgroundTasks> = /* @__PURE__ */ shape(() => ({ tasks: known(backgroundTask) }));
export const backgroundTask: Reader<BackgroundTask> = /* @__PURE__ */ shape(() => ({
  id: text,
  kind: oneOf(["agent", "shell"], "shell"),
  description: text,
  status: oneOf(["completed", "failed", "lost", "running", "stopped", "timed_out"], "lost"),
  message: text,
  startedAt: text,
  endedAt: nullable(text),
  toolCallId: nullable(text),
}));
export const commitMessage: Reader<CommitMessage> = /* @__PURE__ */ shape(() => ({ message: text }));
export const contextBreakdown: Reader<ContextBreakdown> = /* @__PURE__ */ shape(() => ({
  used: number,
  window: number,
  counted: flag,
  instructions: number,
  asked: number,
  answered: number,
  tools: known(toolTokens),
}));
export const toolTokens: Reader<ToolTokens> = /* @__PURE__ */ shape(() => ({
  name: text,
  server: flag,
  calls: number,
  described: number,
  used: number,
}));
export const exported: Reader<Exported> = /* @__PURE__ */ shape(() => ({ text: text }));
export const imported: Reader<Imported> = /* @__PURE__ */ shape(() => ({
  sessionId: text,
  source: text,
  messages: number,
  skipped: numbers,
}));
export const keptConversations: Reader<KeptConversations> = /* @__PURE__ */ shape(() => ({
  found: known(keptElsewhere),
}));
export const keptElsewhere: Reader<KeptElsewhere> = /* @__PURE__ */ shape(() => ({
  agent: text,
  path: text,
  title: text,
  updatedAt: text,
}));
export const sessionResources: Reader<SessionResources> = /* @__PURE__ */ shape(() => ({
  resources: known(mentionedResource),
  partial: flag,
}));
export const mentionedResource: Reader<MentionedResource> = /* @__PURE__ */ shape(() => ({
  server: text,
  uri: text,
  name: text,
  description: text,
}));
export const taskOutput: Reader<TaskOutput> = /* @__PURE__ */ shape(() => ({ text: text }));
export const transcript: Reader<Transcript> = /* @__PURE__ */ shape(() => ({
  updates: known(shownUpdate),
  before: nullable(number),
  sequence: number,
}));
export const shownUpdate: Reader<ShownUpdate> = /* @__PURE__ */ shape(() => ({ sequence: number, update: object }));
