/** VS Code's debugging, as far as host code has to do with it: a test is the debugger, which says what happens and answers what is asked. */
import type * as vscode from "vscode";

type Answer = (given: Record<string, unknown>) => unknown;

export class FakeDebugSession {
  readonly id: string;
  readonly name: string;
  readonly parentSession: FakeDebugSession | undefined;
  readonly workspaceFolder: unknown;
  readonly asked: { command: string; given: Record<string, unknown> }[] = [];
  readonly answers: Record<string, Answer>;
  readonly #tracker: vscode.DebugAdapterTracker | undefined;

  constructor(
    id: string,
    name: string,
    folder: unknown,
    debug: FakeDebug,
    answers: Record<string, Answer> = {},
    parent?: FakeDebugSession,
  ) {
    this.id = id;
    this.name = name;
    this.workspaceFolder = folder;
    this.parentSession = parent;
    this.answers = answers;
    this.#tracker = debug.factory?.createDebugAdapterTracker(this.real) as vscode.DebugAdapterTracker | undefined;
  }

  get real(): vscode.DebugSession {
    return this as unknown as vscode.DebugSession;
  }

  /** The debugger says something; what VS Code reads of it is the result. */
  says(event: string, body: Record<string, unknown> = {}): Record<string, unknown> {
    const message = { type: "event", event, body };
    this.#tracker?.onDidSendMessage?.(message);
    return message.body;
  }

  /** VS Code asks something of the debugger, as when its user steps. */
  hears(command: string): void {
    this.#tracker?.onWillReceiveMessage?.({ type: "request", command, arguments: {} });
  }

  customRequest(command: string, given: Record<string, unknown> = {}): Promise<unknown> {
    this.hears(command);
    this.asked.push({ command, given });
    const answer = this.answers[command];
    return answer ? Promise.resolve(answer(given)) : new Promise(() => undefined);
  }
}

export class FakeDebug {
  factory: vscode.DebugAdapterTrackerFactory | undefined;
  /** What starting a program comes to; undefined: VS Code cannot. */
  starts: ((configuration: vscode.DebugConfiguration) => void) | undefined;
  readonly started: { folder: unknown; configuration: vscode.DebugConfiguration; options: unknown }[] = [];
  readonly stopped: FakeDebugSession[] = [];
  breakpoints: readonly unknown[] = [];
  readonly #listening = new Set<(session: vscode.DebugSession) => unknown>();

  ends(session: FakeDebugSession): void {
    this.#listening.forEach((each) => each(session.real));
  }

  get api(): Partial<typeof vscode.debug> {
    return {
      breakpoints: this.breakpoints as vscode.Breakpoint[],
      registerDebugAdapterTrackerFactory: (_: string, factory: vscode.DebugAdapterTrackerFactory) => {
        this.factory = factory;
        return {
          dispose: () => {
            this.factory = undefined;
          },
        };
      },
      onDidTerminateDebugSession: (listener) => {
        this.#listening.add(listener);
        return { dispose: () => this.#listening.delete(listener) };
      },
      startDebugging: (folder, given, options) => {
        const configuration = given as vscode.DebugConfiguration;
        this.started.push({ folder, configuration, options });
        this.starts?.(configuration);
        return Promise.resolve(this.starts !== undefined);
      },
      stopDebugging: (session) => {
        const one = session as unknown as FakeDebugSession;
        this.stopped.push(one);
        this.ends(one);
        return Promise.resolve();
      },
      addBreakpoints: (added) => {
        this.breakpoints = [...this.breakpoints, ...added];
      },
      removeBreakpoints: (removed) => {
        this.breakpoints = this.breakpoints.filter((each) => !(removed as readonly unknown[]).includes(each));
      },
    };
  }
}
