import type { KeyGiven } from "../panel/link";
import { beforeEach, describe, expect, it } from "vitest";
import type * as vscode from "vscode";
import { Places } from "../src/editor/places";
import { Panels } from "../src/panel/panels";
import { best, patternOf } from "../src/panel/search";
import { FakeDaemon, settled } from "./fake/daemon";
import { document, editor, fake, FakePage, reset, TabInputWebview, Uri } from "./fake/vscode";

let daemon: FakeDaemon;
let panels: Panels;
let log: string[];
let logins: KeyGiven[];

beforeEach(() => {
  reset();
  fake.folders = [{ uri: Uri.file("/shop"), name: "shop", index: 0 }];
  daemon = new FakeDaemon();
  log = [];
  logins = [];
  const extension = Uri.file("/extension") as unknown as vscode.Uri;
  panels = new Panels(
    extension,
    daemon.connection,
    new Places(),
    (given) => {
      logins.push(given);
      return Promise.resolve();
    },
    (line) => log.push(line),
  );
});

/** Opens the view. */
function view(): FakePage {
  const page = new FakePage();
  panels.resolveWebviewView(page as unknown as vscode.WebviewView);
  return page;
}

async function ask(page: FakePage, id: number, method: string, params: object = {}): Promise<void> {
  page.webview.says({ jsonrpc: "2.0", id, method, params });
  await settled();
}

/** The answer to a request of the page's. */
function answerTo(page: FakePage, id: number | string): Record<string, unknown> | undefined {
  return page.webview.posted.find((each) => each["id"] === id && !("method" in each));
}

function methods(page: FakePage): unknown[] {
  return page.webview.posted.map((each) => each["method"]).filter(Boolean);
}

describe("a panel's page", () => {
  it("may load the app from the extension, and nothing from elsewhere", () => {
    const { html, options } = view().webview;
    const policy = /content="(default-src[^"]*)"/.exec(html)?.[1] ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/connect-src|unsafe|\*/);
    const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? "";
    expect(nonce.length).toBeGreaterThanOrEqual(22);
    expect(html.match(/<script /g)).toHaveLength(1);
    expect(html).toContain(`<script type="module" nonce="${nonce}" src="https:///extension/dist/panel.js"`);
    expect(options.localResourceRoots?.map(String)).toEqual(["file:///extension/dist"]);
    expect(view().webview.html).not.toContain(nonce);
  });

  it("is the same app in a tab, also in one of the last time", async () => {
    panels.openTab();
    const again = new FakePage();
    await fake.serializers
      .get("sould.chatTab")
      ?.deserializeWebviewPanel(again as unknown as vscode.WebviewPanel, undefined);
    for (const page of [...fake.tabs, again]) {
      expect(page.webview.html).toContain("/extension/dist/panel.js");
    }
  });
});

