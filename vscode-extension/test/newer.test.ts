/** A daemon that is newer than the extension says words that are not known here. */
import { expect, it } from "vitest";
import { choicesOf } from "../src/inbox/words";
import { inboxItem, inboxList } from "../src/protocol/inboxshapes";
import { reviewChanged, reviewList } from "../src/protocol/shapes";
import { label } from "../src/review/wording";
import { aFile, aHunk } from "./shapes";

const ITEM = {
  id: "r1",
  kind: "approval",
  session: { id: "s", title: "", cwd: "/p", project: "/p" },
  since: "2026-01-01T00:00:00Z",
  title: "Run a command",
  scopes: [
    { scope: "galaxy", label: "Everywhere" },
    { scope: "once", label: "Once" },
  ],
};

it("a change of an unknown kind or state is shown beside those that are known", () => {
  const odd = { ...aHunk({ id: 2 }), kind: "encoding", state: "pondered" };
  const list = reviewList.parse({ root: "/p", revision: 1, files: [{ ...aFile("/p/a", []), hunks: [aHunk(), odd] }] });
  const hunks = list.files[0]?.hunks ?? [];
  expect(hunks.map((hunk) => [label(hunk), hunk.state])).toEqual([
    ["1: new", "pending"],
    ["other contents", "pending"],
  ]);
});

it("an approval for an unknown scope is not offered", () => {
  const approvals = choicesOf(inboxItem.parse(ITEM)).filter((each) => each.decision === "approve");
  expect(approvals.map((each) => each.scope)).toEqual(["once"]);
});

it("what asks for something unknown can be shown, and hides nothing else", () => {
  const { items } = inboxList.parse({ items: [{ ...ITEM, id: "r2", kind: "payment" }, ITEM] });
  expect(items.map((item) => choicesOf(item).length)).toEqual([1, 4]);
});

it("a decision of an unknown kind is left out of the news, which are taken", () => {
  const decided = { path: "/p/a", by: "me", at: "2026-01-01T00:00:00Z" };
  const news = reviewChanged.parse({
    root: "/p",
    revision: 2,
    decisions: [
      { ...decided, id: 1, verdict: "postpone" },
      { ...decided, id: 2, verdict: "keep" },
    ],
  });
  expect(news.decisions.map((each) => each.id)).toEqual([2]);
});
