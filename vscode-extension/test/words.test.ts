/** What the user typed stays, whatever fails beside it. */
import { beforeEach, describe, expect, it } from "vitest";
import type * as vscode from "vscode";
import { Buffers } from "../src/editor/buffers";
import { Decider } from "../src/editor/decide";
import { Places } from "../src/editor/places";
import { Review } from "../src/editor/review";
import { Threads } from "../src/editor/threads";
import { write } from "../src/editor/write";
import { ReviewModel } from "../src/review/model";
import type { ReportParams } from "../src/protocol/review";
import { Committer } from "../src/scm/commit";
import { FakeDaemon } from "./fake/daemon";
import { CommentMode, document, fake, Range, reset, Uri } from "./fake/vscode";
import { aFile, aHunk } from "./shapes";

const LIST = "/shop/list.txt";

let daemon: FakeDaemon;
let model: ReviewModel;
let review: Review;
let places: Places;
let said: ReportParams[];
let buffers: Buffers;

/** The user types: the document has another text and another version from now on. */
function types(text: string, version: number): void {
  const typed = Object.assign(fake.documents.get(LIST) ?? {}, { getText: () => text, version, isDirty: true });
  const range = new Range(0, 0, 0, 0);
  fake.documentChanged.fire({ document: typed, contentChanges: [{ range, text: "x" }] });
}

beforeEach(() => {
  reset();
  fake.documents.set(LIST, Object.assign(document(LIST, "one\n"), { version: 1 }));
  daemon = new FakeDaemon();
  model = new ReviewModel();
  review = new Review(daemon.connection, model, () => undefined);
  places = new Places();
  said = [];
  buffers = new Buffers(places, (report) => {
    said.push(report);
  });
  buffers.reportAll();
  said = [];
});

describe("a write into a document that is open", () => {
  const asked = { path: LIST, version: 1, text: "agent\n", save: false };
  const whole = { event: "open", path: LIST, version: 2, text: "xone\n", unsaved: true };

  it("tells the daemon all of the document when the user was quicker, before it answers", async () => {
    fake.applies = () => {
      types("xone\n", 2);
      return false;
    };
    expect(await write(asked, places, buffers)).toEqual({ outcome: "outdated" });
    expect(said).toEqual([whole]);
    types("xxone\n", 3);
    expect(said[1]).toMatchObject({ event: "change", version: 3 });
  });

  it("tells it also when the editor fails", async () => {
    fake.applies = () => {
      types("xone\n", 2);
      throw new Error("the editor is gone");
    };
    await expect(write(asked, places, buffers)).rejects.toThrow("the editor is gone");
    expect(said).toEqual([whole]);
  });

  it("tells nothing beside the answer when it was written", async () => {
    fake.applies = () => {
      types("agent\n", 2);
      return true;
    };
    expect(await write(asked, places, buffers)).toMatchObject({ outcome: "written", version: 2 });
    expect(said).toEqual([]);
  });
});

describe("taking a decision back", () => {
  it("takes the same one back after a failure, not an older one", async () => {
    model.take({
      root: "/shop",
      revision: 1,
      files: [aFile(LIST, [aHunk({ path: LIST })])],
      comments: [],
      round: null,
    });
    const decider = new Decider(review, model, buffers, new Places());
    for (const id of [1, 2]) {
      daemon.answers.set("_sould/review/keep", () => ({ done: [{ id, path: LIST, verdict: "keep" }], left: [] }));
      await decider.file("keep", LIST);
    }
    daemon.answers.set("_sould/review/undo", () => {
      throw new Error("no connection");
    });
    await expect(decider.undo()).rejects.toThrow("no connection");
    daemon.answers.set("_sould/review/undo", () => ({ done: [], left: [] }));
    await decider.undo();
    await decider.undo();
    const undone = daemon.asked
      .filter(({ method }) => method === "_sould/review/undo")
      .map(({ params }) => params["hunks"]);
    expect(undone).toEqual([[{ id: 2 }], [{ id: 2 }], [{ id: 1 }]]);
  });
});

describe("a commit message", () => {
  const inputBox = { value: "" };

  async function worded(typed: string): Promise<string> {
    inputBox.value = "";
    const repositories = [{ rootUri: Uri.file("/shop"), inputBox }];
    fake.extensions.set("vscode.git", { getAPI: () => ({ repositories }) });
    daemon.answers.set("_sould/session/commit_message", () => {
      inputBox.value = typed;
      return { message: "Count the shop's boxes\n" };
    });
    const committer = new Committer(daemon, () => ({ id: "s", cwd: "/shop" }));
    await committer.write({ rootUri: Uri.file("/shop") });
    daemon.answers.set("_sould/session/commit_message", () => ({ message: "Count boxes" }));
    if (typed.trim() === "") {
      expect(inputBox.value).toBe("Count the shop's boxes\n");
      await committer.write({ rootUri: Uri.file("/shop") });
    }
    return inputBox.value;
  }

  it("stands before what the user typed while it was written", async () => {
    expect(await worded("closes #7")).toBe("Count the shop's boxes\n\ncloses #7");
  });

  it("stands alone in an empty box, and in place of the last one that nobody touched", async () => {
    expect(await worded(" \n")).toBe("Count boxes");
  });
});

describe("a comment that could not be stored", () => {
  it("stays in its box, to be added again", async () => {
    const hunk = aHunk({ path: LIST });
    model.take({ root: "/shop", revision: 1, files: [aFile(LIST, [hunk])], comments: [], round: null });
    const threads = new Threads(review, model, places);
    threads.write(hunk);
    const [thread] = fake.threads as Set<vscode.CommentThread>;
    const [draft] = (thread as vscode.CommentThread).comments;
    (draft as vscode.Comment).body = "my words"; // as VS Code does when they are added
    daemon.answers.set("_sould/review/comment", () => {
      throw new Error("no project");
    });
    await expect(threads.add(draft)).rejects.toThrow("no project");
    const [open] = (thread as vscode.CommentThread).comments;
    expect(open).toMatchObject({ body: "my words", mode: CommentMode.Editing });
    expect(open).not.toBe(draft); // VS Code closes the box of a comment that it was told to add
    expect(fake.threads.size).toBe(1);
  });
});
