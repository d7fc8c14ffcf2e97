import { beforeEach, describe, expect, it } from "vitest";
import { Places } from "../src/editor/places";
import { ReviewModel } from "../src/review/model";
import type { CallResult } from "../src/protocol/editor";
import type { ReviewList } from "../src/protocol/review";
import { Call } from "../src/tools/call";
import { ReviewRequests } from "../src/tools/review";
import type { Tour } from "../src/tools/tour";
import { settled } from "./fake/daemon";
import { document, fake, reset } from "./fake/vscode";
import { aFile, aHunk } from "./shapes";

let requests: ReviewRequests;
let marked: unknown[];

beforeEach(() => {
  reset();
  marked = [];
  fake.documents.set("/shop/a.py", document("/shop/a.py", "one\ntwo\nthree\n"));
  const model = new ReviewModel();
  const hunks = [aHunk({ id: 4, path: "/shop/a.py", start: 1 }), aHunk({ id: 5, path: "/shop/a.py", start: 2 })];
  model.take({
    root: "/shop",
    revision: 1,
    files: [aFile("/shop/a.py", hunks)],
    comments: [],
  } as unknown as ReviewList);
  const tour = {
    mark: (...given: unknown[]) => {
      marked.push(given);
      return Promise.resolve(1);
    },
  };
  requests = new ReviewRequests(model, tour as unknown as Tour);
});

const act = (given: object): Promise<CallResult> => {
  const call = {
    tool: "review",
    arguments: { ...given },
    root: "/shop",
    directories: [],
    at: null,
    digest: "",
    sessionId: "",
  };
  return requests.act(new Call(call, new Places(), new AbortController().signal));
};

describe("an agent's wish for review", () => {
  it("is a notification, which opens the first change when its user says so", async () => {
    await act({ action: "request", hunkIds: [4, 5], message: "The   numbers" });
    expect(fake.notified).toMatchObject([{ text: "An agent asks you to review 2 changes: The numbers" }]);
    expect(fake.shown).toEqual([]);
    fake.notified[0]?.answer("Review");
    await settled();
    expect(fake.shown).toMatchObject([{ uri: "file:///shop/a.py" }]);
  });

  it("is said once until it is answered", async () => {
    await act({ action: "request", hunkIds: [4] });
    await expect(act({ action: "request", hunkIds: [5] })).rejects.toMatchObject({ code: "busy" });
    fake.notified[0]?.answer(undefined);
    await settled();
    await act({ action: "request", hunkIds: [5] });
    expect(fake.notified).toHaveLength(2);
  });

  it("is about changes that VS Code shows", async () => {
    await expect(act({ action: "request", hunkIds: [9] })).rejects.toMatchObject({ code: "not_found" });
    await expect(act({ action: "list" })).rejects.toMatchObject({ code: "not_supported" });
  });

  it("comes with words at the changes", async () => {
    await act({ action: "explain", hunkIds: [5], message: "It counts from 0" });
    expect(marked).toEqual([
      ["About these changes", [{ file: "/shop/a.py", startLine: 3, endLine: 3, note: "It counts from 0" }], 0],
    ]);
  });
});
