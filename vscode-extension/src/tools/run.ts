/** What runs something at an agent's wish: tasks of the project, and those commands of VS Code that the user has allowed. */
import * as vscode from "vscode";
import type { CallResult } from "../protocol/editor";
import { type Call, type Data, ToolError } from "./call";
import { problemOf } from "./problems";
import { runTask, tasksOf } from "./tasks";
import { within } from "./waiting";

const MOST_PROBLEMS = 50;
/** What a command may take. Milliseconds. */
const PATIENCE = 14_000;
const SILENT = "VS Code passed on nothing that the task printed; its user sees that in the terminal.";

/** The commands that agents may run here; the setting is the user's own, never a project's. */
export function allowedCommands(): string[] {
  const given: unknown = vscode.workspace.getConfiguration("sould").get("allowedCommands");
  return Array.isArray(given) ? given.filter((each) => typeof each === "string") : [];
}

export async function command(call: Call): Promise<CallResult> {
  const name = call.text("command");
  if (!allowedCommands().includes(name)) {
    throw new ToolError("denied", `The user has not allowed ${name}: it is not in the setting sould.allowedCommands.`);
  }
  if (!(await vscode.commands.getCommands(true)).includes(name)) {
    throw new ToolError("not_found", `VS Code has no command ${name}.`);
  }
  const result = await within<unknown>(
    vscode.commands.executeCommand(name, ...call.list("args")),
    PATIENCE,
    call.signal,
  );
  return { data: { result: asJson(result) } };
}

/** A result may be anything, also what refers to itself. */
function asJson(result: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(result ?? null));
  } catch {
    return null;
  }
}

export async function tasks(call: Call): Promise<CallResult> {
  const described = (await tasksOf(call)).map((task) => ({ name: task.name, detail: task.detail ?? task.source }));
  return { data: { tasks: described.slice(0, call.most) } };
}

export async function task(call: Call): Promise<CallResult> {
  const name = call.text("name");
  const found = (await tasksOf(call)).find((each) => each.name === name);
  if (found === undefined) {
    throw new ToolError("not_found", `VS Code knows no task that is called ${name}.`);
  }
  const before = new Set(problems(call).map(keyOf));
  const { exitCode, output } = await runTask(found, call.number("timeoutSec", 300) * 1_000, call.signal);
  const fresh = problems(call).filter((each) => !before.has(keyOf(each)));
  const data: Data = {
    outputTail: output,
    problems: fresh.slice(0, MOST_PROBLEMS),
    ...(typeof exitCode === "number" ? { exitCode } : {}),
  };
  return { data, ...(output === "" ? { more: SILENT } : {}) };
}

function problems(call: Call): Data[] {
  return vscode.languages
    .getDiagnostics()
    .flatMap(([uri, found]) => found.flatMap((each) => problemOf(uri, each, call) ?? []));
}

function keyOf(problem: Data): string {
  return JSON.stringify(problem);
}
