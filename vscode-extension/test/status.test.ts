/** The one part of the status bar. */
import { expect, it } from "vitest";
import { partsOf, type Standing } from "../src/editor/status";
import { inboxItem } from "../src/protocol/inbox";
import { parse } from "../src/protocol/readers";

const CALM: Standing = {
  state: "connected",
  problem: "",
  daemon: "1.0",
  own: "1.0",
  waiting: [],
  pending: 0,
  shared: [],
};
const ASKED = parse(inboxItem, {
  id: "r1",
  kind: "approval",
  session: { id: "s", title: "Tidy up", cwd: "/shop", project: "/shop" },
  since: "2026-01-01T00:00:00Z",
  title: "Run npm test",
});

function clicked(given: Partial<Standing>): [string, string, string] {
  const parts = partsOf({ ...CALM, ...given });
  return [parts.map((part) => part.text).join(" "), parts[0]?.does ?? "", parts[0]?.command ?? ""];
}

it("does by a click what is most urgent, and says that", () => {
  const all = { waiting: [ASKED], pending: 3, shared: ["bash"] };
  expect(clicked({})).toEqual(["$(comment-discussion) sould", "Open the chat", "sould.openChat"]);
  expect(clicked({ pending: 3 })).toEqual(["$(checklist) 3 to review", "Review all", "sould.reviewAll"]);
  expect(clicked(all)).toEqual([
    "$(bell-dot) 1 waiting $(checklist) 3 to review $(terminal) 1 shared",
    "Answer",
    "sould.answer",
  ]);
  expect(clicked({ ...all, state: "waiting" })[2]).toBe("sould.diagnose");
  expect(clicked({ ...all, state: "missing" })[2]).toBe("sould.openChat");
  expect(clicked({ shared: ["bash"] })[2]).toBe("sould.openChat");
});

it("says which version serves where it is not the extension's", () => {
  expect(partsOf({ ...CALM, daemon: "0.9" })[0]?.said).toBe("sould 0.9 serves this window; the extension is 1.0");
});