describe("what a panel asks", () => {
  it("is told who the daemon is by the window, and how the connection stands", async () => {
    const page = view();
    await ask(page, 1, "initialize");
    expect(answerTo(page, 1)?.["result"]).toEqual(daemon.introduction);
    expect(page.webview.posted[0]).toEqual({
      jsonrpc: "2.0",
      method: "_panel/connection",
      params: { state: "connected", problem: "", version: "1.2.3" },
    });
    expect(daemon.asked).toEqual([]);
    daemon.become("waiting", "sould ended");
    expect(page.webview.posted.at(-1)).toMatchObject({
      method: "_panel/connection",
      params: { state: "waiting", problem: "sould ended" },
    });
  });

  it("is told why there is no daemon", async () => {
    daemon.introduction = undefined;
    daemon.become("missing", "sould was not found.");
    const page = view();
    await ask(page, 1, "initialize");
    expect(answerTo(page, 1)?.["error"]).toMatchObject({ message: "sould was not found." });
  });

  it("goes to the daemon, and the answer comes back under the panel's own id", async () => {
    const [one, two] = [view(), view()];
    await ask(one, 7, "session/list", { cwd: "/shop" });
    await ask(two, 7, "session/prompt", { sessionId: "s" });
    daemon.asked[1]?.answer({ stopReason: "end_turn" });
    daemon.asked[0]?.answer({ sessions: [] });
    await settled();
    expect(answerTo(one, 7)?.["result"]).toEqual({ sessions: [] });
    expect(answerTo(two, 7)?.["result"]).toEqual({ stopReason: "end_turn" });
  });

  it("comes to the words of the daemon when it fails", async () => {
    const page = view();
    await ask(page, 1, "session/new", { cwd: "/gone" });
    daemon.asked[0]?.fail(new Error("The directory is gone."));
    await settled();
    expect(answerTo(page, 1)?.["error"]).toEqual({ code: -32603, message: "The directory is gone." });
  });

  it("is withdrawn at the daemon when the panel withdraws it", async () => {
    const page = view();
    await ask(page, 3, "session/prompt", { sessionId: "s" });
    page.webview.says({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 3 } });
    expect(daemon.asked[0]?.withdrawn?.aborted).toBe(true);
  });

  it("is left out when it is nothing that a panel may say", async () => {
    const page = view();
    const hostile = [
      { jsonrpc: "2.0", id: 1, method: "_sould/review/write", params: {} },
      { jsonrpc: "2.0", id: 2, method: "constructor", params: {} },
      { jsonrpc: "2.0", id: 3, method: "session/list", params: ["x"] },
      { jsonrpc: "2.0", id: 4, method: "session/list", params: {}, extra: true },
      { jsonrpc: "2.0", method: "initialize2", params: {} },
      "session/list",
      null,
    ];
    hostile.forEach((each) => {
      page.webview.says(each);
    });
    await settled();
    expect(daemon.asked).toEqual([]);
    expect(page.webview.posted).toEqual([]);
    expect(log).toHaveLength(hostile.length);
  });

  it("is logged by method, never with what it says", async () => {
    const page = view();
    await ask(page, 1, "session/prompt", { sessionId: "s", prompt: "the secret plan" });
    daemon.asked[0]?.answer({ note: "another secret" });
    await settled();
    expect(log).toEqual([expect.stringMatching(/^panel: session\/prompt \d+ ms ok$/)]);
  });

  it("goes on without the panel: a turn is the daemon's", async () => {
    const page = view();
    await ask(page, 1, "session/prompt", { sessionId: "s" });
    page.dispose();
    expect(daemon.asked[0]?.withdrawn?.aborted).toBe(false);
    daemon.asked[0]?.answer({ stopReason: "end_turn" });
    await settled();
  });

  it("does not close a session that another panel shows", async () => {
    const [one, two] = [view(), view()];
    await ask(one, 1, "session/resume", { sessionId: "s" });
    await ask(two, 1, "session/resume", { sessionId: "s" });
    daemon.asked.forEach((each) => {
      each.answer({});
    });
    await settled();
    await ask(one, 2, "session/close", { sessionId: "s" });
    expect(answerTo(one, 2)?.["result"]).toEqual({});
    await ask(two, 2, "session/close", { sessionId: "s" });
    expect(daemon.asked.map((each) => each.method)).toEqual(["session/resume", "session/resume", "session/close"]);
  });
});

describe("what the daemon says", () => {
  it("reaches every panel, but for what is the window's own", () => {
    const pages = [view(), view()];
    panels.router.told("session/update", { sessionId: "s" });
    panels.router.told("_sould/editor/forgotten", {});
    for (const page of pages) {
      expect(methods(page)).toEqual(["session/update"]);
    }
  });
});

