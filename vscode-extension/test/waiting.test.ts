/** What is shown stays true while the connection, the window's focus and other clients come and go. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Answerer } from "../src/editor/answer";
import { baseUri, Bases } from "../src/editor/base";
import { Inbox } from "../src/editor/inbox";
import { Places } from "../src/editor/places";
import { Review } from "../src/editor/review";
import { Titles } from "../src/editor/titles";
import { InboxModel } from "../src/inbox/model";
import { inboxItem } from "../src/protocol/inbox";
import { parse } from "../src/protocol/readers";
import { ReviewModel } from "../src/review/model";
import { FakeDaemon, settled } from "./fake/daemon";
import { fake, Range, reset, Uri } from "./fake/vscode";
import { aFile, aHunk } from "./shapes";

const LIST = "/shop/list.txt";
const WIRE = {
  id: "r1",
  kind: "approval",
  session: { id: "s", title: "Tidy up", cwd: "/shop", project: "/shop" },
  since: "2026-01-01T00:00:00Z",
  title: "Write two files",
  edits: ["/shop/a", "/shop/b"].map((path) => ({ path, before: "", after: "x\n" })),
};

let daemon: FakeDaemon;
let model: ReviewModel;
let review: Review;

beforeEach(() => {
  reset();
  daemon = new FakeDaemon();
  model = new ReviewModel();
  review = new Review(daemon.connection, model, () => undefined);
});

describe("a base", () => {
  it("stays as it was known when it cannot be asked for, and is asked for again when the connection is back", async () => {
    const bases = new Bases(review, model, new Places(), daemon.connection);
    const changed: string[] = [];
    bases.onDidChange((uri) => changed.push(uri.path));
    const uri = baseUri(Uri.file(LIST) as never);
    const asked = (): Promise<string> => bases.provideTextDocumentContent(uri);
    daemon.answers.set("_sould/review/base", () => ({ path: LIST, text: "accepted\n" }));
    expect(await asked()).toBe("accepted\n");
    daemon.answers.set("_sould/review/base", () => {
      throw new Error("no connection");
    });
    expect(await asked()).toBe("accepted\n");
    expect(bases.known(LIST)).toBe("accepted\n");
    daemon.become("waiting");
    expect(changed).toEqual([]);
    daemon.become("connected");
    expect(changed).toEqual([LIST]);
  });
});

describe("what waits for the user", () => {
  let waiting: InboxModel;
  let inbox: Inbox;

  beforeEach(() => {
    waiting = new InboxModel();
    inbox = new Inbox(daemon.connection, waiting, () => undefined);
  });

  it("is notified of once, however often the user comes and goes", async () => {
    fake.focused = false;
    waiting.take([parse(inboxItem, WIRE)]);
    expect(fake.notes.size).toBe(1);
    vi.useFakeTimers();
    fake.focusChanged.fire({ focused: true, active: true });
    expect(fake.notes.size).toBe(1); // the click that gave the focus may have been meant for it
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    await settled();
    expect(fake.notes.size).toBe(0);
    waiting.take([parse(inboxItem, WIRE)]);
    expect(fake.notes.size).toBe(0);
    waiting.take([]);
    waiting.take([parse(inboxItem, WIRE)]);
    expect(fake.notes.size).toBe(1);
  });

  it("can be answered and shown from its notification, which goes when it is answered", async () => {
    fake.focused = false;
    const item = parse(inboxItem, { ...WIRE, title: "Read [this](command:evil)" });
    waiting.take([item]);
    const [note = ""] = fake.notes;
    const links = [...note.matchAll(/\[(\w+)\]\(command:([\w.]+)\?(.*?)\)/g)];
    expect(links.map(([, label, command]) => [label, command])).toEqual([
      ["Answer", "sould.answer"],
      ["Show", "sould.showItem"],
    ]);
    const answerer = new Answerer(daemon.connection, waiting, inbox);
    const [given] = JSON.parse(decodeURIComponent(links[0]?.[3] ?? "")) as unknown[];
    expect(answerer.named(given)).toBe(item);
    waiting.take([]);
    await settled();
    expect(fake.notes.size).toBe(0);
    expect(() => answerer.named(given)).toThrow("answered already");
  });

  it("is shown as a tab for each of several files", async () => {
    daemon.answers.set("_sould/inbox/show", () => WIRE);
    await new Answerer(daemon.connection, waiting, inbox).show(parse(inboxItem, WIRE));
    const diffs = fake.ran.filter(([command]) => command === "vscode.diff");
    expect(diffs.map((each) => each[4])).toEqual([{ preview: false }, { preview: false }]);
  });

  it("is allowed once the end of each of several changes was in sight", async () => {
    daemon.answers.set("_sould/inbox/show", () => WIRE);
    const item = parse(inboxItem, { ...WIRE, scopes: [{ scope: "once", label: "Allow once" }] });
    void new Answerer(daemon.connection, waiting, inbox).ask(item);
    await settled();
    const shown = fake.ran.filter(([command]) => command === "vscode.diff").map((each) => each[2] as Uri);
    const looksAt = (at: number, line: number): void => {
      const document = { uri: shown[at], lineCount: 40 };
      fake.visible = [{ document, visibleRanges: [new Range(0, 0, line, 0)] } as never];
      fake.visibleChanged.fire(undefined);
    };
    const canAllow = (): boolean | undefined => fake.lists[0]?.items.some(({ label }) => label === "Allow once");
    looksAt(1, 39);
    expect(canAllow()).toBe(false);
    looksAt(0, 20);
    expect(canAllow()).toBe(false);
    looksAt(0, 39);
    expect(canAllow()).toBe(true);
  });

  it("has no file whose name reads as another one, or as an icon", () => {
    const item = parse(inboxItem, { ...WIRE, edits: [{ path: "/shop/\u202egnp.$(check)\n", before: "", after: "" }] });
    const row = inbox.getTreeItem({ kind: "edit", item, at: 0 });
    expect(row.label).toBe("\\u202egnp.$\u200b(check)\\u000a");
    expect(row.tooltip).toBe("/shop/\\u202egnp.$(check)\\u000a");
  });
});

describe("the title of a session", () => {
  it("is asked for again when something of the session changes, after a failure, too", async () => {
    const titles = new Titles(daemon.connection, model);
    let revision = 0;
    const shown = async (): Promise<string> => {
      revision += 1;
      model.take({ root: "/shop", revision, files: [aFile(LIST, [aHunk({ path: LIST })])], comments: [], round: null });
      titles.of("/shop", "s");
      titles.of("/shop", "s");
      await settled();
      return titles.of("/shop", "s");
    };
    daemon.answers.set("session/list", () => {
      throw new Error("no connection");
    });
    expect(await shown()).toBe("Session s");
    daemon.answers.set("session/list", () => ({ sessions: [{ sessionId: "s", title: "" }] }));
    expect(await shown()).toBe("Session s");
    daemon.answers.set("session/list", () => ({ sessions: [{ sessionId: "s", title: "Tidy up" }] }));
    expect(await shown()).toBe("Tidy up");
    expect(daemon.asked).toHaveLength(3);
  });
});
