/**
 * The updates of a session as the transcript takes them: ACP's `session/update`, read once. What is not known is left out, so that a
 * newer daemon shows less, not nothing. Pure.
 */
import * as l10n from "@vscode/l10n";
import { has, list, number, object, oneOf, own, text, type Json } from "./read";

export type Block =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "audio"; readonly data: string; readonly mimeType: string }
  | { readonly type: "link"; readonly uri: string; readonly name: string }
  | { readonly type: "resource"; readonly uri: string; readonly text: string };

/** Lines of the old text that became lines of the new one, from 0, the ends not included. */
export type Edit = readonly [oldStart: number, oldEnd: number, newStart: number, newEnd: number];

export type Content =
  | { readonly type: "block"; readonly block: Block }
  | {
      readonly type: "diff";
      readonly path: string;
      readonly oldText: string;
      readonly newText: string;
      readonly isNew: boolean;
      /** Which lines changed, as the daemon says; undefined where it does not. */
      readonly edits?: readonly Edit[];
    }
  | { readonly type: "terminal"; readonly id: string };

const STATUSES = ["pending", "in_progress", "completed", "failed"] as const;
const KINDS = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other",
] as const;
const SEVERITIES = ["info", "warning", "error"] as const;
const STEPS = ["pending", "in_progress", "completed"] as const;

export type Status = (typeof STATUSES)[number];
export type Kind = (typeof KINDS)[number];
export type Severity = (typeof SEVERITIES)[number];

export interface Location {
  readonly path: string;
  readonly line: number | undefined;
}

export interface Exit {
  readonly code: number | undefined;
  readonly signal: string;
}

/** A file that a restore brought back, or left. */
export interface RestoredFile {
  readonly path: string;
  readonly action: string;
  readonly reason: string;
}

/** What an update says of a call; what it does not say stays as it was. */
export interface CallFields {
  readonly id: string;
  readonly title?: string;
  readonly name?: string;
  readonly kind?: Kind;
  readonly status?: Status;
  readonly content?: readonly Content[];
  readonly locations?: readonly Location[];
  readonly input?: unknown;
  readonly output?: unknown;
  readonly parent?: string;
  /** It has a display terminal from here on. */
  readonly terminal?: boolean;
  /** More that its terminal printed. */
  readonly printed?: string;
  readonly exit?: Exit;
  readonly files?: readonly RestoredFile[];
}

export interface PlanStep {
  readonly content: string;
  readonly status: (typeof STEPS)[number];
}

interface Choice {
  readonly value: string;
  readonly name: string;
  readonly description: string;
}

export interface Option {
  readonly id: string;
  readonly name: string;
  readonly category: string;
  readonly description: string;
  readonly value: string;
  readonly choices: readonly Choice[];
}

export interface Command {
  readonly name: string;
  readonly description: string;
  readonly hint: string;
}

export interface Usage {
  readonly used: number;
  readonly size: number;
  readonly cost: { readonly amount: number; readonly currency: string } | undefined;
}

export type Update =
  | {
      readonly type: "chunk";
      readonly of: "user" | "agent" | "thought";
      readonly message: string;
      readonly block: Block;
    }
  /** A question on the side, or its answer, which the agent does not remember. */
  | { readonly type: "aside"; readonly id: string; readonly of: "user" | "agent"; readonly block: Block }
  | { readonly type: "call"; readonly opened: boolean; readonly fields: CallFields }
  | { readonly type: "plan"; readonly steps: readonly PlanStep[] }
  | {
      readonly type: "notice";
      readonly severity: Severity;
      readonly title: string;
      readonly description: string;
      readonly review: boolean;
    }
  | {
      readonly type: "compaction";
      readonly id: string;
      readonly status: string;
      readonly words: string;
      readonly summary: string;
    }
  | { readonly type: "title"; readonly title: string }
  | { readonly type: "options"; readonly options: readonly Option[] }
  | { readonly type: "commands"; readonly commands: readonly Command[] }
  | { readonly type: "usage"; readonly usage: Usage };

const AUTHORS: Readonly<Record<string, "user" | "agent" | "thought">> = {
  user_message_chunk: "user",
  agent_message_chunk: "agent",
  agent_thought_chunk: "thought",
};

/** Undefined for what the panel does not show. */
export function readUpdate(raw: unknown): Update | undefined {
  const update = object(raw);
  const kind = text(update["sessionUpdate"]);
  const of = AUTHORS[kind];
  if (of !== undefined) {
    const block = readBlock(update["content"]);
    const aside = text(own(update)["sideQuestion"]);
    if (aside !== "" && of !== "thought") {
      return block && { type: "aside", id: aside, of, block };
    }
    return block && { type: "chunk", of, message: text(update["messageId"]), block };
  }
  switch (kind) {
    case "tool_call":
    case "tool_call_update":
      return { type: "call", opened: kind === "tool_call", fields: readCall(update) };
    case "plan":
      return { type: "plan", steps: list(update["entries"]).map(object).map(readStep) };
    case "notice":
      return readNotice(update);
    case "compaction_update":
      return readCompaction(update);
    case "session_info_update":
      return has(update, "title") ? { type: "title", title: text(update["title"]) } : undefined;
    case "config_option_update":
      return { type: "options", options: readOptions(update["configOptions"]) };
    case "available_commands_update":
      return { type: "commands", commands: list(update["availableCommands"]).map(object).map(readCommand) };
    case "usage_update":
      return readUsage(update);
    default:
      return undefined;
  }
}

