/** What the daemon says below `_sould/inbox`, read once, where it arrives. See `shapes`. */
import * as z from "zod";
import type { Agree, Agreed } from "./agreement";
import type * as wire from "./inbox";
import { knownOf, oneOf } from "./tolerant";

const session = z.object({
  id: z.string(),
  title: z.string(),
  cwd: z.string(),
  project: z.string(),
  open: z.boolean().default(true),
});
const command = z.object({ command: z.string(), directory: z.string(), language: z.string().default("bash") });
const edit = z.object({
  path: z.string(),
  before: z.string(),
  after: z.string(),
  beforeStart: z.number().default(1),
  afterStart: z.number().default(1),
  part: z.boolean().default(false),
  isNew: z.boolean().default(false),
  cut: z.boolean().default(false),
});
const scope = z.object({
  scope: z.enum(["once", "session", "session_also_changed", "project", "always"]),
  label: z.string(),
  remembers: z.string().default(""),
});
const option = z.object({ label: z.string(), description: z.string().default("") });
const question = z.object({
  question: z.string(),
  header: z.string().default(""),
  body: z.string().default(""),
  options: z.array(option).default([]),
  several: z.boolean().default(false),
  words: z.string().default(""),
  default: z.string().default(""),
});

export const inboxItem = z.object({
  id: z.string(),
  /** Of an unknown kind: it can be shown, and nothing else. */
  kind: oneOf(["approval", "form", "question"], "unknown"),
  session,
  since: z.string(),
  title: z.string(),
  lines: z.array(z.string()).default([]),
  more: z.number().default(0),
  asker: z.string().default(""),
  toolCallId: z.string().default(""),
  action: z.string().default(""),
  commands: z.array(command).default([]),
  edits: z.array(edit).default([]),
  scopes: knownOf(scope).default([]),
  questions: z.array(question).default([]),
  form: z.object({}).default({}),
});

const ended = z.object({
  id: z.string(),
  sessionId: z.string(),
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
  by: z.string(),
  at: z.string(),
  words: z.string().default(""),
});

export const inboxList = z.object({ items: z.array(inboxItem) });
export const inboxChanged = z.object({
  items: z.array(inboxItem).default([]),
  ended: z.array(ended).default([]),
  everything: z.boolean().default(false),
});
export const answered = z.object({
  outcome: z.enum(["already_answered", "ended", "taken", "unknown"]),
  message: z.string(),
  ended: ended.nullable().default(null),
});

export type Item = z.infer<typeof inboxItem>;
export type AskedEdit = z.infer<typeof edit>;
export type Question = z.infer<typeof question>;
export type InboxChanged = z.infer<typeof inboxChanged>;

/** Each shape is as docs/schemas/inbox says it is. */
export type InboxAgreement = Agreed<
  [
    Agree<typeof inboxItem, wire.InboxItem>,
    Agree<typeof inboxList, wire.InboxList>,
    Agree<typeof inboxChanged, wire.InboxChanged>,
    Agree<typeof answered, wire.Answered>,
  ]
>;
