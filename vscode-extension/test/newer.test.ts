/** A daemon that is newer than the extension says words that are not known here. */
import { expect, it } from "vitest";
import { choicesOf } from "../src/inbox/words";
import { inboxItem, inboxList } from "../src/protocol/inbox";
import { parse } from "../src/protocol/readers";
import { reviewChanged, reviewList } from "../src/protocol/review";
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
  const list = parse(reviewList, { root: "/p", revision: 1, files: [{ ...aFile("/p/a", []), hunks: [aHunk(), odd] }] });
  const hunks = list.files[0]?.hunks ?? [];
  expect(hunks.map((hunk) => [label(hunk), hunk.state])).toEqual([
    ["1: new", "pending"],
    ["other contents", "pending"],
  ]);
});

it("an approval for an unknown scope is not offered", () => {
  const approvals = choicesOf(parse(inboxItem, ITEM)).filter((each) => each.decision === "approve");
  expect(approvals.map((each) => each.scope)).toEqual(["once"]);
});

it("what asks for something unknown can be shown, and hides nothing else", () => {
  const { items } = parse(inboxList, { items: [{ ...ITEM, id: "r2", kind: "payment" }, ITEM] });
  expect(items.map((item) => choicesOf(item).length)).toEqual([1, 4]);
});

it("a decision of an unknown kind is left out of the news, which are taken", () => {
  const decided = { path: "/p/a", by: "me", at: "2026-01-01T00:00:00Z" };
  const news = parse(reviewChanged, {
    root: "/p",
    revision: 2,
    decisions: [
      { ...decided, id: 1, verdict: "postpone" },
      { ...decided, id: 2, verdict: "keep" },
    ],
  });
  expect(news.decisions.map((each) => each.id)).toEqual([2]);
});

it("an approval is not shown without a command that it is about", () => {
  const command = { command: "make", directory: "/p" };
  const odd = { ...ITEM, id: "r2", commands: [command, { script: "make clean" }] };
  const { items } = parse(inboxList, { items: [odd, { ...ITEM, commands: [command] }, { ...ITEM, commands: null }] });
  expect(items.map(({ id }) => id)).toEqual(["r1"]);
});

it("a change that cannot be read hides no other", () => {
  const hunks = [{ ...aHunk(), lines: [{ words: "new" }] }, aHunk({ id: 2 }), { ...aHunk(), base: null }, 7];
  const list = parse(reviewList, { root: "/p", revision: 1, files: [7, { ...aFile("/p/a", []), hunks }] });
  expect(list.files.flatMap((file) => file.hunks).map(({ id }) => id)).toEqual([2]);
});
