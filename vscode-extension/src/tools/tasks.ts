/** Tasks of the project, run at an agent's wish: what each comes to, and what it prints as far as VS Code's shell integration tells. */
import * as vscode from "vscode";
import { type Call, isRelated, ToolError } from "./call";
import { clean } from "./terminals";
import { until } from "./waiting";

/** Characters that are kept of what a task prints, the last ones. */
const MOST_KEPT = 8_000;
/** What a terminal needs to tell the rest, after the end of its task. Milliseconds. */
const REST = 2_000;

/** What a task came to. */
export interface Ran {
  /** "late": it has not ended in time, and goes on; undefined: VS Code does not know. */
  readonly exitCode: number | "late" | undefined;
  readonly output: string;
}

/** The tasks that belong to the project of a call. */
export async function tasksOf(call: Call): Promise<vscode.Task[]> {
  const here = (task: vscode.Task): boolean => {
    const root = typeof task.scope === "object" ? call.places.rootOf(task.scope) : undefined;
    return root === undefined || isRelated(root, call.root);
  };
  return (await vscode.tasks.fetchTasks()).filter(here);
}

/** Runs a task to its end, or until the time is over; it ends with a call that is taken back. Raises ToolError. */
export async function runTask(found: vscode.Task, milliseconds: number, signal: AbortSignal): Promise<Ran> {
  if (vscode.tasks.taskExecutions.some((each) => each.task.name === found.name)) {
    throw new ToolError("busy", `The task ${found.name} runs already.`);
  }
  if (takesFocus(found)) {
    throw new ToolError(
      "denied",
      `The task ${found.name} takes the focus or asks the user something, so only the user starts it.`,
    );
  }
  const watched = new Watched();
  try {
    const execution = await vscode.tasks.executeTask(found);
    return await watched.end(execution, milliseconds, signal);
  } finally {
    watched.dispose();
  }
}

function takesFocus(found: vscode.Task): boolean {
  const { focus } = found.presentationOptions;
  return focus === true || asksUser(found.execution);
}

/** What VS Code would ask the user for before it starts this. */
export function asksUser(started: unknown): boolean {
  return /\$\{(input|command):/.test(JSON.stringify(started ?? {}));
}

/** What VS Code tells of tasks, from before one is started: quick ones may have ended by the time it is known which one it is. */
class Watched implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #printed = new Printed();
  readonly #processes = new Map<vscode.TaskExecution, number | undefined>();
  readonly #codes = new Map<vscode.TaskExecution, number | undefined>();
  readonly #ended = new Set<vscode.TaskExecution>();
  readonly #listening: { dispose(): void }[] = [
    this.#changed,
    this.#printed,
    vscode.tasks.onDidStartTaskProcess((event) => {
      this.#processes.set(event.execution, event.processId);
      this.#changed.fire();
    }),
    vscode.tasks.onDidEndTaskProcess((event) => {
      this.#codes.set(event.execution, event.exitCode);
    }),
    vscode.tasks.onDidEndTask((event) => {
      this.#ended.add(event.execution);
      this.#changed.fire();
    }),
  ];

  async end(execution: vscode.TaskExecution, milliseconds: number, signal: AbortSignal): Promise<Ran> {
    const done = (): boolean => {
      this.#printed.by(this.#processes.get(execution));
      return this.#ended.has(execution);
    };
    try {
      const ended = await until(done, this.#changed.event, milliseconds, signal);
      const output = await this.#printed.all(this.#processes.get(execution), ended ? REST : 0);
      return { exitCode: ended ? this.#codes.get(execution) : "late", output };
    } catch (problem) {
      execution.terminate();
      throw problem;
    }
  }

  dispose(): void {
    this.#listening.forEach((each) => {
      each.dispose();
    });
  }
}

/** What is printed in terminals meanwhile: nothing is looked at before it is known to be the task's, and that of others never. */
class Printed implements vscode.Disposable {
  readonly #held = new Set<{ readonly terminal: vscode.Terminal; readonly data: AsyncIterable<string> }>();
  readonly #reading: Promise<void>[] = [];
  readonly #listening: vscode.Disposable;
  #output = "";
  #closed = false;

  constructor() {
    this.#listening = vscode.window.onDidStartTerminalShellExecution(({ terminal, execution }) => {
      this.#held.add({ terminal, data: execution.read() });
    });
  }

  dispose(): void {
    this.#closed = true;
    this.#listening.dispose();
    this.#held.clear();
  }

  /** This is the task's process, and its terminal's. */
  by(process: number | undefined): void {
    if (process !== undefined) {
      void this.#find(process);
    }
  }

  async all(process: number | undefined, milliseconds: number): Promise<string> {
    if (process !== undefined) {
      await this.#find(process); // VS Code may tell late which process a terminal has that it uses again
    }
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds);
    });
    await Promise.race([Promise.all(this.#reading), late]);
    clearTimeout(timer);
    return clean(this.#output);
  }

  async #find(process: number): Promise<void> {
    for (const held of this.#held) {
      if ((await held.terminal.processId) === process && this.#held.delete(held)) {
        this.#reading.push(this.#read(held.data));
      }
    }
  }

  async #read(data: AsyncIterable<string>): Promise<void> {
    for await (const piece of data) {
      if (this.#closed) {
        return;
      }
      this.#output = (this.#output + piece).slice(-MOST_KEPT);
    }
  }
}
