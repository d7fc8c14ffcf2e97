/** Hunks and files for tests, with all that a test does not care about filled in. */
import type { ShownFile, ShownHunk } from "../src/protocol/review";

export function aHunk(given: Partial<Omit<ShownHunk, "lines">> & { lines?: string[] } = {}): ShownHunk {
  const { lines = ["new\n"], ...more } = given;
  return {
    id: 1,
    digest: "d",
    path: "/p/a",
    kind: "text",
    state: "pending",
    start: 0,
    baseStart: 0,
    base: [],
    agents: [{ sessionId: "s", turnId: "t", toolCallId: "c", subagent: "", model: "" }],
    before: "",
    after: "",
    committed: false,
    shownIn: "",
    earlier: false,
    beforeSize: null,
    afterSize: null,
    unsure: false,
    problems: [],
    ...more,
    lines: lines.map((text) => ({ text, author: "agent", agent: 0 })),
  };
}

export function aFile(path: string, hunks: ShownHunk[]): ShownFile {
  return { path, exists: true, hunks, unsaved: false, unsavedIn: [], isNew: false, streaming: [] };
}
