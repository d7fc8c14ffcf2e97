/**
 * Puts what the daemon writes into a document that is open here: as one edit that joins its undo, saved only when it was saved before.
 *
 * Never writes over what the daemon has not seen: a document of another version is left as it is.
 */
import * as vscode from "vscode";
import { parse } from "../protocol/readers";
import { write as readWrite, type Write, type WriteResult } from "../protocol/review";
import { editsBetween, linesOf, replacement } from "../review/edits";
import type { Buffers } from "./buffers";
import type { Places } from "./places";

const BYTE_ORDER_MARK = "\ufeff";

/** Answers `_sould/review/write`. */
export async function write(params: unknown, places: Places, buffers: Buffers): Promise<WriteResult> {
  const asked = parse(readWrite, params);
  buffers.flush();
  const document = places.documentOf(asked.path);
  if (document?.version !== asked.version) {
    return { outcome: "outdated" };
  }
  return await buffers.quietly(
    document,
    () => put(document, asked),
    (answer) => answer.outcome === "written",
  );
}

async function put(document: vscode.TextDocument, asked: Write): Promise<WriteResult> {
  const text = asked.text.startsWith(BYTE_ORDER_MARK) ? asked.text.slice(1) : asked.text;
  const edits = textEdits(document, text);
  if (edits.length > 0) {
    const edit = new vscode.WorkspaceEdit();
    edit.set(document.uri, edits);
    if (!(await vscode.workspace.applyEdit(edit))) {
      return { outcome: "outdated" };
    }
  }
  const saved = asked.save && (!document.isDirty || (await document.save()));
  const now = document.getText();
  const { version } = document;
  return now === text ? { outcome: "written", saved, version } : { outcome: "written", saved, version, text: now };
}

function textEdits(document: vscode.TextDocument, text: string): vscode.TextEdit[] {
  const before = linesOf(document.getText());
  const edits = editsBetween(before, linesOf(text)).map((each) => {
    const { start, end, text: lines } = replacement(before, each);
    return vscode.TextEdit.replace(new vscode.Range(start.line, start.character, end.line, end.character), lines);
  });
  const ends = endOfLine(text);
  return ends === undefined || ends === document.eol ? edits : [...edits, vscode.TextEdit.setEndOfLine(ends)];
}

/** The line ends of most lines; undefined where there are none. VS Code has one kind in a document. */
function endOfLine(text: string): vscode.EndOfLine | undefined {
  const all = text.split("\n").length - 1;
  if (all === 0) {
    return undefined;
  }
  const crlf = text.split("\r\n").length - 1;
  return crlf * 2 > all ? vscode.EndOfLine.CRLF : vscode.EndOfLine.LF;
}
