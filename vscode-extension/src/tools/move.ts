/**
 * Moving a symbol into another file: `move_symbol`, as far as it comes as edits. TypeScript's service moves into a new file beside the old
 * one, which it names itself; into a file that is there only after a dialog with the user.
 */
import { createHash } from "node:crypto";
import * as path from "node:path";
import * as vscode from "vscode";
import type { CallResult, FileEditsParams } from "../protocol/editor";
import { type Call, fileEdits, ToolError } from "./call";

const NEW_FILE = "refactor.move.newFile";
const MOST_RESOLVED = 10;
const EXTENSION = /\.[cm]?[jt]sx?$/;
/** Of a file that is not there, which then none must have made meanwhile. */
const NOTHING = createHash("sha256").digest("hex");

type Entries = [vscode.Uri, vscode.TextEdit[]][];

export async function move(call: Call): Promise<CallResult> {
  const document = await call.document();
  const at = call.at(document);
  const target = call.text("target");
  const source = call.path(document.uri) ?? "";
  if (
    path.dirname(target) !== path.dirname(source) ||
    path.extname(target) !== path.extname(source) ||
    (await isThere(call.places.uriOf(target)))
  ) {
    throw new ToolError(
      "not_supported",
      "VS Code moves a symbol without asking its user only into a new file, in the same directory and with the same ending.",
    );
  }
  const range = new vscode.Range(at, at);
  const offered = await vscode.commands.executeCommand<vscode.CodeAction[] | undefined>(
    "vscode.executeCodeActionProvider",
    document.uri,
    range,
    NEW_FILE,
    MOST_RESOLVED,
  );
  const edit = offered?.find((each) => each.kind?.value === NEW_FILE && each.disabled === undefined)?.edit;
  if (edit === undefined) {
    throw new ToolError(
      "not_supported",
      "Nothing in VS Code moves what stands at this place; TypeScript's service moves what stands at the top of a file.",
    );
  }
  return { data: {}, edits: await moved(edit.entries(), target, call) };
}

/** The edits with the file that they would make called otherwise. Raises ToolError. */
async function moved(entries: Entries, target: string, call: Call): Promise<FileEditsParams[]> {
  const there = await Promise.all(entries.map(([uri]) => isThere(uri)));
  const [made, ...more] = entries.filter((_, index) => !there[index]);
  const file = made && call.path(made[0]);
  if (file === undefined || more.length > 0) {
    throw new ToolError("not_supported", "VS Code would do something else than move it into a new file.");
  }
  const text = made?.[1].map((each) => each.newText).join("") ?? "";
  const others = entries.filter((_, index) => there[index]);
  const edits = others.map(([uri, changes]): Promise<FileEditsParams> => {
    const directory = path.dirname(call.path(uri) ?? "");
    return fileEdits(
      uri,
      changes.map((each) => new vscode.TextEdit(each.range, renamed(each.newText, directory, file, target))),
      call,
    );
  });
  return [{ file: target, edits: [], newText: text, digest: NOTHING }, ...(await Promise.all(edits))];
}

/** What imports name `from` names `to`. Raises ToolError where it cannot be known which file an import means. */
function renamed(text: string, directory: string, from: string, to: string): string {
  const [old, now] = [stem(from), stem(to)];
  return text.replace(/(["'])([^"'\n]*)\1/g, (all, quote: string, name: string) => {
    if (path.posix.basename(stem(name)) !== path.basename(old)) {
      return all;
    }
    if (!name.startsWith(".")) {
      throw new ToolError(
        "not_supported",
        `VS Code would import the new file as ${name}, which cannot be called otherwise.`,
      );
    }
    const isMeant = path.resolve(directory, stem(name)) === old;
    return isMeant
      ? `${quote}${stem(name).slice(0, -path.basename(old).length)}${path.basename(now)}${name.slice(stem(name).length)}${quote}`
      : all;
  });
}

function stem(file: string): string {
  return file.replace(EXTENSION, "");
}

async function isThere(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}
