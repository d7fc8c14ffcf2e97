// Written by scripts/protocol.mjs from docs/schemas/session; change the daemon's shapes, and run make schemas.
import { flag, known, list, nullable, number, numbers, object, oneOf, or, shape, text, type Reader } from "./readers";

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
/** The queue as it is now. `notWaiting`: the prompt was taken meanwhile. */
export interface ChangedQueue {
  outcome: "edited" | "moved" | "notWaiting" | "removed";
  prompts: QueuedPrompt[];
}
/** A prompt that waits for the running turn, the next one at `position` 1. `mine`: this client sent it. */
export interface QueuedPrompt {
  id: string;
  position: number;
  mine: boolean;
  prompt: {}[];
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
/** The next one first. The notification `_sould/queue` has the same. */
export interface Queue {
  prompts: QueuedPrompt[];
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
/** The oldest first. */
export interface ShownTimeline {
  moments: ShownMoment[];
  canUndo: boolean;
  canRedo: boolean;
}
/**
 * A checkpoint: before a turn (`text`: its prompt) or a step; or an `event`, such as a compaction, which nothing goes back to.
 *
 * `did`: titles of the calls after it; `files`: what these changed. `reachable`: `_sould/rewind` goes there now.
 */
export interface ShownMoment {
  kind: "event" | "step" | "turn";
  checkpoint: number;
  timestamp: number;
  text: string;
  did: string[];
  files: string[];
  reachable: boolean;
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
/** What became of going back, or forth. `nothing`: there was nowhere to go. */
export interface Travelled {
  outcome: "cancelled" | "done" | "nothing";
  files: TravelledFile[];
}
/**
 * What became of a file: `restored`, `created` or `deleted`; or left as it is, for `reason`: `conflict` or `kept`.
 *
 * `changes`: places that went back, `conflicts`: that could not; `kept`: lines where something stays that the user kept, or 0.
 */
export interface TravelledFile {
  path: string;
  action: string;
  reason: string;
  changes: number;
  kept: number[];
  conflicts: number;
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
export const changedQueue: Reader<ChangedQueue> = /* @__PURE__ */ shape(() => ({
  outcome: oneOf(["edited", "moved", "notWaiting", "removed"]),
  prompts: known(queuedPrompt),
}));
export const queuedPrompt: Reader<QueuedPrompt> = /* @__PURE__ */ shape(() => ({
  id: text,
  position: number,
  mine: flag,
  prompt: list(object),
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
export const queue: Reader<Queue> = /* @__PURE__ */ shape(() => ({ prompts: known(queuedPrompt) }));
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
export const shownTimeline: Reader<ShownTimeline> = /* @__PURE__ */ shape(() => ({
  moments: known(shownMoment),
  canUndo: flag,
  canRedo: flag,
}));
export const shownMoment: Reader<ShownMoment> = /* @__PURE__ */ shape(() => ({
  kind: oneOf(["event", "step", "turn"], "event"),
  checkpoint: number,
  timestamp: number,
  text: text,
  did: list(text),
  files: list(text),
  reachable: flag,
}));
export const taskOutput: Reader<TaskOutput> = /* @__PURE__ */ shape(() => ({ text: text }));
export const transcript: Reader<Transcript> = /* @__PURE__ */ shape(() => ({
  updates: known(shownUpdate),
  before: nullable(number),
  sequence: number,
}));
export const shownUpdate: Reader<ShownUpdate> = /* @__PURE__ */ shape(() => ({ sequence: number, update: object }));
export const travelled: Reader<Travelled> = /* @__PURE__ */ shape(() => ({
  outcome: oneOf(["cancelled", "done", "nothing"]),
  files: known(travelledFile),
}));
export const travelledFile: Reader<TravelledFile> = /* @__PURE__ */ shape(() => ({
  path: text,
  action: text,
  reason: or(text, ""),
  changes: or(number, 0),
  kept: or(list(number), []),
  conflicts: or(number, 0),
}));
