import { beforeEach, describe, expect, it } from "vitest";
import type * as vscode from "vscode";
import { Places } from "../src/editor/places";
import { Importer } from "../src/panel/importing";
import { Panels } from "../src/panel/panels";
import { FakeDaemon } from "./fake/daemon";
import { fake, FakePage, reset, Uri } from "./fake/vscode";

let daemon: FakeDaemon;
let importer: Importer;
let page: FakePage;

beforeEach(() => {
  reset();
  fake.folders = [{ uri: Uri.file("/shop"), name: "shop", index: 0 }];
  daemon = new FakeDaemon();
  const places = new Places();
  const panels = new Panels(
    Uri.file("/extension") as unknown as vscode.Uri,
    daemon.connection,
    places,
    () => Promise.resolve(),
    () => undefined,
  );
  importer = new Importer(panels, places, daemon.connection);
  page = new FakePage();
  panels.resolveWebviewView(page as unknown as vscode.WebviewView);
  const found = [
    { agent: "claude", path: "/kept/1.jsonl", title: "Mend $(sync~spin)", updatedAt: "2026-11-20T10:00:00Z" },
  ];
  daemon.answers.set("_sould/session/imports", () => ({ found }));
  daemon.answers.set("_sould/session/import", () => ({
    sessionId: "s1",
    source: "Claude Code",
    messages: 2,
    skipped: {},
  }));
});

describe("a conversation of another agent", () => {
  it("is picked, imported and shown in the chat", async () => {
    let labels: string[] = [];
    fake.takes = (items) => {
      labels = items.map((each) => each.label);
      return items[0];
    };
    await importer.pick();
    expect(labels).toEqual(["Mend $\u200b(sync~spin)"]);
    expect(daemon.asked.map((each) => [each.method, each.params])).toEqual([
      ["_sould/session/imports", { cwd: "/shop" }],
      ["_sould/session/import", { cwd: "/shop", path: "/kept/1.jsonl", agent: "claude" }],
    ]);
    expect(page.webview.posted.at(-1)).toMatchObject({
      method: "_panel/open",
      params: { session: { id: "s1", cwd: "/shop" } },
    });
  });

  it("is not imported when none is picked, and said to be missing when there is none", async () => {
    await importer.pick();
    expect(daemon.asked.map((each) => each.method)).toEqual(["_sould/session/imports"]);
    daemon.answers.set("_sould/session/imports", () => ({ found: [] }));
    await expect(importer.pick()).rejects.toThrow("keep no conversation");
    fake.folders = [];
    await expect(importer.pick()).rejects.toThrow("Open a folder");
  });
});
