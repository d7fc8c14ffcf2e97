import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findProgram } from "../src/connection/program";
import type { ShownHunk } from "../src/protocol/review";
import { editsBetween, linesOf, replacement } from "../src/review/edits";
import { filesBelow, hunksBelow, sessionsOf } from "../src/review/groups";
import { after, covers, hunkAt, lineOf, neighbour } from "../src/review/place";
import { hunkOf, type LineChange } from "../src/review/quickchange";
import { changedWords } from "../src/review/changedwords";
import { counts, diffOf, label, ordinal, removedHint, patchOf, statusOf } from "../src/review/wording";
import { aFile, aHunk } from "./shapes";

const text = fc.array(fc.constantFrom("a", "b", "", "c d"), { maxLength: 12 });

/** What a document becomes by edits, all relative to the text before. */
function edited(before: string[], after: string[]): string {
  const whole = before.join("\n");
  const starts = before.map((_, at) => before.slice(0, at).reduce((sum, line) => sum + line.length + 1, 0));
  const edits = editsBetween(before, after).map((edit) => replacement(before, edit));
  return edits.reduceRight((now, { start, end, text: put }) => {
    const from = (starts[start.line] ?? whole.length) + start.character;
    const to = (starts[end.line] ?? whole.length) + end.character;
    return now.slice(0, from) + put + now.slice(to);
  }, whole);
}

describe("edits of a document", () => {
  it("make one text into the other, whatever they are", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const [from, to] = [before.length > 0 ? before : [""], after.length > 0 ? after : [""]];
        expect(edited(from, to)).toBe(to.join("\n"));
      }),
      { numRuns: 2_000 },
    );
  });

  it("leave lines alone that stay", () => {
    const edits = editsBetween(linesOf("a\nb\nc\nd\n"), linesOf("a\nB\nc\nd\ne\n"));
    expect(edits).toEqual([
      { from: 1, to: 2, lines: ["B"] },
      { from: 4, to: 4, lines: ["e"] },
    ]);
  });

  it("know every kind of line end", () => {
    expect(linesOf("a\r\nb\rc\n")).toEqual(["a", "b", "c", ""]);
  });
});

describe("the hunk that VS Code means", () => {
  const lines = (change: Partial<LineChange>): LineChange => ({
    originalStartLineNumber: 0,
    originalEndLineNumber: 0,
    modifiedStartLineNumber: 0,
    modifiedEndLineNumber: 0,
    ...change,
  });

  it("is found where VS Code has slid it over equal lines", () => {
    const base = linesOf("x\n\nf()\n\ng()\n\nh()\n");
    const current = linesOf("x\n\ng()\n\nh()\n");
    const ours = aHunk({ start: 2, base: ["f()\n", "\n"], lines: [] });
    const theirs = lines({ originalStartLineNumber: 2, originalEndLineNumber: 3, modifiedStartLineNumber: 1 });
    expect(hunkOf(theirs, [ours], current, base)).toBe(ours);
  });

  it("is none where VS Code shows two as one", () => {
    const first = aHunk({ id: 1, start: 0, base: ["a\n"], lines: ["A\n"] });
    const second = aHunk({ id: 2, start: 1, base: ["b\n"], lines: ["B\n"] });
    const both = lines({
      originalStartLineNumber: 1,
      originalEndLineNumber: 2,
      modifiedStartLineNumber: 1,
      modifiedEndLineNumber: 2,
    });
    expect(hunkOf(both, [first, second], linesOf("A\nB\n"), linesOf("a\nb\n"))).toBeUndefined();
  });
});

