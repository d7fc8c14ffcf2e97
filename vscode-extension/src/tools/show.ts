/** The tools that show a place, and save. Nothing here takes the focus unless the user asked the agent for that. */
import * as vscode from "vscode";
import { reveal } from "../editor/reveal";
import type { CallResult } from "../protocol/editor";
import { type Call, ToolError } from "./call";

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
