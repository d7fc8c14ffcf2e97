import { beforeEach, describe, expect, it } from "vitest";
import { Places } from "../src/editor/places";
import { Call } from "../src/tools/call";
import { Debugging } from "../src/tools/debug";
import { settled } from "./fake/daemon";
import { FakeDebugSession } from "./fake/debug";
import { document, fake, Location, Position, reset, SourceBreakpoint, Uri } from "./fake/vscode";

const ROOT = "/shop";
const FOLDER = { uri: Uri.file(ROOT), name: "shop", index: 0 };
const ELSEWHERE = { uri: Uri.file("/farm"), name: "farm", index: 1 };
const SUM = {
  name: "Sum",
  type: "node",
  request: "launch",
  program: "${workspaceFolder}/sum.js",
  console: "integratedTerminal",
};
const ASKING = { name: "Asking", type: "node", request: "launch", program: "${input:program}" };
const STRANGE = { name: "Strange", type: "strange", request: "launch" };

let debugging: Debugging;
let taken: AbortController;

beforeEach(() => {
  reset();
  taken = new AbortController();
  fake.folders = [FOLDER, ELSEWHERE];
  fake.documents.set("/shop/sum.js", document("/shop/sum.js", "one\ntwo\nthree\n"));
  fake.settings.set("launch.configurations", [SUM, ASKING, STRANGE, { name: "half" }]);
  const attributes = { launch: { properties: { program: {}, console: {} } } };
  fake.manifests.push(
    { name: "other" },
    { contributes: { debuggers: [{ type: "node", configurationAttributes: attributes }] } },
  );
  debugging = new Debugging();
});

const act = async (action: string, given: object = {}): Promise<Record<string, unknown>> => {
  const call = {
    tool: "debug",
    arguments: { action, timeoutSec: 5, ...given },
    root: ROOT,
    directories: [],
    at: null,
    digest: "",
    sessionId: "",
  };
  const answer = await debugging.act(new Call(call, new Places(), taken.signal));
  return answer.data as Record<string, unknown>;
};

const stack = (path = "/shop/sum.js"): { stackFrames: object[] } => ({
  stackFrames: [
    { id: 7, name: "sum", line: 2, source: { path } },
    { id: 8, name: "load", line: 9, source: { path: "<node_internals>/load", sourceReference: 4 } },
  ],
});

const ANSWERS = {
  stackTrace: () => stack(),
  scopes: () => ({
    scopes: [
      { name: "Block", variablesReference: 1 },
      { name: "Local", variablesReference: 2 },
      { name: "Global", variablesReference: 3, expensive: true },
    ],
  }),
  variables: ({ variablesReference }: Record<string, unknown>) => ({
    variables:
      variablesReference === 1
        ? [{ name: "n", value: "1", type: "number" }]
        : [
            { name: "n", value: "outer" },
            { name: "long", value: "x".repeat(999) },
          ],
  }),
};

const begun = (answers = ANSWERS, folder: unknown = FOLDER, name = "Sum"): FakeDebugSession =>
  new FakeDebugSession(name, name, folder, fake.debug, answers);

/** An agent has started a program, which has stopped. */
const started = async (): Promise<[FakeDebugSession, Record<string, unknown>]> => {
  let session: FakeDebugSession | undefined;
  fake.debug.starts = () => {
    session = begun();
    session.says("stopped", { reason: "breakpoint", threadId: 1 });
  };
  const data = await act("start");
  return [session as FakeDebugSession, data];
};

describe("starting a program", () => {
  it("tells where it stopped, its stack and the variables there, the inner ones before those they hide", async () => {
    const [, data] = await started();
    expect(data).toMatchObject({ state: "stopped", reason: "breakpoint" });
    const variables = [
      { name: "n", value: "1", type: "number" },
      { name: "long", value: `${"x".repeat(300)} [...]`, type: "" },
    ];
    expect(data["frames"]).toEqual([
      { name: "sum", file: "/shop/sum.js", line: 2, variables },
      { name: "load", file: "", line: 9 },
    ]);
  });

  it("opens no view and no terminal, and saves nothing", async () => {
    await started();
    expect(fake.debug.started[0]?.options).toEqual({ suppressDebugView: true, suppressSaveBeforeStart: true });
    expect(fake.debug.started[0]?.configuration).toMatchObject({
      ...SUM,
      internalConsoleOptions: "neverOpen",
      console: "internalConsole",
    });
  });

  it("keeps VS Code from going where the agent's program stops, and leaves the user's own alone", async () => {
    const [session] = await started();
    expect(session.says("stopped", { reason: "step", threadId: 1 })["preserveFocusHint"]).toBe(true);
    expect(begun().says("stopped", { reason: "step", threadId: 1 })["preserveFocusHint"]).toBeUndefined();
  });

  it("waits for its end, with what it printed and its code", async () => {
    fake.debug.starts = () => {
      const root = begun();
      const child = new FakeDebugSession("child", "sum.js [1]", FOLDER, fake.debug, {}, root);
      child.says("output", { category: "stdout", output: "six\n" });
      child.says("output", { category: "telemetry", output: "noise" });
      root.says("exited", { exitCode: 3 });
      fake.debug.ends(child);
      fake.debug.ends(root);
    };
    expect(await act("start")).toEqual({ state: "ended", reason: "Exited with code 3", output: "six\n" });
  });

  it("says that it runs when it does not stop in time", async () => {
    fake.debug.starts = () => {
      begun();
    };
    expect(await act("start", { timeoutSec: 0.01 })).toMatchObject({ state: "running" });
  });

  it("ends with the call that is taken back", async () => {
    fake.debug.starts = () => {
      begun();
    };
    const start = act("start");
    await settled();
    taken.abort();
    await expect(start).rejects.toThrow("taken back");
    expect(fake.debug.stopped).toHaveLength(1);
  });

  it("refuses what asks the user, what VS Code has no debugger for, what is not there, and a second one", async () => {
    await expect(act("start", { configuration: "Asking" })).rejects.toMatchObject({ code: "denied" });
    await expect(act("start", { configuration: "Strange" })).rejects.toMatchObject({ code: "not_supported" });
    await expect(act("start", { configuration: "None" })).rejects.toThrow("There are: Sum, Asking, Strange");
    await expect(act("start")).rejects.toMatchObject({ code: "failed" });
    await started();
    await expect(act("start")).rejects.toMatchObject({ code: "busy" });
  });
});

