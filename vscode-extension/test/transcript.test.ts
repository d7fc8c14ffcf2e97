/** The panel's transcript: a snapshot and what came live, in any overlap, are the same session. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rowsOf, summary } from "../panel/session/rows";
import {
  apply,
  attach,
  EMPTY,
  prepend,
  readPage,
  readSequenced,
  type Page,
  type Sequenced,
} from "../panel/session/transcript";

type Raw = Readonly<Record<string, unknown>>;

const chunk = (kind: string, id: string, text: string): Raw => ({
  sessionUpdate: kind,
  messageId: id,
  content: { type: "text", text },
});
const sequenced = (raw: Raw, sequence: number): Sequenced =>
  readSequenced(raw, sequence) ?? { sequence, update: { type: "title", title: "?" } };
const text = (transcript: ReturnType<typeof attach>): string =>
  transcript.items
    .map((item) =>
      item.kind === "call" ? `[${item.call.title} ${item.call.status} ${item.call.printed}]` : JSON.stringify(item),
    )
    .join("\n");

/** Messages, thoughts and calls as a daemon tells them: text in pieces, calls opened, printing, ended. */
const story = fc
  .array(
    fc.oneof(
      fc.record({
        type: fc.constantFrom("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"),
        pieces: fc.array(fc.string(), { minLength: 1, maxLength: 4 }),
      }),
      fc.record({ type: fc.constant("call"), pieces: fc.array(fc.string(), { maxLength: 3 }) }),
    ),
    { maxLength: 8 },
  )
  .map((parts) =>
    parts.flatMap(({ type, pieces }, at): Raw[] => {
      if (type !== "call") {
        return pieces.map((piece) => chunk(type, `m${at}`, piece));
      }
      const id = `c${at}`;
      return [
        { sessionUpdate: "tool_call", toolCallId: id, title: `Call ${at}`, kind: "execute", status: "pending" },
        ...pieces.map((data) => ({
          sessionUpdate: "tool_call_update",
          toolCallId: id,
          _meta: { terminal_output: { terminal_id: id, data } },
        })),
        { sessionUpdate: "tool_call_update", toolCallId: id, status: "completed" },
      ];
    }),
  );

/** The snapshot of the first `count` updates: one for each message and each call, as it is then. */
function snapshot(updates: readonly Raw[], count: number): Page {
  const whole = new Map<string, { update: Record<string, unknown>; sequence: number }>();
  updates.slice(0, count).forEach((raw, at) => {
    const key = String(raw["messageId"] ?? raw["toolCallId"]);
    const known = whole.get(key);
    if (known === undefined) {
      whole.set(key, { update: structuredClone(raw), sequence: at + 1 });
    } else if ("messageId" in raw) {
      const content = known.update["content"] as { text: string };
      content.text += (raw["content"] as { text: string }).text;
    } else {
      const printed = (raw["_meta"] as { terminal_output: { data: string } } | undefined)?.terminal_output.data;
      const before =
        (known.update["_meta"] as { terminal_output: { data: string } } | undefined)?.terminal_output.data ?? "";
      Object.assign(
        known.update,
        { ...raw, sessionUpdate: "tool_call" },
        { _meta: { terminal_output: { data: before + (printed ?? "") } } },
      );
    }
  });
  return readPage({ updates: [...whole.values()], before: null, sequence: count });
}

describe("the transcript", () => {
  test("is the same from any snapshot and any overlap of what came live, in batches of any size", () => {
    fc.assert(
      fc.property(story, fc.nat(), fc.nat(), fc.integer({ min: 1, max: 9 }), (updates, at, from, batch) => {
        const all = updates.map((raw, index) => sequenced(raw, index + 1));
        const count = updates.length === 0 ? 0 : at % (updates.length + 1);
        const first = count === 0 ? 0 : from % (count + 1);
        let overlapped = attach(EMPTY, snapshot(updates, count), all.slice(first, count));
        for (let index = first; index < all.length; index += batch) {
          overlapped = apply(overlapped, all.slice(index, index + batch));
        }
        expect(text(overlapped)).toBe(text(apply(EMPTY, all)));
      }),
    );
  });

  test("keeps what is settled as it is", () => {
    const before = apply(EMPTY, [sequenced(chunk("agent_message_chunk", "m1", "Done."), 1)]);
    const after = apply(before, [sequenced(chunk("agent_message_chunk", "m2", "More"), 2)]);
    expect(after.items[0]).toBe(before.items[0]);
  });

  test("puts an older page in front, and knows a call that goes on by its beginning there", () => {
    const live = sequenced({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed" }, 9);
    const shown = apply({ ...EMPTY, before: 4 }, [sequenced(chunk("agent_message_chunk", "m5", "later"), 5), live]);
    const page = readPage({
      updates: [
        { sequence: 1, update: { sessionUpdate: "tool_call", toolCallId: "c1", title: "Make", status: "completed" } },
      ],
      before: null,
      sequence: 1,
    });
    const all = prepend(shown, page);
    expect(all.items.map((item) => item.key)).toEqual(["call:c1", "agent:m5"]);
    expect(all.before).toBeNull();
  });

  test("leaves out what it does not know, and survives nonsense", () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (update, sequence) => {
        const read = readSequenced(update, sequence);
        expect(() => apply(EMPTY, read === undefined ? [] : [read])).not.toThrow();
        expect(() => readPage(update)).not.toThrow();
      }),
    );
    expect(readSequenced({ sessionUpdate: "from_the_future" }, 1)).toBeUndefined();
  });
});

describe("rows", () => {
  const call = (id: string, kind: string, parent = ""): Raw => ({
    sessionUpdate: "tool_call",
    toolCallId: id,
    title: id,
    kind,
    status: "completed",
    ...(parent !== "" && { _meta: { sould: { parentToolCallId: parent } } }),
  });
  const shown = apply(
    EMPTY,
    [
      chunk("user_message_chunk", "m1", "do it"),
      call("a", "think"),
      call("b", "edit", "a"),
      call("c", "edit", "b"),
      call("d", "execute"),
      chunk("agent_message_chunk", "m2", "done"),
    ].map((raw, at) => sequenced(raw, at + 1)),
  );

  test("nest what subagents did", () => {
    const rows = rowsOf(shown.items, false);
    expect(rows.map((row) => row.key)).toEqual(["user:m1", "call:a", "call:d", "agent:m2"]);
    const [, agent] = rows;
    expect(agent?.type === "item" && agent.node.children[0]?.children[0]?.item.key).toBe("call:c");
  });

  test("fold steps where that is wanted, and say what they were", () => {
    const rows = rowsOf(shown.items, true);
    expect(rows.map((row) => row.type)).toEqual(["item", "steps", "item"]);
    const [, steps] = rows;
    expect(steps?.type === "steps" && summary(steps.nodes)).toBe("1 thought, 1 command");
  });

  test("end also where calls name each other as parents", () => {
    const circle = apply(
      EMPTY,
      [call("a", "edit", "b"), call("b", "edit", "a"), call("c", "edit", "c")].map((raw, at) => sequenced(raw, at + 1)),
    );
    expect(rowsOf(circle.items, false).map((row) => row.key)).toEqual(["call:c"]);
  });
});
