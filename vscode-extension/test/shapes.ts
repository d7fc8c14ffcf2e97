/** Hunks and files for tests, with all that a test does not care about filled in. */
import type { FileReview, Hunk } from "../src/protocol/shapes";

export function aHunk(given: Partial<Omit<Hunk, "lines">> & { lines?: string[] } = {}): Hunk {
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

export function aFile(path: string, hunks: Hunk[]): FileReview {
  return { path, exists: true, hunks, unsaved: false, unsavedIn: [], isNew: false, streaming: [] };
}
