/**
 * Terminals that their user shares with agents: what was run in them since, and what it printed. Nothing of any other is ever read.
 *
 * VS Code tells it where its shell integration works, while a command runs; so what was printed before a terminal was shared is not known.
 */
import { stripVTControlCharacters } from "node:util";
import * as vscode from "vscode";
import { Emitter } from "../emitter";
import type { CallResult, StateParams } from "../protocol/editor";
import { type Call, ToolError } from "./call";

/** Characters that are kept of what a command prints, the last ones. */
const MOST_KEPT = 64_000;
/** Data that comes in one piece with the beginning of its command VS Code gives to nobody. */
const SILENT =
  "VS Code passed on no output of it: either there was none, or the command ended too quickly for VS Code to tell.";
/** Commands of a terminal. */
const MOST_COMMANDS = 20;

interface Ran {
  readonly command: string;
  readonly cwd: string;
  output: string;
  exitCode: number | undefined;
  /** All of its output is here. */
  whole: Promise<void>;
}

interface Shared {
  readonly id: string;
  readonly ran: Ran[];
}

export class Terminals implements vscode.Disposable {
  readonly #shared = new Map<vscode.Terminal, Shared>();
  readonly #running = new WeakMap<vscode.TerminalShellExecution, Ran>();
  readonly #changed = new Emitter<undefined>();
  /** Another terminal is shared, or one less. */
  readonly onDidChange = this.#changed.event;
  readonly #subscriptions: { dispose(): void }[];
  #count = 0;

  constructor() {
    this.#subscriptions = [
      this.#changed,
      vscode.window.onDidStartTerminalShellExecution((event) => {
        this.#began(event);
      }),
      vscode.window.onDidEndTerminalShellExecution((event) => {
        this.#ended(event);
      }),
      vscode.window.onDidCloseTerminal((terminal) => {
        this.#forget(terminal);
      }),
    ];
  }

  /** From now on agents may know what is run in this terminal, else in the active one. */
  share(terminal = vscode.window.activeTerminal): void {
    if (terminal === undefined) {
      throw new Error(vscode.l10n.t("There is no terminal to be shared."));
    }
    if (!this.#shared.has(terminal)) {
      this.#count += 1;
      this.#shared.set(terminal, { id: String(this.#count), ran: [] });
      this.#changed.fire(undefined);
    }
    if (terminal.shellIntegration === undefined) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t(
          "sould: VS Code sees what is run in this terminal only where its shell integration works; until it does, agents are told nothing.",
        ),
      );
    }
  }

  /** No terminal is shared any more, and what was kept is gone. */
  unshare(): void {
    this.#shared.clear();
    this.#changed.fire(undefined);
  }

  /** What those that are shared are called. */
  get names(): string[] {
    return [...this.#shared.keys()].map((terminal) => terminal.name);
  }

  /** As the daemon is told. */
  get all(): NonNullable<StateParams["terminals"]> {
    return [...this.#shared].map(([terminal, shared]) => ({ terminalId: shared.id, title: terminal.name }));
  }

  async read(call: Call): Promise<CallResult> {
    const shared = this.#named(call.text("terminalId"));
    if (shared === undefined) {
      throw new ToolError(
        "not_found",
        "The user shares no such terminal; they can by the command Share Terminal With Agents.",
      );
    }
    const last = shared.ran.at(-1);
    if (last === undefined) {
      return { data: { output: "" }, more: "Nothing was run in it since it was shared." };
    }
    // VS Code may tell the end of a command before the end of what it printed.
    await Promise.all(shared.ran.filter((each) => each.exitCode !== undefined).map((each) => each.whole));
    const { command, cwd, exitCode } = last;
    const output = call.flag("lastCommand")
      ? clean(last.output)
      : shared.ran.map((each) => `$ ${each.command}\n${clean(each.output)}`).join("\n");
    const data = { output, command, cwd, ...(exitCode === undefined ? {} : { exitCode }) };
    return last.output === "" && exitCode !== undefined ? { data, more: SILENT } : { data };
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }

  /** That one; without an id the active one, if it is shared, else the one shared last. */
  #named(id: string): Shared | undefined {
    if (id !== "") {
      return [...this.#shared.values()].find((each) => each.id === id);
    }
    const active = vscode.window.activeTerminal;
    return (active && this.#shared.get(active)) ?? [...this.#shared.values()].at(-1);
  }

  #began(event: vscode.TerminalShellExecutionStartEvent): void {
    const shared = this.#shared.get(event.terminal);
    if (shared === undefined) {
      return;
    }
    const { commandLine, cwd } = event.execution;
    const ran: Ran = {
      command: commandLine.value,
      cwd: cwd?.fsPath ?? "",
      output: "",
      exitCode: undefined,
      whole: Promise.resolve(),
    };
    shared.ran.push(ran);
    shared.ran.splice(0, shared.ran.length - MOST_COMMANDS);
    this.#running.set(event.execution, ran);
    ran.whole = collect(event.execution, ran);
  }

  #ended(event: vscode.TerminalShellExecutionEndEvent): void {
    const ran = this.#running.get(event.execution);
    if (ran !== undefined) {
      ran.exitCode = event.exitCode;
    }
  }

  #forget(terminal: vscode.Terminal): void {
    if (this.#shared.delete(terminal)) {
      this.#changed.fire(undefined);
    }
  }
}

async function collect(execution: vscode.TerminalShellExecution, ran: Ran): Promise<void> {
  for await (const data of execution.read()) {
    ran.output = (ran.output + data).slice(-MOST_KEPT);
  }
}

/** Without colours and other sequences; of a line that was written over, what was written last. */
export function clean(output: string): string {
  const lines = stripVTControlCharacters(output).split("\n");
  return lines.map((line) => line.replace(/\r+$/, "").replace(/^.*\r/, "")).join("\n");
}
