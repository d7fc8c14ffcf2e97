import { beforeEach, describe, expect, it } from "vitest";
import { Follower } from "../src/editor/follow";
import { Places } from "../src/editor/places";
import { document, editor, fake, FakeMemento, reset, ViewColumn } from "./fake/vscode";

let memory: FakeMemento;
let follower: Follower;
let current: string | undefined;

beforeEach(() => {
  reset();
  for (const path of ["/shop/a.py", "/shop/b.py"]) {
    fake.documents.set(path, document(path, "one\ntwo\nthree\n"));
  }
  current = "s1";
  memory = new FakeMemento();
  follower = new Follower(memory, new Places(), () => current);
});

const called = (path: string, sessionId = "s1", line?: number): Promise<void> =>
  follower.told("session/update", {
    sessionId,
    update: { sessionUpdate: "tool_call_update", toolCallId: "c", locations: [{ path, line }] },
  });

describe("following the agent", () => {
  it("is off until the user says so, and remembered", async () => {
    await called("/shop/a.py");
    expect(fake.shown).toEqual([]);
    await follower.set(true);
    await called("/shop/a.py");
    expect(fake.shown).toHaveLength(1);
    expect(new Follower(memory, new Places(), () => current).isOn).toBe(true);
  });

  it("shows where the agent is, beside where the user types, without taking the focus", async () => {
    await follower.set(true);
    await called("/shop/a.py", "s1", 2);
    expect(fake.shown).toEqual([
      { uri: "file:///shop/a.py", options: { viewColumn: ViewColumn.Active, preserveFocus: true, preview: true } },
    ]);
    fake.activate(editor(document("/shop/mine.py", "")));
    await called("/shop/b.py");
    expect(fake.shown[1]).toEqual({
      uri: "file:///shop/b.py",
      options: { viewColumn: ViewColumn.Beside, preserveFocus: true, preview: true },
    });
  });

  it("leaves the text alone that the user is in, other sessions, and the same place told again", async () => {
    await follower.set(true);
    fake.activate(editor(document("/shop/a.py", "one\n")));
    await called("/shop/a.py", "s1", 1);
    await called("/shop/b.py", "another");
    expect(fake.shown).toEqual([]);
    await called("/shop/b.py");
    await called("/shop/b.py");
    expect(fake.shown).toHaveLength(1);
  });

  it("goes to the newest place when the agent is quicker than the editor", async () => {
    await follower.set(true);
    await Promise.all([called("/shop/a.py"), called("/shop/a.py", "s1", 2), called("/shop/b.py")]);
    expect(fake.shown.map((each) => each.uri)).toEqual(["file:///shop/a.py", "file:///shop/b.py"]);
  });
});
