/**
 * What a session looks like: a fold over its updates. Pure, without a clock and without the DOM.
 *
 * Attaching is a snapshot and then what came live. An update that the snapshot had is left out by its number, so that the two may
 * overlap in any way. What is settled keeps its identity: a view that has drawn it need not look at it again.
 */
import { transcript } from "../../src/protocol/session";
import { number } from "./read";
import {
  readUpdate,
  type Block,
  type CallFields,
  type Command,
  type Content,
  type Exit,
  type Kind,
  type Location,
  type Option,
  type PlanStep,
  type RestoredFile,
  type Severity,
  type Status,
  type Update,
  type Usage,
} from "./updates";

export interface Call {
  readonly id: string;
  readonly title: string;
  readonly name: string;
  readonly kind: Kind;
  readonly status: Status;
  readonly content: readonly Content[];
  readonly locations: readonly Location[];
  readonly input: unknown;
  readonly output: unknown;
  /** The call for which a subagent makes this one; "" for the agent's own. */
  readonly parent: string;
  readonly terminal: boolean;
  /** What its terminal printed, escape sequences included; at most the end of it. */
  readonly printed: string;
  readonly exit: Exit | undefined;
  /** Of a restore of files: what became of each. */
  readonly files: readonly RestoredFile[];
}

export type Item =
  | { readonly kind: "user"; readonly key: string; readonly blocks: readonly Block[] }
  | { readonly kind: "agent"; readonly key: string; readonly blocks: readonly Block[] }
  | { readonly kind: "thought"; readonly key: string; readonly blocks: readonly Block[] }
  | { readonly kind: "call"; readonly key: string; readonly call: Call }
  /** A question on the side. `fresh`: it was asked since the panel was opened. */
  | {
      readonly kind: "aside";
      readonly key: string;
      readonly question: string;
      readonly answer: readonly Block[];
      readonly fresh: boolean;
    }
  | {
      readonly kind: "notice";
      readonly key: string;
      readonly severity: Severity;
      readonly title: string;
      readonly description: string;
      readonly review: boolean;
    }
  | {
      readonly kind: "compaction";
      readonly key: string;
      readonly status: string;
      readonly words: string;
      readonly summary: string;
    };

export interface Transcript {
  readonly items: readonly Item[];
  readonly plan: readonly PlanStep[];
  readonly title: string;
  readonly options: readonly Option[];
  readonly commands: readonly Command[];
  readonly usage: Usage | undefined;
  /** What the snapshot had: updates up to this number are in it. */
  readonly floor: number;
  /** What to ask for the page before; null at the beginning of the session. */
  readonly before: number | null;
}

/** `sequence` is undefined for what is no part of the history, such as the title. */
export interface Sequenced {
  readonly sequence: number | undefined;
  readonly update: Update;
}

/** The answer to `_sould/session/transcript`. */
export interface Page {
  readonly updates: readonly Sequenced[];
  readonly before: number | null;
  readonly sequence: number;
}

export const EMPTY: Transcript = {
  items: [],
  plan: [],
  title: "",
  options: [],
  commands: [],
  usage: undefined,
  floor: 0,
  before: null,
};

/** What a question on the side begins with. */
export const ASIDE = /^\/btw\s+/;

/** Characters that are kept of what a terminal printed. */
const MOST_PRINTED = 200_000;

export function readPage(raw: unknown): Page {
  const page = transcript(raw) ?? { updates: [], before: null, sequence: 0 };
  const updates = page.updates.map(({ update, sequence }) => readSequenced(update, sequence));
  return { ...page, updates: updates.filter((each) => each !== undefined) };
}

export function readSequenced(update: unknown, sequence: unknown): Sequenced | undefined {
  const known = readUpdate(update);
  return known && { sequence: number(sequence), update: known };
}

/** A snapshot, and what came live since it was asked for, in the order in which it came. */
export function attach(known: Transcript, page: Page, live: readonly Sequenced[]): Transcript {
  const { title, options, commands, usage } = known;
  const items = draw([], page.updates, false);
  const plan = lastPlan(page.updates) ?? [];
  return apply({ items, plan, title, options, commands, usage, floor: page.sequence, before: page.before }, live);
}

/** More updates, in their order. */
export function apply(transcript: Transcript, updates: readonly Sequenced[]): Transcript {
  const fresh = updates.filter((each) => each.sequence === undefined || each.sequence > transcript.floor);
  if (fresh.length === 0) {
    return transcript;
  }
  let next = { ...transcript, items: draw(transcript.items, fresh, true), plan: lastPlan(fresh) ?? transcript.plan };
  for (const { update } of fresh) {
    next = { ...next, ...facts(update) };
  }
  return next;
}

