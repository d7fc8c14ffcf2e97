/** The view of changes, and what is opened from it. */
import { beforeEach, describe, expect, it } from "vitest";
import type * as vscode from "vscode";
import { Bases } from "../src/editor/base";
import { Navigator } from "../src/editor/navigate";
import { Places } from "../src/editor/places";
import { Review } from "../src/editor/review";
import { Titles } from "../src/editor/titles";
import { ChangesView } from "../src/editor/tree";
import type { Node } from "../src/review/groups";
import { ReviewModel } from "../src/review/model";
import { FakeDaemon } from "./fake/daemon";
import { fake, reset, TreeItemCollapsibleState, Uri } from "./fake/vscode";
import { aFile, aHunk } from "./shapes";

let daemon: FakeDaemon;
let model: ReviewModel;
let places: Places;
let view: ChangesView;

beforeEach(() => {
  reset();
  fake.folders = [{ uri: Uri.file("/shop"), name: "shop", index: 0 }];
  daemon = new FakeDaemon();
  model = new ReviewModel();
  places = new Places();
  view = new ChangesView(model, places, new Titles(daemon.connection, model));
});

/** Agents changed these files; those that have another name before it were renamed. */
function changed(...names: [before: string, now: string][]): void {
  const files = names.map(([before, now]) => {
    const path = `/shop/${now}`;
    const renamed = aHunk({ id: 2, path, kind: "rename", before: `/shop/${before}`, after: path });
    return aFile(path, [aHunk({ path }), ...(before === now ? [] : [renamed])]);
  });
  model.take({ root: "/shop", revision: 1, files, comments: [], round: null });
}

function rows(): vscode.TreeItem[] {
  const below = (node: Node): Node[] => (node.kind === "file" ? [node] : view.getChildren(node).flatMap(below));
  return view
    .getChildren()
    .flatMap(below)
    .map((node) => view.getTreeItem(node));
}

describe("a file that an agent renamed", () => {
  it("is one row, with the name it had and the one it has", () => {
    changed(["src/one", "src/two"], ["src/three", "lib/three"], ["x\u202ey", "x\u202ey"]);
    expect(rows().map((row) => row.label)).toEqual(["src/three → three", "one → two", "x\\u202ey"]);
  });

  it("is compared with what it was, under both names", async () => {
    changed(["src/one", "src/two"]);
    const navigator = new Navigator(model, places);
    await navigator.diff("/shop/src/two");
    await navigator.all();
    const [diff = [], all = []] = fake.ran;
    expect(diff[3]).toBe("src/one → src/two (accepted ↔ now)");
    const bases = new Bases(new Review(daemon.connection, model, () => undefined), model, places, daemon.connection);
    daemon.answers.set("_sould/review/base", ({ path }) => ({ path, text: `accepted: ${String(path)}` }));
    for (const uri of [diff[1], (all[2] as unknown[][])[0]?.[1]] as vscode.Uri[]) {
      expect(uri.path).toBe("/shop/src/one");
      expect(await bases.provideTextDocumentContent(uri)).toBe("accepted: /shop/src/two");
    }
  });
});

describe("the files in the view", () => {
  it("are folded at first where there are many", () => {
    const states = (): unknown[] => [...new Set(rows().map((row) => row.collapsibleState))];
    const names = Array.from({ length: 10 }, (_, at): [string, string] => [`${at}`, `${at}`]);
    changed(...names.slice(1));
    expect(states()).toEqual([TreeItemCollapsibleState.Expanded]);
    changed(...names);
    expect(states()).toEqual([TreeItemCollapsibleState.Collapsed]);
  });
});
