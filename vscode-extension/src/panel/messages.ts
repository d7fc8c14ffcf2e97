/**
 * What a panel may say: JSON-RPC 2.0 with methods of a fixed set, and parameters that are an object.
 *
 * A panel shows what models wrote, so nothing that it says is believed: what does not fit is dropped, and said in the log without its
 * contents.
 */
import * as z from "zod";

export type Id = string | number;
export type Params = Record<string, unknown>;

/** What is sent to a panel. */
export type Message =
  | { readonly jsonrpc: "2.0"; readonly method: string; readonly params: unknown }
  | { readonly jsonrpc: "2.0"; readonly id: Id; readonly method: string; readonly params: unknown }
  | { readonly jsonrpc: "2.0"; readonly id: Id; readonly result: unknown }
  | {
      readonly jsonrpc: "2.0";
      readonly id: Id;
      readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
    };

/** Requests that the daemon answers. */
const ASKED_OF_DAEMON = [
  "authenticate",
  "logout",
  "auth/status",
  "session/new",
  "session/load",
  "session/resume",
  "session/fork",
  "session/list",
  "session/delete",
  "session/close",
  "session/set_title",
  "session/set_mode",
  "session/set_config_option",
  "session/prompt",
  "_session/steering",
  "_sould/session/archive",
  "_sould/session/transcript",
  "_sould/session/search",
  "_sould/session/export",
  "_sould/session/context",
  "_sould/session/resources",
  "_sould/session/tasks",
  "_sould/session/tasks/stop",
  "_sould/session/tasks/output",
  "_sould/files/search",
  "_sould/queue",
  "_sould/queue/remove",
  "_sould/queue/edit",
  "_sould/queue/move",
  "_sould/timeline",
  "_sould/rewind",
  "_sould/undo",
  "_sould/redo",
  "_sould/review/list",
  "_sould/review/keep",
  "_sould/review/reject",
  "_sould/review/undo",
  "_sould/review/base",
  "_sould/inbox/list",
  "_sould/inbox/show",
  "_sould/inbox/answer",
] as const;

/** What this window does itself, also when it is sent as a notification. */
const ASKED_OF_WINDOW = [
  "initialize",
  "_panel/surroundings",
  "_panel/openFile",
  "_panel/pickFile",
  "_panel/findFiles",
  "_panel/problems",
  "_panel/symbols",
  "_panel/insert",
  "_panel/apply",
  "_panel/login",
  "_panel/review",
  "_panel/saveFile",
  "_panel/install",
] as const;

const DAEMON_IS_TOLD = ["session/cancel"] as const;
export const CANCEL = "$/cancel_request";

const id = z.union([z.string().max(200), z.number().int()]);
const params = z.record(z.string(), z.unknown()).default({});
const version = z.literal("2.0");
const meta = z.unknown().optional();

const requestOfDaemon = z.strictObject({ jsonrpc: version, id, method: z.enum(ASKED_OF_DAEMON), params });
const requestOfWindow = z.strictObject({ jsonrpc: version, id, method: z.enum(ASKED_OF_WINDOW), params });
const notification = z.strictObject({ jsonrpc: version, method: z.enum(DAEMON_IS_TOLD), params });
const notificationOfWindow = z.strictObject({ jsonrpc: version, method: z.enum(ASKED_OF_WINDOW), params });
const cancel = z.strictObject({
  jsonrpc: version,
  method: z.literal(CANCEL),
  params: z.strictObject({ requestId: id, _meta: meta }),
});
const answer = z.strictObject({ jsonrpc: version, id: z.string(), result: z.record(z.string(), z.unknown()) });
/** A panel cannot show what it was asked. */
const failure = z.strictObject({
  jsonrpc: version,
  id: z.string(),
  error: z.looseObject({ code: z.number(), message: z.string() }),
});

export type WindowMethod = (typeof ASKED_OF_WINDOW)[number];

export type Said =
  | ({ readonly kind: "request" } & z.infer<typeof requestOfDaemon>)
  | ({ readonly kind: "own" } & z.infer<typeof requestOfWindow>)
  | ({ readonly kind: "notification" } & z.infer<typeof notification>)
  | ({ readonly kind: "ownNotification" } & z.infer<typeof notificationOfWindow>)
  | ({ readonly kind: "cancel" } & z.infer<typeof cancel>)
  | ({ readonly kind: "answer" } & z.infer<typeof answer>)
  | ({ readonly kind: "failure" } & z.infer<typeof failure>);

const SHAPES = {
  request: requestOfDaemon,
  own: requestOfWindow,
  notification,
  ownNotification: notificationOfWindow,
  cancel,
  answer,
  failure,
} as const;

/** What a panel said; undefined when that is nothing it may say. */
export function read(data: unknown): Said | undefined {
  for (const [kind, shape] of Object.entries(SHAPES)) {
    const parsed = shape.safeParse(data);
    if (parsed.success) {
      return { kind, ...parsed.data } as Said;
    }
  }
  return undefined;
}
