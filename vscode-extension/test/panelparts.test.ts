/** What the panel makes of output, diffs, questions and typed text. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accepted, chosen, isOther, problems, readAsked, type Form, type Permission } from "../panel/session/asking";
import { changeOf } from "../panel/session/changes";
import { completed, completingAt, fileUri, fitting } from "../panel/session/completion";
import { markdownOf } from "../panel/session/export";
import { rowsWith } from "../panel/session/find";
import {
  conversation,
  ofFiles,
  ofHunks,
  ofProblems,
  ofResources,
  ofSessions,
  ofSymbols,
  ranked,
  type Mention,
} from "../panel/session/mentions";
import { aboutStep } from "../panel/session/plan";
import { leftOf, readPending, titleOf } from "../panel/session/review";
import { rowsOf } from "../panel/session/rows";
import { counted, readTasks } from "../panel/session/tasks";
import { screen } from "../panel/session/terminal";
import { checkpointOf, readTimeline, outcomeOf } from "../panel/session/timeline";
import { apply, EMPTY, readSequenced } from "../panel/session/transcript";
import { nameOf, visible } from "../panel/session/visible";
import { aFile, aHunk } from "./shapes";

describe("a terminal", () => {
  test("has colours, and nothing else of the escape sequences", () => {
    const { spans } = screen("\u001b[1;31mred\u001b[0m plain \u001b]0;title\u0007\u001b[2Kend\n", 10);
    expect(spans).toEqual([
      { text: "red", classes: "ansi-red-fg ansi-bold" },
      { text: " plain end", classes: "" },
    ]);
  });

  test("shows progress once, the last lines, and what came after it was cleared", () => {
    expect(screen("10%\r50%\r100%\r\ndone\n", 10).spans).toEqual([{ text: "100%\ndone", classes: "" }]);
    expect(screen("a\nb\nc\n", 2)).toEqual({ spans: [{ text: "b\nc", classes: "" }], above: 1 });
    expect(screen("old\u001b[H\u001b[2J\u001b[3Jnew", 9).spans).toEqual([{ text: "new", classes: "" }]);
  });
});

test("a diff's lines make the new text, and the old one", () => {
  const texts = fc
    .array(fc.constantFrom("a", "b", "c"), { maxLength: 8 })
    .map((lines) => lines.map((line) => `${line}\n`).join(""));
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const { hunks, added, removed } = changeOf(before, after);
      const all = hunks.flat();
      expect(added - removed).toBe(after.split("\n").length - before.split("\n").length);
      const [old, fresh] = [before.split("\n"), after.split("\n")];
      for (const line of all) {
        expect(line.text).toBe((line.sign === "-" ? old : fresh)[line.number - 1]);
      }
    }),
  );
});

describe("a diff with the daemon's edits", () => {
  const before = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].join("\n");
  const after = ["a", "B", "c", "d", "e", "f", "g", "h", "i", "new", "j"].join("\n");
  const signs = (change: ReturnType<typeof changeOf>): string[] =>
    change.hunks.map((hunk) => hunk.map((line) => `${line.sign}${line.number}${line.text}`).join(" "));

  test("is drawn from them, with three lines around", () => {
    const change = changeOf(before, after, [
      [0, 2, 0, 2],
      [9, 9, 9, 10],
    ]);
    expect(signs(change)).toEqual(["-1a -2b +1a +2B  3c  4d  5e", " 7g  8h  9i +10new  11j"]);
    expect([change.added, change.removed]).toEqual([3, 2]);
  });

  test("is found here where they are missing, or of other texts", () => {
    const own = changeOf(before, after);
    expect(signs(own)[0]).toBe(" 1a -2b +2B  3c  4d  5e");
    expect(changeOf(before, after, [[0, 2, 0, 2]])).toEqual(own);
    expect(changeOf(before, after, [[NaN, 2, 0, 3]])).toEqual(own);
  });
});

describe("a permission", () => {
  const asked = readAsked("session/request_permission", {
    sessionId: "s",
    toolCall: { toolCallId: "c", title: "Run `make`" },
    options: [
      { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
      { optionId: "reject_once", name: "Reject", kind: "reject_once" },
    ],
  }) as Permission;

  test("has every option that was sent, and is answered by one, with words beside", () => {
    expect(asked.options.map((option) => option.name)).toEqual(["Allow once", "Reject"]);
    const [, reject] = asked.options;
    expect(reject && chosen(reject, "use ninja")).toEqual({
      outcome: { outcome: "selected", optionId: "reject_once" },
      _meta: { sould: { feedback: "use ninja" } },
    });
  });

  test("of a kind that nobody knows is no permission", () => {
    const strange = readAsked("session/request_permission", {
      options: [{ optionId: "x", name: "X", kind: "allow_everything" }],
    }) as Permission;
    expect(strange.options[0]?.kind).toBe("reject_once");
  });
});

describe("a form", () => {
  const form = readAsked("elicitation/create", {
    sessionId: "s",
    mode: "form",
    message: "Which?",
    requestedSchema: {
      type: "object",
      required: ["count"],
      properties: {
        q1: {
          type: "string",
          title: "Which?",
          oneOf: [
            { const: "A", title: "A" },
            { const: "B", title: "B", description: "the other" },
          ],
        },
        q1_other: { type: "string", title: "Other" },
        q2: { type: "array", items: { anyOf: [{ const: "x", title: "X" }] } },
        count: { type: "integer", minimum: 1, maximum: 3 },
        sure: { type: "boolean", default: true },
      },
    },
  }) as Form;

  test("knows its fields", () => {
    expect(form.fields.map((field) => field.kind)).toEqual(["choice", "text", "several", "integer", "boolean"]);
    expect(form.fields.map((field) => isOther(form, field))).toEqual([false, true, false, false, false]);
  });

  test("says what is missing, and sends what was filled in, with its types", () => {
    expect(problems(form, {})).toEqual({ count: "This is needed." });
    expect(problems(form, { count: "2.5" })).toEqual({ count: "A whole number is needed." });
    expect(problems(form, { count: "4" })).toEqual({ count: "At most 3." });
    expect(accepted(form, { q1: "B", q2: ["x"], count: "2" })).toEqual({
      action: "accept",
      content: { q1: "B", q2: ["x"], count: 2, sure: true },
    });
  });
});

describe("what is typed", () => {
  const commands = ["compact", "clear", "mode", "mcp"].map((name) => ({ name, description: "", hint: "" }));

  test("is a command at the beginning only, a mention behind a blank", () => {
    expect(completingAt("/co", 3)).toEqual({ kind: "command", typed: "co", from: 0 });
    expect(completingAt("see /co", 7)).toBeUndefined();
    expect(completingAt("see @src/m", 10)).toEqual({ kind: "mention", typed: "src/m", from: 4 });
    expect(completingAt("me@example.org", 14)).toBeUndefined();
  });

  test("is completed in its place", () => {
    const text = "look at @ma and go";
    const found = completingAt(text, 11);
    expect(found && completed(text, 11, found, "@src/main.ts")).toEqual({
      text: "look at @src/main.ts and go",
      cursor: 21,
    });
    expect(fitting(commands, "c").map((command) => command.name)).toEqual(["compact", "clear", "mcp"]);
    expect(fileUri("/a b/ü.ts")).toBe("file:///a%20b/%C3%BC.ts");
  });
});

describe("a conversation", () => {
  const items = apply(
    EMPTY,
    [
      { sessionUpdate: "user_message_chunk", messageId: "m1", content: { type: "text", text: "Fix it" } },
      { sessionUpdate: "agent_thought_chunk", messageId: "m2", content: { type: "text", text: "Hm.\nYes." } },
      {
        sessionUpdate: "tool_call",
        toolCallId: "c",
        title: "Write a.txt",
        kind: "edit",
        status: "failed",
        content: [{ type: "diff", path: "/p/a.txt", oldText: "x", newText: "needle" }],
      },
      { sessionUpdate: "agent_message_chunk", messageId: "m3", content: { type: "text", text: "Done." } },
    ].flatMap((raw, at) => readSequenced(raw, at + 1) ?? []),
  ).items;

  test("can be taken elsewhere as Markdown", () => {
    expect(markdownOf("A title", items)).toBe(
      "# A title\n\n## You\n\nFix it\n\n> Hm.\n> Yes.\n\n- **Write a.txt** (failed)\n  - changed /p/a.txt\n\nDone.\n",
    );
  });

  test("is searched in all that it shows", () => {
    const rows = rowsOf(items, false);
    expect(rowsWith(rows, "NEEDLE")).toEqual([2]);
    expect(rowsWith(rows, "  ")).toEqual([]);
  });

  test("has what was done in the steps of a turn beside the turn", () => {
    const moment = (kind: string, did: string[], files: string[]): object => ({
      kind,
      checkpoint: 0,
      timestamp: 0,
      text: kind,
      did,
      files,
      reachable: true,
    });
    const { moments } = readTimeline({
      moments: [
        moment("turn", [], []),
        moment("step", ["Write a"], ["/a"]),
        moment("step", ["Write b"], ["/a", "/b"]),
        moment("turn", [], []),
      ],
      canUndo: true,
      canRedo: false,
    });
    expect(moments.map(({ did, files }) => [did, files])).toEqual([
      [
        ["Write a", "Write b"],
        ["/a", "/b"],
      ],
      [[], []],
    ]);
  });

  test("goes back to before a message, also where the same was said twice", () => {
    const turn = (checkpoint: number, text: string): object => ({
      kind: "turn",
      checkpoint,
      timestamp: 0,
      text,
      did: [],
      files: [],
      reachable: true,
    });
    const timeline = readTimeline({
      moments: [
        turn(0, "again"),
        turn(3, "again"),
        turn(5, "a long one that goes on"),
        turn(7, "again and again"),
        turn(9, "again a.txt"),
      ],
      canUndo: true,
      canRedo: false,
    });
    const before = (words: string, fromEnd: number, attached = false): number | undefined =>
      checkpointOf(timeline, { words, attached }, fromEnd)?.checkpoint;
    expect(before("again", 0)).toBe(3);
    expect(before("again", 1)).toBe(0);
    expect(before("again", 0, true)).toBe(9);
    expect(before("again and again", 0)).toBe(7);
    expect(before("a long\none that goes on", 0)).toBe(5);
    expect(before("never", 0)).toBeUndefined();
    expect(
      outcomeOf({
        outcome: "done",
        files: [
          { path: "a", action: "restored" },
          { path: "b", action: "conflict" },
        ],
      }).said,
    ).toBe("1 file went back. 1 was left as it is: the card says why.");
  });
});

describe("what stands beside the conversation", () => {
  test("counts background tasks, and takes what is unknown for lost", () => {
    const task = {
      id: "a",
      kind: "shell",
      description: "server",
      status: "running",
      message: "",
      startedAt: "",
      endedAt: null,
      toolCallId: null,
    };
    const tasks = readTasks({ tasks: [task, { ...task, id: "b", status: "of a newer sould" }, 7] });
    expect(tasks.map(({ status }) => status)).toEqual(["running", "lost"]);
    expect(counted(tasks)).toBe("1 running, 1 ended");
    expect(counted([])).toBe("");
  });

  test("names the step that a comment is about as the agent wrote it", () => {
    expect(aboutStep(2, { content: "Change it", status: "in_progress" }, " not that \n")).toBe(
      "About step 2 of your plan (in progress):\n\n> Change it\n\nnot that",
    );
  });

  test("has what is pending, by file, and why something was left", () => {
    const hunk = aHunk({ id: 3, start: 4, base: ["old\n"] });
    const list = (...files: object[]): object => ({ root: "/p", revision: 1, files });
    const files = readPending(list(aFile("/p/a", [hunk, { ...hunk, state: "kept" }]), aFile("/p/b", [])));
    expect(files).toEqual([
      {
        path: "/p/a",
        before: "",
        hunks: [{ id: 3, digest: "d", line: 5, removed: ["old\n"], added: ["new\n"], what: "" }],
      },
    ]);
    const [renamed] = readPending(
      list(aFile("/p/lib/a\u202e", [hunk, { ...hunk, kind: "rename", before: "/p/src/a" }])),
    );
    expect(renamed && titleOf(renamed, "/p")).toBe("src/a → lib/a\\u202e");
    const left = { id: 3, path: "/p/a", why: "changed", message: "It changed." };
    expect(leftOf({ done: [], left: [left, { ...left, id: 4 }] })).toBe("It changed.");
  });

  test("never fails over what comes in", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (raw) => {
        readTasks(raw);
        readPending(raw);
        readPending({ root: "/p", revision: 1, files: [raw] });
        leftOf(raw);
      }),
    );
  });
});

describe("what can be mentioned", () => {
  const named = (shown: string): Mention => ({ words: `@${shown}`, shown, about: "" });

  test("is sent as it is shown: links for files and symbols, the text itself for problems, hunks and conversations", () => {
    expect(ofFiles({ paths: ["/p/src/a b.ts"] }, "/p")[0]).toMatchObject({
      words: "@src/a b.ts",
      shown: "a b.ts",
      block: { type: "link", uri: "file:///p/src/a%20b.ts" },
    });
    expect(
      ofSymbols({ symbols: [{ name: "main", kind: "Function", path: "/p/a.ts", line: 7 }] }, "/p")[0],
    ).toMatchObject({ about: "function · a.ts:7", block: { uri: "file:///p/a.ts#L7", name: "main (a.ts:7)" } });
    const problem = { path: "/p/a.ts", line: 2, severity: "error", message: "No.", source: "ts" };
    expect(
      ofProblems({ problems: [problem, { ...problem, path: "/p/b.ts" }] }, "/p").map(({ words, block }) => [
        words,
        block,
      ]),
    ).toEqual([
      [
        "@problems",
        { type: "resource", uri: "sould:problems/problems", text: "a.ts:2: error: No. (ts)\nb.ts:2: error: No. (ts)" },
      ],
      [
        "@problems:a.ts",
        { type: "resource", uri: "sould:problems/problems%20of%20a.ts", text: "a.ts:2: error: No. (ts)" },
      ],
      [
        "@problems:b.ts",
        { type: "resource", uri: "sould:problems/problems%20of%20b.ts", text: "b.ts:2: error: No. (ts)" },
      ],
    ]);
    const hunk = { id: 3, digest: "d", line: 5, removed: ["old\n"], added: ["new\n"], what: "" };
    expect(ofHunks([{ path: "/p/a.ts", before: "", hunks: [hunk] }], "/p")[0]?.block).toEqual({
      type: "resource",
      uri: "sould:hunk/3/a.ts%3A5",
      text: "Hunk 3, to be reviewed, at a.ts:5:\n-old\n+new",
    });
    expect(
      ofResources({
        resources: [{ server: "docs", uri: "docs://guide", name: "guide", description: "" }],
        partial: false,
      })[0],
    ).toMatchObject({ words: "@guide", block: { type: "link", uri: "docs://guide", name: "docs: guide" } });
    expect(
      ofSessions(
        [
          { id: "1", title: "This" },
          { id: "2", title: "That" },
          { id: "3", title: "" },
        ],
        "1",
      ).map((each) => each.session?.id),
    ).toEqual(["2"]);
    const said = conversation("That", "2", `${"a".repeat(70_000)}end`);
    expect(said).toMatchObject({ type: "resource", uri: "sould:session/2/That" });
    expect("text" in said && said.text).toMatch(/^\(Its beginning is left out\.\)\n…a+end$/);
    expect(ofProblems({}, "/p")).toEqual([]);
  });

  test("comes in an order that never changes between two that fit alike", () => {
    expect(
      ranked([named("domain"), named("main.ts"), named("other"), named("m-a-i-n")], "main").map((each) => each.shown),
    ).toEqual(["main.ts", "domain", "m-a-i-n"]);
    fc.assert(
      fc.property(fc.array(fc.string()), fc.string({ maxLength: 4 }), (names, typed) => {
        const found = ranked(names.map(named), typed);
        expect(ranked(found, typed)).toEqual(found);
        expect(ranked(names.map(named), "")).toHaveLength(names.length);
      }),
    );
  });
});

describe("what is shown of paths and lines", () => {
  test("has a mark for each character that prints nothing", () => {
    expect(nameOf("/a/b\u202Ecod\u200B.txt")).toBe("b\\u202ecod\\u200b.txt");
    expect(visible("\tone\rtwo \u{E0041}é")).toBe("\tone\\u000dtwo \\U000e0041é");
  });
});
