import type * as vscode from "vscode";
import { beforeEach, describe, expect, it } from "vitest";
import { Lenses } from "../src/editor/lenses";
import { Places } from "../src/editor/places";
import { Shortcuts } from "../src/editor/shortcuts";
import type { ShownFile } from "../src/protocol/review";
import { ReviewModel } from "../src/review/model";
import { document, fake, reset } from "./fake/vscode";
import { aFile, aHunk } from "./shapes";

const LIST = "/shop/list.txt";
const TEXT = document(LIST, "one\ntwo\nthree\nfour\n");
const second = aHunk({ id: 2, path: LIST, start: 2, lines: ["three\n"], base: ["3\n"] });

let model: ReviewModel;
let lenses: Lenses;
let shortcuts: Shortcuts;
let redrawn: number;
let revision: number;
let memory: Map<string, unknown>;

function shows(...files: ShownFile[]): void {
  revision += 1;
  model.take({ root: "/shop", revision, files, comments: [], round: null });
}

/** What stands above which line. */
function drawn(): string[] {
  return lenses.provideCodeLenses(TEXT).map((lens) => `${lens.range.start.line} ${lens.command?.title ?? ""}`);
}

beforeEach(() => {
  reset();
  fake.documents.set(LIST, TEXT);
  [redrawn, revision] = [0, 0];
  model = new ReviewModel();
  const kept = new Map<string, unknown>([["sould.keysUsed", true]]);
  memory = kept;
  shortcuts = new Shortcuts({
    keys: () => [...kept.keys()],
    get: (key: string, fallback?: unknown) => kept.get(key) ?? fallback,
    update: (key: string, value: unknown) => {
      kept.set(key, value);
      return Promise.resolve();
    },
  } as vscode.Memento);
  lenses = new Lenses(model, new Places(), shortcuts);
  lenses.onDidChangeCodeLenses(() => {
    redrawn += 1;
  });
  shows(aFile(LIST, [second]));
  drawn();
  redrawn = 0;
});

describe("the words above changes", () => {
  it("are drawn anew only when they are others", () => {
    shows(
      aFile(LIST, [{ ...second, digest: "typed in it", lines: aHunk({ lines: ["three!\n"] }).lines }]),
      aFile("/shop/other.txt", [aHunk()]),
    );
    expect(redrawn).toBe(0);
    shows(aFile(LIST, [aHunk({ id: 1, path: LIST }), second]));
    expect(redrawn).toBe(1);
    expect(drawn()[7]).toBe("2 2 of 2 · −1 · +1");
    shows();
    expect(redrawn).toBe(2);
    expect(drawn()).toEqual([]);
  });

  it("say their keys until one was used", () => {
    memory.clear();
    expect(drawn().slice(0, 2)).toEqual(["2 $(check) Keep (Alt+Y)", "2 $(discard) Reject (Alt+N)"]);
    shortcuts.used();
    expect(drawn().slice(0, 2)).toEqual(["2 $(check) Keep", "2 $(discard) Reject"]);
  });

  it("move with the text that is typed above them, before the daemon says so and after it", () => {
    model.typed(LIST, [{ range: { start: { line: 0, character: 3 }, end: { line: 0, character: 3 } }, text: "\n\n" }]);
    expect(drawn()[0]).toBe("4 $(check) Keep");
    shows(aFile(LIST, [{ ...second, start: 4 }]));
    expect(redrawn).toBe(0);
  });

  it("are those of a file that is opened again", () => {
    fake.closed.fire(TEXT);
    shows();
    expect(redrawn).toBe(0);
    expect(drawn()).toEqual([]);
  });
});
