/** What runs something at an agent's wish: tasks of the project, and those commands of VS Code that the user has allowed. */
import * as vscode from "vscode";
import type { CallResult } from "../protocol/editorshapes";
import { type Call, type Data, isRelated, ToolError } from "./call";
import { problemOf } from "./problems";
import { until } from "./waiting";

const MOST_PROBLEMS = 50;

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
  const result: unknown = await vscode.commands.executeCommand(name, ...call.list("args"));
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
  return { data: { tasks: described.slice(0, call.number("limit", 100)) } };
}

async function tasksOf(call: Call): Promise<vscode.Task[]> {
  const here = (task: vscode.Task): boolean => {
    const root = typeof task.scope === "object" ? call.places.rootOf(task.scope) : undefined;
    return root === undefined || isRelated(root, call.root);
  };
  return (await vscode.tasks.fetchTasks()).filter(here);
}

export async function task(call: Call): Promise<CallResult> {
  const name = call.text("name");
  const found = (await tasksOf(call)).find((each) => each.name === name);
  if (found === undefined) {
    throw new ToolError("not_found", `VS Code knows no task that is called ${name}.`);
  }
  if (vscode.tasks.taskExecutions.some((each) => each.task.name === name)) {
    throw new ToolError("busy", `The task ${name} runs already.`);
  }
  if (takesFocus(found)) {
    throw new ToolError("denied", `The task ${name} takes the focus or asks the user something, so only the user starts it.`);
  }
  const before = new Set(problems(call).map(keyOf));
  const ended = await run(found, call.number("timeoutSec", 300) * 1_000, call.signal);
  const data: Data = { outputTail: "", problems: problems(call).filter((each) => !before.has(keyOf(each))).slice(0, MOST_PROBLEMS) };
  const more = "VS Code does not tell what a task prints; its user sees that in the terminal.";
  return { data: ended?.exitCode === undefined ? data : { ...data, exitCode: ended.exitCode }, more };
}

function takesFocus(found: vscode.Task): boolean {
  const { focus } = found.presentationOptions;
  return focus === true || asksUser(found.execution);
}

/** What VS Code would ask the user for before it starts this. */
export function asksUser(started: unknown): boolean {
  return /\$\{(input|command):/.test(JSON.stringify(started ?? {}));
}

/** undefined: it has not ended in time, and goes on. It ends with a call that is taken back. */
async function run(found: vscode.Task, milliseconds: number, signal: AbortSignal): Promise<{ exitCode: number | undefined } | undefined> {
  const codes = new Map<vscode.TaskExecution, number | undefined>();
  const ended = new Set<vscode.TaskExecution>();
  const changed = new vscode.EventEmitter<void>();
  const listening = [
    changed,
    vscode.tasks.onDidEndTaskProcess((event) => codes.set(event.execution, event.exitCode)),
    vscode.tasks.onDidEndTask((event) => { ended.add(event.execution); changed.fire(); }),
  ];
  const execution = await vscode.tasks.executeTask(found);
  try {
    const done = (): boolean => ended.has(execution);
    return (await until(done, changed.event, milliseconds, signal)) ? { exitCode: codes.get(execution) } : undefined;
  } catch (problem) {
    execution.terminate();
    throw problem;
  } finally {
    listening.forEach((each) => { each.dispose(); });
  }
}

function problems(call: Call): Data[] {
  return vscode.languages.getDiagnostics().flatMap(([uri, found]) => found.flatMap((each) => problemOf(uri, each, call) ?? []));
}

function keyOf(problem: Data): string {
  return JSON.stringify(problem);
}