/** The page before what is there. Its plan is history. Of a call that goes on below, it knows the beginning. */
export function prepend(transcript: Transcript, page: Page): Transcript {
  const whole = new Set(
    transcript.items
      .filter(
        (item) => (item.kind !== "call" || item.call.title !== "") && (item.kind !== "aside" || item.question !== ""),
      )
      .map((item) => item.key),
  );
  const older = draw([], page.updates, false)
    .map((item) => answered(item, transcript.items))
    .filter((item) => !whole.has(item.key));
  const added = new Set(older.map((item) => item.key));
  const items = [...older, ...transcript.items.filter((item) => !added.has(item.key))];
  return { ...transcript, items, before: page.before };
}

function lastPlan(updates: readonly Sequenced[]): readonly PlanStep[] | undefined {
  const found = updates.findLast((each) => each.update.type === "plan");
  return found?.update.type === "plan" ? found.update.steps : undefined;
}

function facts(update: Update): Partial<Pick<Transcript, "title" | "options" | "commands" | "usage">> {
  if (update.type === "title") {
    return { title: update.title };
  }
  if (update.type === "options") {
    return { options: update.options };
  }
  if (update.type === "commands") {
    return { commands: update.commands };
  }
  return update.type === "usage" ? { usage: update.usage } : {};
}

/** A question whose answer stands on a newer page has it. */
function answered(item: Item, newer: readonly Item[]): Item {
  const other = item.kind === "aside" ? newer.find((each) => each.key === item.key) : undefined;
  return item.kind === "aside" && other?.kind === "aside"
    ? { ...item, answer: [...item.answer, ...other.answer] }
    : item;
}

/** `live`: they are no history. */
function draw(before: readonly Item[], updates: readonly Sequenced[], live: boolean): readonly Item[] {
  const items = [...before];
  for (const { update, sequence } of updates) {
    if (update.type === "chunk") {
      addChunk(items, update, sequence);
    } else if (update.type === "aside") {
      addAside(items, update, live);
    } else if (update.type === "call") {
      addCall(items, update.fields);
    } else if (update.type === "notice") {
      const { severity, title, description, review } = update;
      items.push({
        kind: "notice",
        key: `notice:${sequence ?? ""}:${items.length}`,
        severity,
        title,
        description,
        review,
      });
    } else if (update.type === "compaction") {
      addCompaction(items, update);
    }
  }
  return items;
}

function place(items: readonly Item[], key: string): number {
  return items.findLastIndex((item) => item.key === key);
}

function addChunk(items: Item[], update: Update & { type: "chunk" }, sequence: number | undefined): void {
  const last = items.at(-1);
  const unnamed = last?.kind === update.of ? last.key : `${update.of}:at ${sequence ?? items.length}`;
  const key = update.message === "" ? unnamed : `${update.of}:${update.message}`;
  const at = place(items, key);
  const item = items[at];
  if (item?.kind === update.of) {
    items[at] = { ...item, blocks: joined(item.blocks, update.block) };
  } else {
    items.push({ kind: update.of, key, blocks: [update.block] });
  }
}

function addAside(items: Item[], { id, of, block }: Update & { type: "aside" }, fresh: boolean): void {
  const key = `aside:${id}`;
  const at = place(items, key);
  const item = items[at];
  const before = item?.kind === "aside" ? item : { kind: "aside" as const, key, question: "", answer: [], fresh };
  const words = block.type === "text" ? block.text : "";
  const after =
    of === "user"
      ? { ...before, question: (before.question + words).replace(ASIDE, "") }
      : { ...before, answer: joined(before.answer, block) };
  if (at < 0) {
    items.push(after);
  } else {
    items[at] = after;
  }
}

/** Text that follows text is the same text. */
function joined(blocks: readonly Block[], block: Block): readonly Block[] {
  const last = blocks.at(-1);
  if (block.type === "text" && last?.type === "text") {
    return [...blocks.slice(0, -1), { type: "text", text: last.text + block.text }];
  }
  return [...blocks, block];
}

function addCall(items: Item[], fields: CallFields): void {
  const key = `call:${fields.id}`;
  const at = place(items, key);
  const item = items[at];
  if (item?.kind === "call") {
    items[at] = { ...item, call: changed(item.call, fields) };
  } else {
    items.push({ kind: "call", key, call: changed(unknownCall(fields.id), fields) });
  }
}

function unknownCall(id: string): Call {
  return {
    id,
    title: "",
    name: "",
    kind: "other",
    status: "pending",
    content: [],
    locations: [],
    input: undefined,
    output: undefined,
    parent: "",
    terminal: false,
    printed: "",
    exit: undefined,
    files: [],
  };
}

function changed(call: Call, fields: CallFields): Call {
  const printed = fields.printed === undefined ? call.printed : (call.printed + fields.printed).slice(-MOST_PRINTED);
  return { ...call, ...fields, printed };
}

function addCompaction(items: Item[], update: Update & { type: "compaction" }): void {
  const key = `compaction:${update.id}`;
  const at = place(items, key);
  const { status, words, summary } = update;
  const item: Item = { kind: "compaction", key, status, words, summary };
  if (at < 0) {
    items.push(item);
  } else {
    items[at] = item;
  }
}