describe("what the daemon asks", () => {
  const question = { sessionId: "s", options: [] };
  const given = { outcome: { outcome: "selected", optionId: "allow_once" } };

  it("is asked in every panel, and answered by the first", async () => {
    const [one, two] = [view(), view()];
    const answer = panels.router.asked("session/request_permission", question, 11);
    const id = one.webview.posted.at(-1)?.["id"] as string;
    expect(two.webview.posted.at(-1)).toEqual({
      jsonrpc: "2.0",
      id,
      method: "session/request_permission",
      params: question,
    });
    two.webview.says({ jsonrpc: "2.0", id, result: given });
    one.webview.says({ jsonrpc: "2.0", id, result: { outcome: { outcome: "cancelled" } } });
    expect(await answer).toEqual(given);
    expect(one.webview.posted.at(-1)).toMatchObject({ method: "$/cancel_request", params: { requestId: id } });
    expect(methods(two)).toEqual(["session/request_permission"]);
  });

  it("waits while no panel is there, and is asked in one that shows the session later", async () => {
    let ended = false;
    const answer = panels.router.asked("session/request_permission", question, 11).finally(() => {
      ended = true;
    });
    const page = view();
    await ask(page, 1, "initialize");
    await ask(page, 2, "session/resume", { sessionId: "other" });
    daemon.asked[0]?.answer({});
    await settled();
    expect(methods(page)).not.toContain("session/request_permission");
    await ask(page, 3, "session/resume", { sessionId: "s" });
    daemon.asked[1]?.answer({});
    await settled();
    const posted = page.webview.posted.map((each) => each["method"] ?? each["id"]);
    expect(posted.slice(-2)).toEqual([3, "session/request_permission"]);
    expect(ended).toBe(false);
    page.webview.says({ jsonrpc: "2.0", id: page.webview.posted.at(-1)?.["id"], result: given });
    expect(await answer).toEqual(given);
  });

  it("is taken back with the reason when it was answered elsewhere", async () => {
    const page = view();
    const answer = panels.router.asked("elicitation/create", question, 11);
    const id = page.webview.posted.at(-1)?.["id"];
    panels.router.told("$/cancel_request", {
      requestId: 11,
      _meta: { sould: { reason: "answered elsewhere, by a terminal" } },
    });
    await expect(answer).rejects.toMatchObject({ code: -32800 });
    expect(page.webview.posted.at(-1)).toMatchObject({
      method: "$/cancel_request",
      params: { requestId: id, _meta: { sould: { reason: "answered elsewhere, by a terminal" } } },
    });
  });

  it("is gone with the connection", async () => {
    const page = view();
    const answer = panels.router.asked("session/request_permission", question, 11);
    daemon.become("waiting", "it ended");
    await expect(answer).rejects.toMatchObject({ code: -32800 });
    expect(methods(page)).toEqual(["session/request_permission", "$/cancel_request", "_panel/connection"]);
  });

  it("still waits when a panel says that it cannot show it", async () => {
    const page = view();
    const answer = panels.router.asked("elicitation/create", question, 11);
    const id = page.webview.posted.at(-1)?.["id"];
    page.webview.says({ jsonrpc: "2.0", id, error: { code: -32601, message: "no forms here" } });
    await settled();
    page.webview.says({ jsonrpc: "2.0", id, result: { action: "accept" } });
    expect(await answer).toEqual({ action: "accept" });
  });
});

describe("what a panel has this window do", () => {
  it("shows a file without moving the focus, beside the chat where that is in a tab", async () => {
    const page = view();
    await ask(page, 1, "_panel/openFile", { path: "src/a.ts", line: 3 });
    expect(fake.shown).toEqual([
      { uri: "file:///shop/src/a.ts", options: { viewColumn: -1, preserveFocus: true, preview: true } },
    ]);
    fake.activeTab = new TabInputWebview("sould.chatTab");
    await ask(page, 2, "_panel/openFile", { path: "/etc/hosts", line: 1 });
    expect(fake.shown[1]).toMatchObject({ uri: "file:///etc/hosts", options: { viewColumn: -2, preserveFocus: true } });
  });

  it("takes an address of the web for the name of a file", async () => {
    await ask(view(), 1, "_panel/openFile", { path: "https://evil.test/x", line: 1 });
    expect(fake.shown[0]?.uri).toMatch(/^file:\/\/\/shop\//);
  });

  it("hands a key on, and names it nowhere", async () => {
    const page = view();
    await ask(page, 1, "_panel/login", { provider: "kimi", key: "sk-secret", file: false });
    expect(answerTo(page, 1)).toMatchObject({ result: {} });
    for (const [id, provider] of ["--json", "file:///etc/passwd"].entries()) {
      await ask(page, 10 + id, "_panel/login", { provider, key: "sk-secret", file: false });
      expect(answerTo(page, 10 + id)).toHaveProperty("error");
    }
    const other = { provider: "http://127.0.0.1:8000/v1", model: "small", key: "", file: false };
    await ask(page, 3, "_panel/login", other);
    expect(logins).toEqual([{ provider: "kimi", key: "sk-secret", file: false }, other]);
    expect(log.join("\n")).not.toContain("sk-secret");
  });

  it("has sould installed where there is none", async () => {
    daemon.become("missing", "sould was not found.");
    const page = view();
    await ask(page, 1, "_panel/install");
    expect(answerTo(page, 1)).toMatchObject({ result: {} });
    expect(fake.ran).toContainEqual(["sould.install"]);
  });

  it("puts code at the cursor of the editor that was used last", async () => {
    const last = editor(document("/shop/a.py", "x = 1\n"), [1, 0]);
    fake.activate(last);
    fake.activate(undefined);
    await ask(view(), 1, "_panel/insert", { text: "y = 2" });
    expect(last.edited.map((each) => each.text)).toEqual(["y = 2"]);
  });

  it("says what to do where code can go nowhere", async () => {
    const page = view();
    await ask(page, 1, "_panel/insert", { text: "y = 2" });
    expect(answerTo(page, 1)?.["error"]).toMatchObject({ message: expect.stringContaining("Open the one") as unknown });
  });

  it("applies code in place of what is selected, as an edit of the session", async () => {
    fake.activate(editor(document("/shop/a.py", "a\nb\nc\n"), [1, 0], [2, 0]));
    const page = view();
    await ask(page, 1, "_panel/apply", { text: "B", sessionId: "s" });
    const range = { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } };
    expect(daemon.asked[0]).toMatchObject({
      method: "_sould/session/apply",
      params: { sessionId: "s", path: "/shop/a.py", text: "B\n", range, expected: "b\n" },
    });
    daemon.asked[0]?.fail(new Error("It is another text now."));
    await settled();
    expect(answerTo(page, 1)?.["error"]).toMatchObject({ message: "It is another text now." });
  });

  it("asks for a selection before it replaces anything", async () => {
    fake.activate(editor(document("/shop/a.py", "a\nb\nc\n"), [1, 0]));
    const page = view();
    await ask(page, 1, "_panel/apply", { text: "B\n", sessionId: "s" });
    expect(daemon.asked).toEqual([]);
    expect(answerTo(page, 1)?.["error"]).toMatchObject({ message: expect.stringContaining("Select") as unknown });
  });

  it("finds files by a few letters", async () => {
    fake.found = [Uri.file("/shop/lib/main_test.py"), Uri.file("/shop/src/main.py")];
    const page = view();
    await ask(page, 1, "_panel/findFiles", { root: "/shop", query: "main", limit: 5 });
    expect(answerTo(page, 1)?.["result"]).toEqual({ paths: ["/shop/src/main.py", "/shop/lib/main_test.py"] });
    await ask(page, 2, "_panel/findFiles", { root: "/etc", query: "passwd", limit: 5 });
    expect(answerTo(page, 2)?.["result"]).toEqual({ paths: [] });
  });

  it("tells which folders are open, and what is chosen in the dialog", async () => {
    const page = view();
    await ask(page, 1, "_panel/surroundings");
    expect(answerTo(page, 1)?.["result"]).toEqual({
      roots: [{ path: "/shop", name: "shop" }],
      canInsert: true,
      canReview: true,
      editor: "VS Code",
    });
    fake.picked = [Uri.file("/shop/a.png")];
    await ask(page, 2, "_panel/pickFile");
    expect(answerTo(page, 2)?.["result"]).toEqual({ paths: ["/shop/a.png"] });
  });
});

