/**
 * What the daemon says below `_sould/review`, read once, where it arrives: from here on nothing is missing, and nothing is unknown.
 *
 * What has its default is left out on the wire. The types of docs/schemas/review, from which `review.ts` is written, decide what a
 * shape has: `Agreement` does not compile when one of them is another.
 */
import * as z from "zod";
import type { Agree, Agreed } from "./agreement";
import type * as wire from "./review";
import { knownOf, oneOf } from "./tolerant";

const agent = z.object({
  sessionId: z.string(),
  turnId: z.string(),
  toolCallId: z.string(),
  subagent: z.string().default(""),
  model: z.string().default(""),
});

const line = z.object({
  text: z.string(),
  author: oneOf(["agent", "mixed", "user"], "mixed"),
  agent: z.number().nullable().default(null),
});

const shownHunk = z.object({
  id: z.number(),
  digest: z.string(),
  path: z.string(),
  kind: oneOf(["add", "content", "delete", "line_ends", "mode", "rename", "text"], "content"),
  state: oneOf(
    ["absent", "ended", "kept", "pending", "rejected", "rejecting", "stale", "streaming", "undone"],
    "pending",
  ),
  start: z.number(),
  baseStart: z.number(),
  base: z.array(z.string()),
  lines: z.array(line),
  agents: z.array(agent),
  before: z.string().default(""),
  after: z.string().default(""),
  committed: z.boolean().default(false),
  unsure: z.boolean().default(false),
  shownIn: z.string().default(""),
  earlier: z.boolean().default(false),
  beforeSize: z.number().nullable().default(null),
  afterSize: z.number().nullable().default(null),
  problems: z.array(z.string()).default([]),
});

const shownFile = z.object({
  path: z.string(),
  exists: z.boolean(),
  hunks: z.array(shownHunk),
  unsaved: z.boolean().default(false),
  unsavedIn: z.array(z.string()).default([]),
  isNew: z.boolean().default(false),
  streaming: z.array(shownHunk).default([]),
});

const decision = z.object({
  id: z.number(),
  path: z.string(),
  verdict: z.enum(["keep", "reject", "undo"]),
  by: z.string(),
  at: z.string(),
  reason: z.string().default(""),
  waits: z.boolean().default(false),
});

const comment = z.object({
  id: z.number(),
  path: z.string(),
  start: z.number(),
  code: z.array(z.string()),
  text: z.string(),
  by: z.string(),
  at: z.string(),
  hunk: z.number().nullable().default(null),
});

const round = z.object({ revision: z.number(), sessionId: z.string(), by: z.string(), at: z.string() });

export const reviewList = z.object({
  root: z.string(),
  revision: z.number(),
  files: z.array(shownFile),
  comments: z.array(comment).default([]),
  round: round.nullable().default(null),
});

export const reviewChanged = z.object({
  root: z.string(),
  revision: z.number(),
  files: z.array(shownFile).default([]),
  others: z.array(z.string()).default([]),
  everything: z.boolean().default(false),
  decisions: knownOf(decision).default([]),
  comments: z.array(comment).nullable().default(null),
  round: round.nullable().default(null),
});

const done = z.object({
  id: z.number(),
  path: z.string(),
  verdict: z.enum(["keep", "reject", "undo"]),
  hunk: shownHunk.nullable().default(null),
  stayed: z.array(z.string()).default([]),
  waits: z.boolean().default(false),
  newFile: z.enum(["", "gone", "stays"]).default(""),
  part: z.number().default(0),
});

const left = z.object({
  id: z.number(),
  path: z.string(),
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
  message: z.string(),
  present: shownHunk.nullable().default(null),
  mixed: z.array(z.string()).default([]),
  choices: z.array(z.string()).default([]),
  by: z.string().default(""),
  at: z.string().default(""),
  state: z.string().default(""),
  canUndo: z.boolean().default(false),
});

const rejectedHunk = z.object({ hunk: shownHunk, decision: decision.nullable().default(null) });
/** Of the answer, what is shown here: texts of the user's that went otherwise are in `sould review` and in VS Code's own undo. */
export const rejected = z.object({ hunks: z.array(rejectedHunk) });
export const reviewOutcome = z.object({ done: z.array(done), left: z.array(left) });
export const base = z.object({ path: z.string(), text: z.string().nullable() });
export const sentComments = z.object({
  outcome: z.enum(["closed", "nothing", "returned", "sent"]),
  sessionId: z.string().default(""),
  prompt: z.string().default(""),
  round: round.nullable().default(null),
});
export const write = z.object({ path: z.string(), version: z.number(), text: z.string(), save: z.boolean() });

export type Hunk = z.infer<typeof shownHunk>;
export type FileReview = z.infer<typeof shownFile>;
export type Decision = z.infer<typeof decision>;
export type Comment = z.infer<typeof comment>;
export type ReviewList = z.infer<typeof reviewList>;
export type ReviewChanged = z.infer<typeof reviewChanged>;
export type ReviewOutcome = z.infer<typeof reviewOutcome>;
export type RejectedHunk = z.infer<typeof rejectedHunk>;
export type Left = z.infer<typeof left>;
export type Write = z.infer<typeof write>;
export type WriteResult = wire.WriteResult;

/** Each shape is as docs/schemas/review says it is. */
export type Agreement = Agreed<
  [
    Agree<typeof shownHunk, wire.ShownHunk>,
    Agree<typeof shownFile, wire.ShownFile>,
    Agree<typeof reviewList, wire.ReviewList>,
    Agree<typeof reviewChanged, wire.ReviewChanged>,
    Agree<typeof reviewOutcome, wire.ReviewOutcome>,
    Agree<typeof base, wire.Base>,
    Agree<typeof rejectedHunk, wire.RejectedHunk>,
    Agree<typeof sentComments, wire.SentComments>,
    Agree<typeof write, wire.Write>,
  ]
>;
