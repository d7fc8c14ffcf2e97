/** What fills the model's window, as the panel lists it. */
import { expect, test } from "vitest";
import { foremost, readBreakdown } from "../panel/session/breakdown";

const TOOLS = [
  { name: "docs", server: true, calls: 2, described: 30, used: 50 },
  { name: "Shell", server: false, calls: 0, described: 20, used: 0 },
  { name: "Glob", server: false, calls: 0, described: 10, used: 0 },
];

test("what takes most comes first, and what takes nothing is left out", () => {
  const { parts, used } = readBreakdown({
    used: 200,
    window: 1000,
    counted: true,
    instructions: 60,
    asked: 0,
    answered: 30,
    tools: TOOLS,
  });
  expect(used).toBe(200);
  expect(parts.map(({ name, tokens, calls }) => [name, tokens, calls])).toEqual([
    ["docs (MCP server)", 80, 2],
    ["Instructions", 60, undefined],
    ["The agent's answers and thoughts", 30, undefined],
    ["Shell", 20, 0],
    ["Glob", 10, 0],
  ]);
  expect(foremost(parts, 3).at(-1)).toEqual({ name: "2 more", tokens: 30, calls: 0, described: 30 });
  expect(foremost(parts, 4)).toBe(parts);
});

test("an answer that is none has no parts", () => {
  expect(readBreakdown(null)).toEqual({ used: 0, window: 0, counted: false, parts: [] });
});
