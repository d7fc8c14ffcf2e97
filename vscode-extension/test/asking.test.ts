import { beforeEach, describe, expect, it } from "vitest";
import type * as vscode from "vscode";
import { usersEnvironment } from "../src/connection/environment";
import { Places } from "../src/editor/places";
import { Actions, Asking } from "../src/panel/asking";
import { readLink } from "../src/panel/links";
import { Panels } from "../src/panel/panels";
import { ofTerminal } from "../src/panel/prompts";
import { Committer } from "../src/scm/commit";
import { FakeDaemon } from "./fake/daemon";
import { document, editor, fake, FakePage, Position, Range, reset, Uri } from "./fake/vscode";

let daemon: FakeDaemon;
let asking: Asking;
let page: FakePage;

beforeEach(() => {
  reset();
  fake.folders = [
    { uri: Uri.file("/shop"), name: "shop", index: 0 },
    { uri: Uri.file("/books"), name: "books", index: 1 },
  ];
  daemon = new FakeDaemon();
  const places = new Places();
  const panels = new Panels(
    Uri.file("/extension") as unknown as vscode.Uri,
    daemon.connection,
    places,
    () => Promise.resolve(),
    () => undefined,
  );
  asking = new Asking(panels, places, daemon.connection);
  page = new FakePage();
  panels.resolveWebviewView(page as unknown as vscode.WebviewView);
});

/** What the panel was asked to put into its composer. Nothing else may have been asked of anybody. */
function opened(): unknown {
  expect(daemon.asked.filter((each) => each.method !== "session/list")).toEqual([]);
  const last = page.webview.posted.at(-1);
  expect(last?.["method"]).toBe("_panel/open");
  return last?.["params"];
}

const uri = (path: string): vscode.Uri => Uri.file(path) as unknown as vscode.Uri;

describe("what commands put into the composer", () => {
  it("is the lines that are selected, whole, and nothing is sent", async () => {
    fake.activate(editor(document("/shop/a b.py", "one\ntwo\nthree\nfour\n"), [1, 1], [3, 0]));
    await asking.selection();
    expect(opened()).toEqual({
      attached: [{ type: "resource", resource: { uri: "file:///shop/a%20b.py#L2-3", text: "two\nthree" } }],
    });
    expect(fake.ran).toEqual([["sould.chat.focus"]]);
  });

  it("is a question about them", async () => {
    fake.activate(editor(document("/shop/a.py", "one\n"), [0, 0]));
    await asking.explain();
    expect(opened()).toMatchObject({
      prompt: expect.stringContaining("Explain this part of a.py") as unknown,
      attached: [{ resource: { uri: "file:///shop/a.py#L1" } }],
    });
  });

  it("is a problem, with the lines it is in, by the light bulb", async () => {
    const text = document("/shop/a.py", "import os\nx = y\n");
    fake.activate(editor(text));
    const range = new Range(new Position(1, 4), new Position(1, 5));
    const problem = { range, message: "y is not defined", source: "pyright", severity: 0 };
    const given = { diagnostics: [problem, { ...problem, severity: 3 }] } as unknown as vscode.CodeActionContext;
    const [fix, ...others] = new Actions().provideCodeActions(text, range as unknown as vscode.Range, given);
    expect(others.map((each) => each.title)).toEqual(["Ask sould About Selection", "Explain With sould"]);
    expect(fix).toMatchObject({ title: "Fix With sould", command: { command: "sould.fix" } });
    await asking.fix(...(fix?.command?.arguments as Parameters<typeof asking.fix>));
    expect(opened()).toEqual({
      prompt: "Fix this problem in a.py:\n- line 2: y is not defined (pyright)",
      attached: [{ type: "resource", resource: { uri: "file:///shop/a.py#L2", text: "x = y" } }],
    });
  });

  it("is files and directories, those that are chosen", async () => {
    await asking.files([uri("/shop/src"), uri("/shop/a.py")]);
    expect(opened()).toEqual({
      attached: [
        { type: "resource_link", uri: "file:///shop/src", name: "src" },
        { type: "resource_link", uri: "file:///shop/a.py", name: "a.py" },
      ],
    });
    await expect(asking.files([])).rejects.toThrow("Choose a file");
  });

  it("is what is selected in the terminal, and the clipboard is as it was", async () => {
    fake.clipboard = "mine";
    fake.does.set("workbench.action.terminal.copySelection", () => {
      fake.clipboard = "$ make\nerror ``` here\n";
    });
    await asking.terminal();
    expect(opened()).toEqual({ prompt: "From the terminal:\n\n````\n$ make\nerror ``` here\n````\n" });
    expect(fake.clipboard).toBe("mine");
    fake.does.clear();
    await expect(asking.terminal()).rejects.toThrow("Select something");
    expect(fake.clipboard).toBe("mine");
    expect(ofTerminal("x")).toContain("\n```\nx\n```\n");
  });

  it("is nothing, in a new session of the folder the user is in", async () => {
    fake.activate(editor(document("/books/b.py", "")));
    await asking.begin();
    expect(opened()).toEqual({ cwd: "/books" });
    await asking.begin(true);
    expect(opened()).toEqual({ cwd: "/books", apart: true });
  });
});

