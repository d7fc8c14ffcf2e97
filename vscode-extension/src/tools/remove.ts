/** Without a symbol that nothing uses: `safe_delete`. Refuses where nobody in VS Code knows what uses it. */
import * as vscode from "vscode";
import type { CallResult } from "../protocol/editor";
import { type Call, fileEdits, ToolError } from "./call";
import { symbolsOf, usesOf } from "./language";

export async function remove(call: Call): Promise<CallResult> {
  const document = await call.document();
  const at = call.at(document);
  const symbol = innermost((await symbolsOf(document)) ?? [], at);
  if (symbol === undefined) {
    throw new ToolError("not_found", "VS Code knows no symbol whose name stands at this place.");
  }
  const { start } = symbol.selectionRange;
  const { known, total, groups } = await usesOf(document, start, call, (use) => !isIn(use, document, symbol.range));
  if (known === 0) {
    throw new ToolError("not_supported", `Nothing in VS Code knows what uses ${symbol.name}.`);
  }
  if (total > 0 && !call.flag("force")) {
    return { data: { total, groups } };
  }
  const edits = [await fileEdits(document.uri, [vscode.TextEdit.delete(withItsLines(document, symbol.range))], call)];
  return { data: { total, groups }, edits };
}

function innermost(symbols: readonly vscode.DocumentSymbol[], at: vscode.Position): vscode.DocumentSymbol | undefined {
  for (const symbol of symbols) {
    const found = innermost(symbol.children, at) ?? (symbol.selectionRange.contains(at) ? symbol : undefined);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

function isIn(use: vscode.Location, document: vscode.TextDocument, range: vscode.Range): boolean {
  return use.uri.toString() === document.uri.toString() && range.contains(use.range);
}

/** With the rest of its lines where nothing else stands in them. */
function withItsLines(document: vscode.TextDocument, range: vscode.Range): vscode.Range {
  const before = document.lineAt(range.start.line).text.slice(0, range.start.character);
  const after = document.lineAt(range.end.line).text.slice(range.end.character);
  if (before.trim() !== "" || after.trim() !== "") {
    return range;
  }
  return document.validateRange(new vscode.Range(range.start.line, 0, range.end.line + 1, 0));
}
