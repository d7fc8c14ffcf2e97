/** The tools that show something, save, or list what is wrong. Nothing here takes the focus unless the user asked the agent for that. */
import * as vscode from "vscode";
import { reveal } from "../editor/reveal";
import type { CallResult } from "../protocol/editorshapes";
import { type Call, type Data, spanOf, ToolError } from "./call";

const SEVERITIES = ["error", "warning", "information", "hint"] as const;

export async function open(call: Call): Promise<CallResult> {
  const document = await call.document();
  const start = call.at(document);
  const last = call.number("endLine", start.line + 1) - 1;
  const range = document.validateRange(new vscode.Range(start, new vscode.Position(Math.max(start.line, last), 0)));
  await reveal(document, range, { beside: call.text("column") === "beside", focus: call.flag("focus") });
  return { data: { opened: true, by: vscode.env.appName } };
}

export async function save(call: Call): Promise<CallResult> {
  const saved: string[] = [];
  for (const file of call.texts("files")) {
    const document = call.places.documentOf(file);
    if (document === undefined) {
      throw new ToolError("not_found", `${file} is not open in VS Code.`);
    }
    if (!document.isDirty || (await document.save())) {
      saved.push(file);
    }
  }
  return { data: { saved } };
}

/** What the language servers of this VS Code say now. They are given a moment when they have just been told of a file. */
export async function diagnostics(call: Call): Promise<CallResult> {
  const files = call.texts("files");
  const asked = await Promise.all(files.map((file) => call.document(file)));
  if (asked.some((document) => vscode.languages.getDiagnostics(document.uri).length === 0)) {
    await changeOrMoment(call.number("waitMs", 1_500));
  }
  const wanted = new Set(asked.map((document) => document.uri.toString()));
  const worst = SEVERITIES.indexOf(call.text("minSeverity") as (typeof SEVERITIES)[number]);
  const items = vscode.languages
    .getDiagnostics()
    .filter(([uri]) => (wanted.size > 0 ? wanted.has(uri.toString()) : isInScope(uri, call)))
    .flatMap(([uri, found]) => found.flatMap((each) => problem(uri, each, call) ?? []))
    .filter((each) => SEVERITIES.indexOf(each.severity) <= (worst < 0 ? 1 : worst));
  items.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
  const counts: Record<string, number> = {};
  for (const each of items) {
    counts[each.severity] = (counts[each.severity] ?? 0) + 1;
  }
  return { data: { items: items.slice(0, call.number("limit", 100)), counts } };
}

interface Problem extends Data {
  readonly severity: (typeof SEVERITIES)[number];
}

function problem(uri: vscode.Uri, found: vscode.Diagnostic, call: Call): Problem | undefined {
  const file = call.path(uri);
  const severity = SEVERITIES[found.severity];
  if (file === undefined) {
    return undefined;
  }
  const code = typeof found.code === "object" ? found.code.value : (found.code ?? "");
  return { file, range: spanOf(found.range), severity, message: found.message, code: String(code), source: found.source ?? "" };
}

function isInScope(uri: vscode.Uri, call: Call): boolean {
  const file = call.path(uri);
  if (file === undefined || !file.startsWith(`${call.root}/`)) {
    return false;
  }
  return call.text("scope") === "workspace" || vscode.workspace.textDocuments.some((each) => each.uri.toString() === uri.toString());
}

function changeOrMoment(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const listening = vscode.languages.onDidChangeDiagnostics(() => { end(); });
    const timer = setTimeout(() => { end(); }, milliseconds);
    const end = (): void => {
      listening.dispose();
      clearTimeout(timer);
      resolve();
    };
  });
}

export async function tasks(call: Call): Promise<CallResult> {
  const found = await vscode.tasks.fetchTasks();
  const described = found.map((task) => ({ name: task.name, detail: task.detail ?? task.source }));
  return { data: { tasks: described.slice(0, call.number("limit", 100)) } };
}
