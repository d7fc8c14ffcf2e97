/**
 * Tests, as far as VS Code lets an extension run those of others and know what came of them: the project's tasks of the group `test`
 * (`tests_list`, `tests_run`). What other extensions know of single tests it keeps to itself.
 */
import * as vscode from "vscode";
import type { CallResult } from "../protocol/editor";
import { type Call, type Data, ToolError } from "./call";
import { type Ran, runTask, tasksOf } from "./tasks";

const TASKS_ONLY = "VS Code tells extensions nothing of single tests: each of these is a test task of the project.";

export async function list(call: Call): Promise<CallResult> {
  const query = call.text("query").toLowerCase();
  const tests = (await testTasks(call)).map((each) => ({ id: each.name, label: `${each.name} (${each.source})` }));
  const found = tests.filter((each) => each.label.toLowerCase().includes(query));
  return { data: { tests: found.slice(0, call.most) }, more: TASKS_ONLY };
}

export async function run(call: Call): Promise<CallResult> {
  const wanted = chosen(await testTasks(call), call.texts("ids"));
  const until = Date.now() + call.number("timeoutSec", 300) * 1_000;
  const summary: Record<string, number> = {};
  const failures: Data[] = [];
  for (const each of wanted) {
    const ran = await runTask(each, Math.max(0, until - Date.now()), call.signal);
    const status = statusOf(ran);
    summary[status] = (summary[status] ?? 0) + 1;
    if (status !== "passed") {
      failures.push({ id: each.name, status, message: messageOf(ran), output: ran.output });
    }
  }
  return { data: { summary, failures }, more: TASKS_ONLY };
}

/** Raises ToolError where files are asked about. */
async function testTasks(call: Call): Promise<vscode.Task[]> {
  if (call.texts("files").length > 0) {
    throw new ToolError(
      "not_supported",
      "VS Code tells extensions nothing of the tests in a file; leave the files out for the project's test tasks.",
    );
  }
  return (await tasksOf(call)).filter((each) => each.group?.id === vscode.TaskGroup.Test.id);
}

/** Without names the default one, or the only one. Raises ToolError. */
function chosen(all: readonly vscode.Task[], names: readonly string[]): vscode.Task[] {
  if (names.length === 0) {
    const usual = all.find((each) => each.group?.isDefault === true) ?? (all.length === 1 ? all[0] : undefined);
    if (usual !== undefined) {
      return [usual];
    }
  }
  const found = names.map((name) => all.find((each) => each.name === name));
  const missing = names.filter((_, at) => found[at] === undefined);
  if (names.length === 0 || missing.length > 0) {
    const known =
      all.length > 0
        ? `There are: ${all.map((each) => each.name).join(", ")}; say which in ids.`
        : "The project has none.";
    throw new ToolError(
      "not_found",
      `VS Code knows no ${names.length === 0 ? "default test task" : `test task ${missing.join(", ")}`}. ${known}`,
    );
  }
  return found.filter((each) => each !== undefined);
}

function statusOf({ exitCode }: Ran): "passed" | "failed" | "errored" {
  if (exitCode === "late" || exitCode === undefined) {
    return "errored";
  }
  return exitCode === 0 ? "passed" : "failed";
}

function messageOf({ exitCode, output }: Ran): string {
  const unknown = output === "" ? "; what it printed VS Code has not told" : "";
  switch (exitCode) {
    case "late":
      return `It has not ended in time, and goes on${unknown}`;
    case undefined:
      return `It ended, and VS Code does not say how${unknown}`;
    default:
      return `Exited with code ${exitCode}${unknown}`;
  }
}
