/** Tasks and the terminals they run in, as VS Code tells of them: a test says what happens. */
import type * as vscode from "vscode";
import { EventEmitter } from "./values";

interface Told {
  readonly execution: FakeExecution;
  readonly processId?: number;
  readonly exitCode?: number | undefined;
}

export class FakeExecution {
  readonly task: FakeTask;
  terminated = false;

  constructor(task: FakeTask) {
    this.task = task;
  }

  terminate(): void {
    this.terminated = true;
  }
}

export class FakeTask {
  readonly name: string;
  readonly source = "Workspace";
  readonly group: object | undefined;
  readonly scope = 2;
  readonly presentationOptions: object;
  readonly execution: object;
  /** What happens when it is run. */
  readonly does: (tasks: FakeTasks, execution: FakeExecution) => void;

  constructor(
    name: string,
    does: FakeTask["does"],
    about: { group?: object; presentationOptions?: object; execution?: object } = {},
  ) {
    this.name = name;
    this.does = does;
    this.group = about.group;
    this.presentationOptions = about.presentationOptions ?? {};
    this.execution = about.execution ?? { commandLine: "true" };
  }
}

export class FakeTasks {
  all: FakeTask[] = [];
  readonly executions: FakeExecution[] = [];
  readonly #began = new EventEmitter<Told>();
  readonly #left = new EventEmitter<Told>();
  readonly #ended = new EventEmitter<Told>();
  readonly printed = new EventEmitter<unknown>();

  /** A process of a terminal prints. */
  prints(processId: number, ...pieces: string[]): void {
    const read = async function* (): AsyncGenerator<string> {
      await Promise.resolve();
      yield* pieces;
    };
    this.printed.fire({ terminal: { name: "a terminal", processId: Promise.resolve(processId) }, execution: { read } });
  }

  begins(execution: FakeExecution, processId: number): void {
    this.#began.fire({ execution, processId });
  }

  ends(execution: FakeExecution, exitCode?: number): void {
    this.#left.fire({ execution, exitCode });
    this.executions.splice(this.executions.indexOf(execution), 1);
    this.#ended.fire({ execution });
  }

  get api(): Partial<typeof vscode.tasks> {
    const some = (value: unknown): never => value as never;
    return {
      taskExecutions: some(this.executions),
      fetchTasks: () => Promise.resolve(some(this.all)),
      executeTask: (task) => {
        const execution = new FakeExecution(task as unknown as FakeTask);
        this.executions.push(execution);
        execution.task.does(this, execution);
        return Promise.resolve(some(execution));
      },
      onDidStartTaskProcess: (listener) =>
        this.#began.event((told) => {
          listener(some(told));
        }),
      onDidEndTaskProcess: (listener) =>
        this.#left.event((told) => {
          listener(some(told));
        }),
      onDidEndTask: (listener) =>
        this.#ended.event((told) => {
          listener(some(told));
        }),
    };
  }
}
