/**
 * What this window does for its panels, and tells them of itself: files shown and chosen, code put into editors, what is before the user.
 *
 * A panel shows what models wrote: a path from it is only ever shown as a file of the disk, and only because the user clicked on it.
 */
import * as path from "node:path";
import * as vscode from "vscode";
import * as z from "zod";
import type { EditorContext, KeyGiven, Surroundings } from "../../panel/link";
import { NAMES } from "../../panel/providers";
import type { Places } from "../editor/places";
import { insertAtCursor, showPlace } from "../editor/reveal";
import type { Daemon, Services } from "./router";
import { problemsBelow, symbolsOf } from "./mentioned";
import { best, patternOf } from "./search";

const place = z.object({ path: z.string().min(1), line: z.number().int().min(1).optional() });
const code = z.object({ text: z.string() });
const applied = z.object({ text: z.string(), sessionId: z.string() });
const address = z.url({ protocol: /^https?$/ }).max(1_000);
const model = z.string().min(1).max(200).optional();
const key = z.object({
  provider: z.union([z.enum(NAMES), address]),
  model,
  key: z.string().max(1_000),
  file: z.boolean(),
});
const file = z.object({ name: z.string().min(1).max(200), text: z.string() });
const search = z.object({ root: z.string(), query: z.string().max(300), limit: z.number().int().min(1).max(200) });

const rooted = z.object({ root: z.string() });
const symbols = z.object({ query: z.string().max(300), limit: z.number().int().min(1).max(200) });

/** Of a search, before the best are taken. */
const MOST_FOUND = 2_000;
const LONGEST_SELECTION = 20_000;

/** What services stand on. */
interface Around {
  readonly places: Places;
  readonly daemon: Daemon;
  /** The editor that was used last, also while a panel has the focus. */
  readonly editor: () => vscode.TextEditor | undefined;
  /** Keeps a key. Rejects with the reason. */
  readonly login: (given: KeyGiven) => Promise<void>;
}

/** Them all. */
export function services({ places, daemon, editor, login }: Around): Services {
  return {
    "_panel/surroundings": () => Promise.resolve(surroundings(places)),
    "_panel/openFile": async (params) => {
      const { path: file, line } = place.parse(params);
      await showPlace(places.uriOf(absolute(file, places)), line);
      return {};
    },
    "_panel/pickFile": async () => {
      const chosen = await vscode.window.showOpenDialog({
        canSelectMany: true,
        canSelectFolders: true,
        openLabel: vscode.l10n.t("Add to Prompt"),
      });
      return { paths: (chosen ?? []).filter((each) => each.scheme === "file").map((each) => each.fsPath) };
    },
    "_panel/findFiles": (params) => find(search.parse(params), places),
    "_panel/problems": (params) => Promise.resolve({ problems: problemsBelow(rooted.parse(params).root, places) }),
    "_panel/symbols": async (params) => ({ symbols: await symbolsOf(symbols.parse(params), places) }),
    "_panel/insert": async (params) => {
      await insertAtCursor(someEditor(editor), code.parse(params).text);
      return {};
    },
    "_panel/apply": (params) => apply(applied.parse(params), someEditor(editor), places, daemon),
    "_panel/review": async () => {
      await vscode.commands.executeCommand("sould.reviewAll");
      return {};
    },
    "_panel/install": async () => {
      await vscode.commands.executeCommand("sould.install");
      return {};
    },
    "_panel/saveFile": async (params) => {
      await save(file.parse(params));
      return {};
    },
    "_panel/login": async (params) => {
      await login(key.parse(params));
      return {};
    },
  };
}

/** As `_panel/surroundings` has them. */
export function surroundings(places: Places): Surroundings {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const roots = folders.flatMap((each) => ({ path: places.rootOf(each) ?? "", name: each.name }));
  return {
    roots: roots.filter((each) => each.path !== ""),
    canInsert: true,
    canReview: true,
    editor: vscode.env.appName,
  };
}

/** As `_panel/context` has it: the file that is before the user, and what they have selected. */
export function contextOf(editor: vscode.TextEditor | undefined, places: Places): EditorContext {
  const file = editor && places.pathOf(editor.document.uri);
  if (editor === undefined || file === undefined) {
    return {};
  }
  const { selection, document } = editor;
  if (selection.isEmpty) {
    return { file: { path: file } };
  }
  const text = document.getText(selection);
  const last = selection.end.character === 0 ? selection.end.line - 1 : selection.end.line;
  const lines = { from: selection.start.line + 1, to: Math.max(selection.start.line, last) + 1 };
  return { file: { path: file, ...lines, ...(text.length > LONGEST_SELECTION ? {} : { selected: text }) } };
}

/** Where the user says, if they say it. */
async function save(given: z.infer<typeof file>): Promise<void> {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  const name = path.basename(given.name);
  const chosen = await vscode.window.showSaveDialog({
    ...(folder && { defaultUri: vscode.Uri.joinPath(folder.uri, name) }),
    filters: { Markdown: ["md"] },
  });
  if (chosen !== undefined) {
    await vscode.workspace.fs.writeFile(chosen, new TextEncoder().encode(given.text));
  }
}

async function find(asked: z.infer<typeof search>, places: Places): Promise<object> {
  const folder = (vscode.workspace.workspaceFolders ?? []).find((each) => places.rootOf(each) === asked.root);
  if (folder === undefined) {
    return { paths: [] };
  }
  const found = await vscode.workspace.findFiles(
    new vscode.RelativePattern(folder, patternOf(asked.query)),
    undefined,
    MOST_FOUND,
  );
  const relative = found.map((each) => path.relative(folder.uri.fsPath, each.fsPath));
  return { paths: best(relative, asked.query, asked.limit).map((each) => path.join(asked.root, each)) };
}

/**
 * Puts code in place of what is selected, as an edit of the session: it stands under review, to be kept or rejected.
 *
 * Nothing is guessed: without a selection the user is told what to do.
 */
async function apply(
  given: z.infer<typeof applied>,
  editor: vscode.TextEditor,
  places: Places,
  daemon: Daemon,
): Promise<object> {
  const { document, selection } = editor;
  const path = places.pathOf(document.uri);
  if (path === undefined) {
    throw new Error(vscode.l10n.t("The document in the editor is no file. Insert the code instead."));
  }
  const whole = document.getText();
  if (selection.isEmpty && whole.trim() !== "") {
    throw new Error(vscode.l10n.t("Select what the code is to replace; or insert it at the cursor."));
  }
  const expected = selection.isEmpty ? whole : document.getText(selection);
  const { start, end } = selection;
  const where = selection.isEmpty ? {} : { range: { start: pointOf(start), end: pointOf(end) } };
  const params = { sessionId: given.sessionId, path, text: ending(given.text, expected), expected, ...where };
  await daemon.request("_sould/session/apply", params);
  return {};
}

function pointOf({ line, character }: vscode.Position): { line: number; character: number } {
  return { line, character };
}

/** A block of code ends as what it replaces did. */
function ending(text: string, replaced: string): string {
  const bare = text.replace(/\n$/, "");
  return replaced === "" || replaced.endsWith("\n") ? `${bare}\n` : bare;
}

function someEditor(editor: () => vscode.TextEditor | undefined): vscode.TextEditor {
  const found = editor();
  if (found === undefined) {
    throw new Error(vscode.l10n.t("No file is open in an editor. Open the one that the code belongs to."));
  }
  return found;
}

function absolute(file: string, places: Places): string {
  const [first] = vscode.workspace.workspaceFolders ?? [];
  return path.isAbsolute(file) ? file : path.join((first && places.rootOf(first)) ?? "/", file);
}