describe("places", () => {
  const added = aHunk({ id: 1, start: 2, lines: ["a\n", "b\n"] });
  const removed = aHunk({ id: 2, start: 4, base: ["c\n"], lines: [] });

  it("move with what is typed above them, and with nothing else", () => {
    const lines = ["one", "two", "three", "", "mine", "last"];
    const at = fc
      .record({ line: fc.nat({ max: 5 }), character: fc.nat({ max: 5 }) })
      .map(({ line, character }) => ({ line, character: Math.min(character, lines[line]?.length ?? 0) }));
    fc.assert(
      fc.property(at, at, fc.constantFrom("", "x", "\n", "x\r\ny", "\n\n"), (a, b, put) => {
        const [start, end] = a.line < b.line || (a.line === b.line && a.character <= b.character) ? [a, b] : [b, a];
        const moved = after(aHunk({ start: 4, lines: ["mine\n"] }), { range: { start, end }, text: put });
        const typed =
          (lines[start.line] ?? "").slice(0, start.character) + put + (lines[end.line] ?? "").slice(end.character);
        const text = [...lines.slice(0, start.line), typed, ...lines.slice(end.line + 1)].join("\n").split(/\r\n|\n/);
        if (end.line < 4 || (end.line === 4 && end.character === 0)) {
          expect(text[moved.start]).toMatch(/mine$/);
        } else if (start.line >= 4) {
          expect(moved.start).toBe(4);
        }
      }),
    );
  });

  it("cover their lines; what was removed is at both lines around it", () => {
    expect([1, 2, 3, 4].map((line) => covers(added, line))).toEqual([false, true, true, false]);
    expect([2, 3, 4, 5].map((line) => covers(removed, line))).toEqual([false, true, true, false]);
  });

  it("prefer lines that are there to lines that are gone", () => {
    expect(hunkAt([removed, added], 3)).toBe(added);
    expect(hunkAt([removed, added], 9)).toBeUndefined();
  });

  it("stay within a document that has become shorter", () => {
    expect(lineOf(removed, 3)).toBe(2);
    expect(lineOf(removed, 0)).toBe(0);
  });

  it("follow one another in a circle", () => {
    expect(neighbour([added, removed], 2, 1)).toBe(removed);
    expect(neighbour([added, removed], 4, 1)).toBe(added);
    expect(neighbour([added, removed], 2, -1)).toBe(removed);
    expect(neighbour([], 2, 1)).toBeUndefined();
  });
});

describe("words", () => {
  const hunk = aHunk({ id: 7, start: 4, base: ["  old()\r\n", "\n"], lines: ["  new()\n"] });

  it("say how much, and which one", () => {
    expect(counts(hunk)).toBe("−2 · +1");
    expect(ordinal(hunk, [aHunk({ id: 1 }), hunk])).toBe("2 of 2 · −2 · +1");
    expect(label(hunk)).toBe("5: new()");
    expect(diffOf(hunk)).toBe("-  old()\n-\n+  new()");
  });

  it("are marked where they are others than those that stood there", () => {
    const two = aHunk({ base: ["  total = price\n", "done()\n"], lines: ["  total = price * count\n", "done()\n"] });
    expect(changedWords(two)).toEqual([{ line: 0, from: 15, to: 23 }]);
    expect(changedWords(aHunk({ base: ["one two\n"], lines: ["three four\n"] }))).toEqual([]);
    expect(changedWords(aHunk({ base: [], lines: ["new\n"] }))).toEqual([]);
  });

  it("say what was removed, in short", () => {
    expect(removedHint(hunk)).toBe("−2: old()");
    expect(removedHint(aHunk({ base: ["  x = 1\n", "y\n"], lines: [] }))).toBe("−2 removed: x = 1 ⏎ y");
    expect(removedHint(aHunk({ base: ["x\n"], lines: [] }))).toBe("−1 removed: x");
    expect(removedHint(aHunk({ lines: ["x\n"] }))).toBe("");
    expect(removedHint(aHunk({ base: ["😀".repeat(100)], lines: [] })).length).toBeLessThan(250);
  });

  it("say what happened to a whole file", () => {
    const kinds: ShownHunk["kind"][] = ["add", "delete", "rename", "mode", "line_ends", "content"];
    const said = kinds.map((kind) =>
      label(
        aHunk({
          kind,
          path: "/p/b",
          before: kind === "rename" ? "/p/c/a" : "a",
          after: "b",
          beforeSize: 1,
          afterSize: 2,
        }),
      ),
    );
    expect(said).toEqual([
      "new file",
      "file deleted",
      "renamed from c/a",
      "mode a → b",
      "line ends a → b",
      "other contents, 1 → 2 bytes",
    ]);
    expect(label(aHunk({ kind: "add", before: "", after: "link:v2" }))).toBe("link none → v2");
    expect(label(aHunk({ kind: "content", before: "link:../v%0A", after: "0".repeat(64) }))).toBe(
      "link ../v%0A → a file",
    );
  });
});