describe("opening the chat", () => {
  it("has a prompt wait for the panel that is about to be there", async () => {
    await panels.show({ prompt: "Explain this." });
    expect(fake.ran).toEqual([["sould.chat.focus"]]);
    const page = view();
    await ask(page, 1, "initialize");
    expect(page.webview.posted.at(-1)).toEqual({
      jsonrpc: "2.0",
      method: "_panel/open",
      params: { prompt: "Explain this." },
    });
  });

  it("shows in a tab the session that was looked at last", async () => {
    const page = view();
    await ask(page, 1, "session/resume", { sessionId: "s", cwd: "/shop" });
    daemon.asked[0]?.answer({});
    await settled();
    panels.openTab();
    const [tab] = fake.tabs;
    await ask(tab as FakePage, 1, "initialize");
    expect(tab?.webview.posted.at(-1)).toEqual({
      jsonrpc: "2.0",
      method: "_panel/open",
      params: { session: { id: "s", cwd: "/shop" } },
    });
  });

  it("gives it to the panel that was used last, when there is one", async () => {
    const [one, two] = [view(), view()];
    await ask(one, 1, "initialize");
    await panels.show({ prompt: "Explain this." });
    expect(methods(one)).toContain("_panel/open");
    expect(methods(two)).not.toContain("_panel/open");
  });
});

describe("a search for files", () => {
  it("knows both cases, and directories", () => {
    expect(patternOf("mT")).toBe("**/*[mM]*[tT]*");
    expect(patternOf("src/a")).toBe("**/*[sS]*[rR]*[cC]*/**/*[aA]*");
    expect(patternOf("a[1]*")).toBe("**/*[aA]*?*1*?*?*");
    expect(patternOf(" ")).toBe("**/*");
  });

  it("has names before paths, and short ones before long ones", () => {
    expect(best(["x/ab/c.ts", "x/cab.ts", "ab.ts", "long/abc.ts"], "AB", 3)).toEqual([
      "ab.ts",
      "long/abc.ts",
      "x/cab.ts",
    ]);
  });
});
