import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Places } from "../src/editor/places";
import type { CallResult } from "../src/protocol/editor";
import { Call } from "../src/tools/call";
import { run } from "../src/tools/notebooks";
import { settled } from "./fake/daemon";
import { FakeNotebook, type FakeCell } from "./fake/notebook";
import { document, editor, fake, reset, ViewColumn } from "./fake/vscode";

const TIMING = { startTime: 1, endTime: 2 };

let notebook: FakeNotebook;
let taken: AbortController;

beforeEach(() => {
  reset();
  taken = new AbortController();
  notebook = new FakeNotebook("/shop/a.ipynb", [
    ["one", "1 + 1"],
    ["title", "# A title"],
    ["two", "2 + 2"],
    ["1", "named like a number"],
  ]);
  fake.notebooks.set("/shop/a.ipynb", notebook);
  fake.activate(editor(document("/shop/mine.py", "")));
});

afterEach(() => {
  vi.useRealTimers();
});

const ask = (given: object = {}): Promise<CallResult> => {
  const call = {
    tool: "notebook_run",
    arguments: { file: "/shop/a.ipynb", timeoutSec: 60, ...given },
    root: "/shop",
    directories: [],
    at: null,
    digest: "",
    sessionId: "",
  };
  return run(new Call(call, new Places(), taken.signal));
};

/** A kernel that works at once. */
const works = (cell: FakeCell): void => {
  cell.stands({});
  cell.shows(["text/plain", `of ${cell.document.getText()}`]);
  cell.stands({ executionOrder: cell.index + 10, success: true, timing: TIMING });
};

const numbers = ({ data }: CallResult): unknown[] =>
  (data as { cells: { number: number }[] }).cells.map((each) => each.number);

describe("running a notebook", () => {
  it("runs the cells of code in their order, and says what they show", async () => {
    notebook.onRun(works);
    const told = await ask();
    expect(numbers(told)).toEqual([1, 3, 4]);
    const first = {
      number: 1,
      kind: "code",
      source: "1 + 1",
      id: "one",
      executionCount: 10,
      outputs: [{ kind: "text/plain", text: "of 1 + 1" }],
    };
    expect(told.data).toMatchObject({ file: "/shop/a.ipynb", total: 4, language: "python", cells: [first, {}, {}] });
  });

  it("runs those that are named, ids before numbers, in the order that was asked for", async () => {
    notebook.onRun(works);
    expect(numbers(await ask({ cells: ["two", "1", "3"] }))).toEqual([3, 4, 3]);
    await expect(ask({ cells: ["2"] })).rejects.toThrow("no cell of code 2");
    await expect(ask({ cells: ["none"] })).rejects.toMatchObject({ code: "not_found" });
  });

  it("shows the notebook beside what the user does, who keeps the focus", async () => {
    notebook.onRun(works);
    await ask({ cells: ["one"] });
    expect(fake.notebooksShown).toEqual([
      { notebook, options: { viewColumn: ViewColumn.Beside, preserveFocus: true, preview: false } },
    ]);
    await ask({ cells: ["one"] });
    expect(fake.notebooksShown).toHaveLength(1);
  });

  it("saves what was clean before, and nothing that its user had not saved", async () => {
    notebook.onRun(works);
    await ask({ cells: ["one"] });
    expect(notebook.saved).toBe(1);
    notebook.isDirty = true;
    await ask({ cells: ["one"] });
    expect(notebook.saved).toBe(1);
  });

  it("ends at a cell that fails", async () => {
    notebook.onRun((cell) => {
      cell.stands({});
      const stack = "\u001b[31mNameError\u001b[0m: nowhere";
      cell.shows([
        "application/vnd.code.notebook.error",
        JSON.stringify({ name: "NameError", message: "nowhere", stack }),
      ]);
      cell.stands({ success: false, timing: TIMING });
    });
    const told = await ask();
    expect(numbers(told)).toEqual([1]);
    expect(told.more).toContain("Cell 1 failed");
    expect(told.data).toMatchObject({ cells: [{ outputs: [{ kind: "error", text: "NameError: nowhere" }] }] });
  });

  it("puts together what is printed in pieces, names pictures, and cuts what is long", async () => {
    notebook.onRun((cell) => {
      cell.stands({});
      const stream = "application/vnd.code.notebook.stdout";
      cell.shows(
        [stream, "a"],
        ["application/vnd.code.notebook.stderr", "b"],
        ["image/png", "bytes"],
        ["text/html", "x".repeat(9_000)],
      );
      cell.stands({ success: true, timing: TIMING });
    });
    const { data } = await ask({ cells: ["one"] });
    const outputs = [
      { kind: "stream", text: "ab" },
      { kind: "image/png", text: "" },
      { kind: "text/html", text: `${"x".repeat(8_000)} [...]` },
    ];
    expect(data).toMatchObject({ cells: [{ outputs }] });
  });

  it("takes no run before for this one", async () => {
    let finish = (): void => undefined;
    notebook.onRun((cell) => {
      cell.stands({ success: true, timing: TIMING });
      cell.stands({});
      finish = () => {
        cell.stands({ success: false, timing: TIMING });
      };
      return new Promise(() => undefined);
    });
    const told = ask({ cells: ["one"] });
    await vi.waitFor(() => {
      expect(fake.ran).toHaveLength(1);
    });
    await settled();
    finish();
    expect((await told).more).toContain("failed");
  });

  it("says what the user has to do where there is no kernel", async () => {
    vi.useFakeTimers();
    notebook.onRun((cell) => {
      cell.stands({});
    });
    const told = expect(ask()).rejects.toThrow("the user has to choose a kernel");
    await vi.runAllTimersAsync();
    await told;
  });

  it("does not wait longer than it is told to", async () => {
    notebook.onRun((cell) => {
      cell.stands({});
      return new Promise(() => undefined);
    });
    const told = await ask({ timeoutSec: 0.01 });
    expect(numbers(told)).toEqual([1]);
    expect(told.more).toContain("goes on");
  });

  it("is stopped with the call that is taken back", async () => {
    notebook.onRun(() => new Promise(() => undefined));
    const told = ask({ cells: ["two"] });
    await vi.waitFor(() => {
      expect(fake.ran).toHaveLength(1);
    });
    taken.abort();
    await expect(told).rejects.toThrow("taken back");
    expect(fake.ran.at(-1)).toEqual([
      "notebook.cell.cancelExecution",
      { ranges: [{ start: 2, end: 3 }], document: notebook.uri },
    ]);
  });

  it("is for notebooks only", async () => {
    await expect(ask({ file: "/shop/none.txt" })).rejects.toMatchObject({ code: "not_supported" });
  });
});