describe("a program that has stopped", () => {
  it("steps, and is told where it stands then", async () => {
    const [session] = await started();
    session.answers["stepIn"] = () => ({});
    const step = act("step", { step: "into" });
    await settled();
    expect(session.asked.at(-1)).toEqual({ command: "stepIn", given: { threadId: 1 } });
    session.says("stopped", { reason: "step", description: "Paused", text: "on a step", threadId: 1 });
    expect(await step).toMatchObject({ state: "stopped", reason: "Paused: on a step" });
  });

  it("evaluates in the frame that is named", async () => {
    const [session] = await started();
    session.answers["evaluate"] = () => ({ result: "6" });
    expect(await act("eval", { expression: "n * 6", frame: 1 })).toMatchObject({ state: "stopped", value: "6" });
    expect(session.asked.at(-1)?.given).toEqual({ expression: "n * 6", frameId: 8, context: "repl" });
    await expect(act("eval", { expression: "n", frame: 2 })).rejects.toMatchObject({ code: "not_found" });
  });

  it("is not waited for longer than the call says", async () => {
    const [session] = await started();
    session.answers["evaluate"] = () => new Promise(() => undefined);
    await expect(act("eval", { expression: "for (;;) {}", timeoutSec: 0.01 })).rejects.toMatchObject({
      code: "timeout",
    });
  });

  it("goes on when its user goes on", async () => {
    const [session] = await started();
    session.hears("continue");
    expect(await act("stack")).toMatchObject({ state: "running" });
    await expect(act("step")).rejects.toMatchObject({ code: "busy" });
  });

  it("ends at the agent's wish only if an agent started it", async () => {
    const [session] = await started();
    const users = begun(ANSWERS, FOLDER, "Mine");
    expect(await act("stop")).toMatchObject({ state: "ended" });
    expect(fake.debug.stopped).toEqual([session]);
    users.says("stopped", { reason: "pause", threadId: 1 });
    expect(await act("stack")).toMatchObject({ state: "stopped" });
    await expect(act("stop")).rejects.toMatchObject({ code: "denied" });
  });

  it("of another project is nobody's to look at", async () => {
    begun(ANSWERS, ELSEWHERE, "Farm").says("stopped", { reason: "pause", threadId: 1 });
    new FakeDebugSession("loose", "Loose", undefined, fake.debug, ANSWERS).says("stopped", {
      reason: "pause",
      threadId: 1,
    });
    expect(await act("stack")).toMatchObject({ state: "ended" });
    await expect(act("eval", { expression: "n" })).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("breakpoints", () => {
  it("are set, changed and taken away again by an agent", async () => {
    await act("breakpoint", { file: "/shop/sum.js", line: 2 });
    await act("breakpoint", { file: "/shop/sum.js", line: 2, condition: "n > 1" });
    expect(fake.debug.breakpoints).toMatchObject([{ condition: "n > 1", location: { range: { start: { line: 1 } } } }]);
    await act("breakpoint", { file: "/shop/sum.js", line: 2, remove: true });
    expect(fake.debug.breakpoints).toEqual([]);
    await expect(act("breakpoint", { file: "/shop/sum.js", line: 9 })).rejects.toMatchObject({ code: "not_found" });
  });

  it("of the user stay", async () => {
    const own = new SourceBreakpoint(new Location(Uri.file("/shop/sum.js"), new Position(1, 0)));
    fake.debug.breakpoints = [own];
    await expect(act("breakpoint", { file: "/shop/sum.js", line: 2, remove: true })).rejects.toMatchObject({
      code: "denied",
    });
    expect(fake.debug.breakpoints).toEqual([own]);
  });
});
