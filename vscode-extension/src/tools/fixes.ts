/**
 * What language servers offer to do at a place, and doing it: `quick_fixes`, `apply_quick_fix`; and formatting, `doc_format`.
 *
 * Only what comes as edits of text is offered: what is done by a command of VS Code's, nobody could review before it is done.
 */
import * as vscode from "vscode";
import type { CallResult, FileEditsParams } from "../protocol/editor";
import { type Call, editsOf, fileEdits, ToolError } from "./call";

/** Fixes that are kept, the newest: an agent that looks at many places applies what it has seen last. */
const MOST_KEPT = 500;
/** Servers make edits when an offer is looked at closely; so many are. */
const MOST_RESOLVED = 50;

export class Fixes {
  readonly #offered = new Map<string, readonly FileEditsParams[]>();
  #count = 0;

  async list(call: Call): Promise<CallResult> {
    const document = await call.document();
    const at = call.at(document);
    const last = Math.min(Math.max(at.line, call.number("endLine", 0) - 1), document.lineCount - 1);
    const range = new vscode.Range(at, document.lineAt(last).range.end);
    const found = await actionsAt(document.uri, range, call.texts("only"));
    const actions = [];
    for (const action of found) {
      const edits = await editsOfAction(action, call);
      if (edits !== undefined) {
        actions.push({
          id: this.#keep(edits),
          title: action.title,
          kind: action.kind?.value ?? "",
          preferred: action.isPreferred === true,
        });
      }
    }
    const left = found.length - actions.length;
    return {
      data: { actions },
      ...(left > 0 ? { more: `${left} more can be done by the user in VS Code only.` } : {}),
    };
  }

  apply(call: Call): Promise<CallResult> {
    const edits = this.#offered.get(call.text("id"));
    if (edits === undefined) {
      throw new ToolError("not_found", "VS Code does not have this fix any more; ask quick_fixes again.");
    }
    return Promise.resolve({ data: {}, edits: [...edits] });
  }

  #keep(edits: readonly FileEditsParams[]): string {
    this.#count += 1;
    const id = String(this.#count);
    this.#offered.set(id, edits);
    for (const [oldest] of this.#offered) {
      if (this.#offered.size <= MOST_KEPT) {
        break;
      }
      this.#offered.delete(oldest);
    }
    return id;
  }
}

async function actionsAt(uri: vscode.Uri, range: vscode.Range, kinds: readonly string[]): Promise<vscode.CodeAction[]> {
  const asked = kinds.length > 0 ? kinds : [undefined];
  const found = await Promise.all(
    asked.map((kind) =>
      vscode.commands.executeCommand<vscode.CodeAction[] | undefined>(
        "vscode.executeCodeActionProvider",
        uri,
        range,
        kind,
        MOST_RESOLVED,
      ),
    ),
  );
  return found.flatMap((each) => each ?? []).filter((action) => action.disabled === undefined);
}

/** undefined: it is not, or not only, other text in files. */
async function editsOfAction(action: vscode.CodeAction, call: Call): Promise<FileEditsParams[] | undefined> {
  if (action.edit === undefined || action.edit.size === 0) {
    return undefined;
  }
  try {
    return await editsOf(action.edit, call);
  } catch (problem) {
    if (problem instanceof ToolError) {
      return undefined;
    }
    throw problem;
  }
}

/** `doc_format`. Imports are put in order first: what of the formatting lies in them is left out. */
export async function format(call: Call): Promise<CallResult> {
  const document = await call.document();
  const imports = call.flag("organizeImports") ? await organizedImports(document) : [];
  const formatted = await formatting(document, call);
  if (formatted === undefined && imports.length === 0) {
    throw new ToolError("not_supported", `Nothing in VS Code formats ${document.languageId} files.`);
  }
  const apart = (formatted ?? []).filter(
    (each) => !imports.some((other) => other.range.intersection(each.range) !== undefined),
  );
  const edits = [...imports, ...apart];
  return { data: {}, edits: edits.length > 0 ? [await fileEdits(document.uri, edits, call)] : [] };
}

async function formatting(document: vscode.TextDocument, call: Call): Promise<vscode.TextEdit[] | undefined> {
  const [from, to] = [call.number("startLine", 0), call.number("endLine", 0)];
  const { tabSize, insertSpaces } = vscode.workspace.getConfiguration(
    "editor",
    document,
  ) as unknown as vscode.FormattingOptions;
  const options = { tabSize, insertSpaces };
  if (from === 0) {
    return await vscode.commands.executeCommand("vscode.executeFormatDocumentProvider", document.uri, options);
  }
  const range = document.validateRange(new vscode.Range(from - 1, 0, to > 0 ? to : document.lineCount, 0));
  return await vscode.commands.executeCommand("vscode.executeFormatRangeProvider", document.uri, range, options);
}

/** What VS Code would do to the imports of a document; nothing where it has nobody for that. */
async function organizedImports(document: vscode.TextDocument): Promise<vscode.TextEdit[]> {
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const [action] = await actionsAt(document.uri, document.validateRange(whole), [
    vscode.CodeActionKind.SourceOrganizeImports.value,
  ]);
  return action?.edit?.get(document.uri) ?? [];
}