describe("a link", () => {
  it("opens a session that there is, with a prompt that is not sent", async () => {
    daemon.answers.set("session/list", ({ cursor }) =>
      cursor === undefined
        ? { sessions: [{ sessionId: "a", cwd: "/a" }], nextCursor: "2" }
        : { sessions: [{ sessionId: "b-1", cwd: "/b" }] },
    );
    await asking.follow(Uri.parse("vscode://sould.sould/open?session=b-1&prompt=Go%20on") as unknown as vscode.Uri);
    expect(opened()).toEqual({ session: { id: "b-1", cwd: "/b" }, prompt: "Go on" });
    const other = asking.follow(Uri.parse("vscode://sould.sould/open?session=c") as unknown as vscode.Uri);
    await expect(other).rejects.toThrow("no such session");
  });

  it("can ask for nothing else", () => {
    expect(readLink("/open", "prompt=Hello")).toEqual({ prompt: "Hello" });
    expect(readLink("/open", "")).toEqual({});
    expect(readLink("/send", "prompt=Hello")).toBeUndefined();
    expect(readLink("/open", "session=../../x")).toBeUndefined();
  });
});

describe("a commit message", () => {
  const box = { value: "" };
  let current: { id: string; cwd: string } | undefined;
  let committer: Committer;

  beforeEach(() => {
    box.value = "";
    current = undefined;
    const repository = { rootUri: Uri.file("/shop"), inputBox: box };
    fake.extensions.set("vscode.git", { getAPI: () => ({ repositories: [repository] }) });
    committer = new Committer(daemon, () => current);
    daemon.answers.set("session/new", () => ({ sessionId: "side" }));
    daemon.answers.set("session/list", () => ({ sessions: [{ sessionId: "latest", cwd: "/shop" }] }));
    for (const method of ["session/resume", "session/delete"]) {
      daemon.answers.set(method, () => ({}));
    }
    daemon.answers.set("_sould/session/commit_message", ({ sessionId }) => ({
      message: `Sell apples (${String(sessionId)})`,
    }));
  });

  const methods = (): string[] => daemon.asked.map((each) => each.method);

  it("is about the session before the user", async () => {
    current = { id: "shown", cwd: "/shop/till" };
    await committer.write(undefined);
    expect(box.value).toBe("Sell apples (shown)");
    expect(methods()).toEqual(["_sould/session/commit_message"]);
  });

  it("is about the latest one of the repository where another is shown, which goes on", async () => {
    current = { id: "shown", cwd: "/shopping" };
    await committer.write(undefined);
    expect(box.value).toBe("Sell apples (latest)");
    expect(methods()).not.toContain("session/close");
  });

  it("needs none, and leaves none behind", async () => {
    daemon.answers.set("session/list", () => ({ sessions: [] }));
    await committer.write(undefined);
    expect(box.value).toBe("Sell apples (side)");
    expect(methods().at(-1)).toBe("session/delete");
  });

  it("leaves the box as it is where there is nothing to write about", async () => {
    daemon.answers.set("_sould/session/commit_message", () => {
      throw new Error("Nothing is staged or accepted.");
    });
    await expect(committer.write(undefined)).rejects.toThrow("Nothing is staged");
    expect(box.value).toBe("");
  });
});

describe("the environment of sessions", () => {
  it("is the user's, without what VS Code sets for itself", () => {
    const own = {
      PATH: "/bin",
      VSCODE_PID: "1",
      ELECTRON_RUN_AS_NODE: "1",
      MY_VSCODE: "x",
      SNAP_NAME: "code",
      VSCODE_PORTABLE: "/p",
    };
    expect(usersEnvironment(own)).toEqual({ PATH: "/bin", MY_VSCODE: "x", VSCODE_PORTABLE: "/p" });
  });
});