describe("a patch", () => {
  it("counts lines as git does, and says what happened to a whole file", () => {
    const changed = aHunk({ start: 4, baseStart: 3, base: ["a\n"], lines: ["b\n", "c\n"] });
    const removed = aHunk({ start: 9, baseStart: 7, base: ["d\n"], lines: [] });
    const file = aFile("/p/a", [changed, removed, aHunk({ kind: "mode", before: "644", after: "755" })]);
    expect(patchOf(file)).toBe("@@ -4,1 +5,2 @@\n-a\n+b\n+c\n@@ -8,1 +9,0 @@\n-d\nmode 644 → 755");
    expect([file, { ...file, isNew: true }, { ...file, exists: false }].map(statusOf)).toEqual(["M", "A", "D"]);
  });
});

describe("the tree", () => {
  const agent = (sessionId: string, turnId: string): ShownHunk["agents"][number] => ({
    sessionId,
    turnId,
    toolCallId: "c",
    subagent: "",
    model: "",
  });

  it("has the turns as they began, and first the session whose changes wait the longest", () => {
    const hunks = [
      ["s1", "0003"],
      ["s2", "0002"],
      ["s1", "0004"],
      ["s2", "0005"],
    ].map(([sessionId = "", turnId = ""], at) => aHunk({ id: at + 1, agents: [agent(sessionId, turnId)] }));
    const sessions = sessionsOf("/p", [aFile("/p/a", hunks)]);
    expect(
      sessions.map(({ sessionId, turns }) => [sessionId, ...turns.map((turn) => `${turn.number}: ${turn.turnId}`)]),
    ).toEqual([
      ["s2", "1: 0002", "2: 0005"],
      ["s1", "1: 0003", "2: 0004"],
    ]);
  });

  it("has each hunk once, under who wrote it last", () => {
    const one = aHunk({ id: 1, agents: [agent("s1", "t1")] });
    const two = aHunk({ id: 2, agents: [agent("s1", "t1"), agent("s1", "t2")] });
    const three = aHunk({ id: 3, agents: [agent("s2", "t1")] });
    const sessions = sessionsOf("/p", [aFile("/p/b", [one, two]), aFile("/p/a", [three])]);
    expect(sessions.map((each) => [each.sessionId, hunksBelow(each).map((hunk) => hunk.id)])).toEqual([
      ["s1", [1, 2]],
      ["s2", [3]],
    ]);
    expect(sessions[0]?.turns.map((turn) => turn.number)).toEqual([1, 2]);
    expect(sessions.flatMap((each) => filesBelow(each)).map((file) => file.path)).toEqual(["/p/b", "/p/a"]);
  });
});

describe("the program", () => {
  const around = { setting: "", home: "/u/me", searchPath: "bin:/usr/bin:/opt/b", interpreter: "/venv/bin/python" };
  const having = (...programs: string[]): { isProgram(file: string): Promise<boolean> } => ({
    isProgram: (file) => Promise.resolve(programs.includes(file)),
  });

  it("is looked for on PATH, where installers put it, and beside the interpreter", async () => {
    expect(await findProgram(around, having("/opt/b/sould", "/venv/bin/sould"))).toEqual({ program: "/opt/b/sould" });
    expect(await findProgram(around, having("/u/me/.local/bin/sould"))).toEqual({ program: "/u/me/.local/bin/sould" });
    expect(await findProgram(around, having("/venv/bin/sould"))).toEqual({ program: "/venv/bin/sould" });
  });

  it("is never taken from a relative directory, which a project could have filled", async () => {
    expect(await findProgram(around, having("bin/sould"))).toHaveProperty("problem");
    expect(await findProgram({ ...around, setting: "bin/sould" }, having("bin/sould"))).toHaveProperty("problem");
  });

  it("is the one that the user set, or none", async () => {
    const set = { ...around, setting: "~/s" };
    expect(await findProgram(set, having("/u/me/s", "/usr/bin/sould"))).toEqual({ program: "/u/me/s" });
    expect(await findProgram(set, having("/usr/bin/sould"))).toEqual({
      problem: "The setting sould.path names /u/me/s, which is no program that you can run.",
    });
  });
});
