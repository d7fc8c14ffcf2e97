import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ReviewChanged, ReviewList } from "../src/protocol/review";
import { ReviewModel } from "../src/review/model";
import { aFile, aHunk } from "./shapes";

const ROOT = "/p";

function list(revision: number, ...paths: string[]): ReviewList {
  return {
    root: ROOT,
    revision,
    files: paths.map((path) => aFile(path, [aHunk({ path, id: revision })])),
    comments: [],
    round: null,
  };
}

function news(revision: number, more: Partial<ReviewChanged>): ReviewChanged {
  return {
    root: ROOT,
    revision,
    files: [],
    others: [],
    everything: false,
    decisions: [],
    comments: null,
    round: null,
    ...more,
  };
}

function shown(model: ReviewModel): string[] {
  return model.files.map((file) => `${file.path} ${file.hunks.map((hunk) => hunk.id).join(",")}`).sort();
}

describe("the model", () => {
  it("replaces a file by what is told of it, and drops it when nothing is pending", () => {
    const model = new ReviewModel();
    model.take(list(1, "/p/a", "/p/b"));
    model.change(news(2, { files: [aFile("/p/a", []), aFile("/p/c", [aHunk({ path: "/p/c", id: 9 })])] }));
    expect(shown(model)).toEqual(["/p/b 1", "/p/c 9"]);
  });

  it("tells which files changed", () => {
    const model = new ReviewModel();
    const told: string[][] = [];
    model.onDidChange((paths) => told.push([...paths].sort()));
    model.take(list(1, "/p/a"));
    model.change(news(2, { files: [aFile("/p/b", [aHunk()])] }));
    model.forget([ROOT]);
    expect(told).toEqual([["/p/a"], ["/p/b"], ["/p/a", "/p/b"]]);
  });

  it("tells of a file once more when an editor has loaded it anew, and of no other", () => {
    const model = new ReviewModel();
    model.take(list(1, "/p/a"));
    const told: string[][] = [];
    model.onDidChange((paths) => told.push([...paths]));
    model.loaded("/p/a");
    model.loaded("/p/never");
    expect(told).toEqual([["/p/a"]]);
  });

  it("says what a notification leaves to be asked", () => {
    const model = new ReviewModel();
    model.take(list(1));
    expect(model.change(news(2, { everything: true }))).toEqual({ everything: true });
    expect(model.change(news(2, { others: ["/p/big"] }))).toEqual({ paths: ["/p/big"] });
    expect(model.change(news(2, {}))).toBeUndefined();
  });

  it("drops a file that a part of the list does not have any more", () => {
    const model = new ReviewModel();
    model.take(list(1, "/p/a", "/p/b"));
    model.takeSome(list(2), ["/p/b"]);
    expect(shown(model)).toEqual(["/p/a 1"]);
  });

  it("ends up with the newest, whichever of list and news is here first", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 }), (arrives, made) => {
        const model = new ReviewModel();
        const all = [1, 2, 3, 4, 5, 6].map((n) => news(n, { files: [aFile("/p/a", [aHunk({ id: n })])] }));
        const before = { ...list(made), files: made === 0 ? [] : [aFile("/p/a", [aHunk({ id: made })])] };
        // The list was made after `made` news, and is here after at least as many.
        const at = Math.max(arrives, made);
        all.slice(0, at).forEach((each) => model.change(each));
        model.take(before);
        all.slice(at).forEach((each) => model.change(each));
        expect(shown(model)).toEqual(["/p/a 6"]);
      }),
    );
  });

  it("shows news again when a list does not come", () => {
    const model = new ReviewModel();
    model.take(list(1));
    model.expectList(ROOT);
    model.change(news(2, { files: [aFile("/p/a", [aHunk({ id: 2 })])] }));
    expect(shown(model)).toEqual([]);
    model.giveUp(ROOT);
    expect(shown(model)).toEqual(["/p/a 2"]);
  });
});