export function readBlock(raw: unknown): Block | undefined {
  const block = object(raw);
  switch (block["type"]) {
    case "text":
      return { type: "text", text: text(block["text"]) };
    case "image":
    case "audio":
      return { type: block["type"], data: text(block["data"]), mimeType: text(block["mimeType"]) };
    case "resource_link":
      return {
        type: "link",
        uri: text(block["uri"]),
        name: text(block["title"]) || text(block["name"]) || text(block["uri"]),
      };
    case "resource": {
      const resource = object(block["resource"]);
      return { type: "resource", uri: text(resource["uri"]), text: text(resource["text"]) };
    }
    default:
      return undefined;
  }
}

export function readCall(raw: Json): CallFields {
  const meta = object(raw["_meta"]);
  const exit = object(meta["terminal_exit"]);
  const parent = text(own(raw)["parentToolCallId"]);
  const content = list(raw["content"])
    .map(readContent)
    .filter((each) => each !== undefined);
  return {
    id: text(raw["toolCallId"]),
    ...(typeof raw["title"] === "string" && { title: raw["title"] }),
    ...(typeof raw["name"] === "string" && { name: raw["name"] }),
    ...(has(raw, "kind") && { kind: oneOf(raw["kind"], KINDS, "other") }),
    ...(has(raw, "status") && { status: oneOf(raw["status"], STATUSES, "pending") }),
    ...(Array.isArray(raw["content"]) && { content }),
    ...(Array.isArray(raw["locations"]) && { locations: list(raw["locations"]).map(object).map(readLocation) }),
    ...(has(raw, "rawInput") && { input: raw["rawInput"] }),
    ...(has(raw, "rawOutput") && { output: raw["rawOutput"] }),
    ...(parent !== "" && { parent }),
    ...((has(meta, "terminal_info") || content.some((each) => each.type === "terminal")) && { terminal: true }),
    ...(has(meta, "terminal_output") && { printed: text(object(meta["terminal_output"])["data"]) }),
    ...(has(meta, "terminal_exit") && { exit: { code: number(exit["exit_code"]), signal: text(exit["signal"]) } }),
    ...(Array.isArray(own(raw)["files"]) && { files: list(own(raw)["files"]).map(object).map(readRestored) }),
  };
}

export function readOptions(raw: unknown): readonly Option[] {
  return list(raw)
    .map(object)
    .map((option) => ({
      id: text(option["id"]),
      name: text(option["name"]),
      category: text(option["category"]),
      description: text(option["description"]),
      value: text(option["currentValue"]),
      choices: list(option["options"])
        .map(object)
        .map((choice) => ({
          value: text(choice["value"]),
          name: text(choice["name"]) || text(choice["value"]),
          description: text(choice["description"]),
        })),
    }));
}

function readContent(raw: unknown): Content | undefined {
  const content = object(raw);
  switch (content["type"]) {
    case "content": {
      const block = readBlock(content["content"]);
      return block && { type: "block", block };
    }
    case "diff":
      return {
        type: "diff",
        path: text(content["path"]),
        oldText: text(content["oldText"]),
        newText: text(content["newText"]),
        isNew: typeof content["oldText"] !== "string",
        ...(Array.isArray(own(content)["edits"]) && { edits: list(own(content)["edits"]).map(readEdit) }),
      };
    case "terminal":
      return { type: "terminal", id: text(content["terminalId"]) };
    default:
      return undefined;
  }
}

function readEdit(raw: unknown): Edit {
  const [oldStart, oldEnd, newStart, newEnd] = list(raw).map((each) => number(each) ?? NaN);
  return [oldStart ?? NaN, oldEnd ?? NaN, newStart ?? NaN, newEnd ?? NaN];
}

function readLocation(raw: Json): Location {
  return { path: text(raw["path"]), line: number(raw["line"]) };
}

function readRestored(raw: Json): RestoredFile {
  return { path: text(raw["path"]), action: text(raw["action"]), reason: text(raw["reason"]) };
}

function readStep(raw: Json): PlanStep {
  return { content: text(raw["content"]), status: oneOf(raw["status"], STEPS, "pending") };
}

function readNotice(raw: Json): Update {
  return {
    type: "notice",
    severity: oneOf(raw["severity"], SEVERITIES, "info"),
    title: text(raw["title"], l10n.t("Notice")),
    description: text(raw["description"]),
    review: has(own(raw), "review"),
  };
}

function readCompaction(raw: Json): Update {
  const about = own(raw);
  const [before, after] = [number(about["tokens_before"]), number(about["tokens_after"])];
  const sizes = before !== undefined && after !== undefined ? l10n.t("{0} → {1} tokens.", before, after) : "";
  const summary = list(raw["summary"])
    .map(object)
    .map((block) => text(block["text"]))
    .join("\n");
  const words = text(raw["error"]) || [sizes, text(about["note"])].filter(Boolean).join(" ");
  return { type: "compaction", id: text(raw["compactionId"]), status: text(raw["status"]), words, summary };
}

function readCommand(raw: Json): Command {
  return { name: text(raw["name"]), description: text(raw["description"]), hint: text(object(raw["input"])["hint"]) };
}

function readUsage(raw: Json): Update {
  const cost = object(raw["cost"]);
  const amount = number(cost["amount"]);
  return {
    type: "usage",
    usage: {
      used: number(raw["used"]) ?? 0,
      size: number(raw["size"]) ?? 0,
      cost: amount === undefined ? undefined : { amount, currency: text(cost["currency"], "USD") },
    },
  };
}
