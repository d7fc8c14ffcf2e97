import { beforeEach, describe, expect, it } from "vitest";
import { Places } from "../src/editor/places";
import type { CallResult } from "../src/protocol/editor";
import { Call } from "../src/tools/call";
import { task } from "../src/tools/run";
import { list, run } from "../src/tools/tests";
import { settled } from "./fake/daemon";
import { FakeTask } from "./fake/tasks";
import { fake, reset, TaskGroup } from "./fake/vscode";

let taken: AbortController;

beforeEach(() => {
  reset();
  taken = new AbortController();
});

const asking = (does: (call: Call) => Promise<CallResult>, given: object = {}): Promise<CallResult> => {
  const call = {
    tool: "a tool",
    arguments: { timeoutSec: 60, ...given },
    root: "/shop",
    directories: [],
    at: null,
    digest: "",
    sessionId: "",
  };
  return does(new Call(call, new Places(), taken.signal));
};

/** A task that ends at once with a code, and prints before. */
const ending = (name: string, code: number | undefined, printed = "", about: object = {}): FakeTask =>
  new FakeTask(
    name,
    (tasks, execution) => {
      if (printed !== "") {
        tasks.prints(7, printed);
      }
      tasks.begins(execution, 7);
      tasks.ends(execution, code);
    },
    about,
  );

describe("running a task", () => {
  it("tells its code and what it printed, also when it ended before VS Code said which it is", async () => {
    fake.tasks.all = [ending("check", 3, "\u001b[31mone\u001b[0m\r\ntwo\n")];
    expect(await asking(task, { name: "check" })).toEqual({
      data: { exitCode: 3, outputTail: "one\ntwo\n", problems: [] },
    });
  });

  it("looks at nothing that another terminal prints meanwhile", async () => {
    fake.tasks.all = [
      new FakeTask("check", (tasks, execution) => {
        tasks.prints(8, "a secret of the user");
        tasks.begins(execution, 7);
        tasks.ends(execution, 0);
      }),
    ];
    const { data, more } = await asking(task, { name: "check" });
    expect(data).toEqual({ exitCode: 0, outputTail: "", problems: [] });
    expect(more).toContain("passed on nothing");
  });

  it("goes on when it does not end in time, and ends with the call that is taken back", async () => {
    fake.tasks.all = [
      new FakeTask("watch", (tasks, execution) => {
        tasks.prints(7, "so far");
        tasks.begins(execution, 7);
      }),
    ];
    expect((await asking(task, { name: "watch", timeoutSec: 0.05 })).data).toEqual({
      outputTail: "so far",
      problems: [],
    });
    const [execution] = fake.tasks.executions.splice(0);
    expect(execution?.terminated).toBe(false);
    const again = asking(task, { name: "watch" });
    await settled();
    taken.abort();
    await expect(again).rejects.toThrow("taken back");
    expect(fake.tasks.executions[0]?.terminated).toBe(true);
  });

  it("refuses what runs already, what takes the focus, what asks the user, and what is not there", async () => {
    fake.tasks.all = [
      new FakeTask("runs", () => undefined),
      ending("greedy", 0, "", { presentationOptions: { focus: true } }),
      ending("asks", 0, "", { execution: { commandLine: "echo ${input:name}" } }),
    ];
    await asking(task, { name: "runs", timeoutSec: 0.01 });
    await expect(asking(task, { name: "runs" })).rejects.toMatchObject({ code: "busy" });
    await expect(asking(task, { name: "greedy" })).rejects.toMatchObject({ code: "denied" });
    await expect(asking(task, { name: "asks" })).rejects.toMatchObject({ code: "denied" });
    await expect(asking(task, { name: "none" })).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("tests", () => {
  const TEST = { group: { id: TaskGroup.Test.id, isDefault: false } };
  const DEFAULT = { group: { id: TaskGroup.Test.id, isDefault: true } };

  it("are the test tasks of the project", async () => {
    fake.tasks.all = [
      ending("unit", 0, "", TEST),
      ending("build", 0, "", { group: TaskGroup.Build }),
      ending("browser", 0, "", DEFAULT),
    ];
    expect((await asking(list)).data).toEqual({
      tests: [
        { id: "unit", label: "unit (Workspace)" },
        { id: "browser", label: "browser (Workspace)" },
      ],
    });
    expect((await asking(list, { query: "BROW" })).data).toMatchObject({ tests: [{ id: "browser" }] });
    await expect(asking(list, { files: ["/shop/a.py"] })).rejects.toMatchObject({ code: "not_supported" });
  });

  it("run one after another; of those that do not pass it is said why", async () => {
    fake.tasks.all = [
      ending("unit", 2, "one is wrong\n", TEST),
      ending("browser", 0, "all well\n", TEST),
      ending("odd", undefined, "", TEST),
    ];
    const { data } = await asking(run, { ids: ["unit", "browser", "odd"] });
    expect(data).toEqual({
      summary: { passed: 1, failed: 1, errored: 1 },
      failures: [
        { id: "unit", status: "failed", message: "Exited with code 2", output: "one is wrong\n" },
        {
          id: "odd",
          status: "errored",
          message: "It ended, and VS Code does not say how; what it printed VS Code has not told",
          output: "",
        },
      ],
    });
  });

  it("are the default ones, or the only ones, where none are named", async () => {
    fake.tasks.all = [ending("unit", 1, "", TEST), ending("browser", 0, "", DEFAULT)];
    expect((await asking(run)).data).toEqual({ summary: { passed: 1 }, failures: [] });
    fake.tasks.all = [ending("unit", 0, "", TEST), ending("browser", 0, "", TEST)];
    await expect(asking(run)).rejects.toThrow("There are: unit, browser");
    fake.tasks.all = [];
    await expect(asking(run)).rejects.toThrow("The project has none");
    await expect(asking(run, { ids: ["unit"] })).rejects.toMatchObject({ code: "not_found" });
  });

  it("that do not end in time go on", async () => {
    fake.tasks.all = [
      new FakeTask(
        "slow",
        (tasks, execution) => {
          tasks.begins(execution, 7);
        },
        TEST,
      ),
    ];
    expect((await asking(run, { timeoutSec: 0.01 })).data).toMatchObject({
      summary: { errored: 1 },
      failures: [{ status: "errored" }],
    });
  });
});
