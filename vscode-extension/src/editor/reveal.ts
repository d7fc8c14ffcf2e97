/**
 * The one place that may put the cursor, or the focus, somewhere: only ever called for what the user has just asked to see.
 */
import * as vscode from "vscode";

/** Shows a line of a file, with the cursor in it: where the file is shown already, else in the group where the user is. */
export async function revealLine(uri: vscode.Uri, line: number): Promise<void> {
  const shown = editorsOf(uri);
  const there = shown.find((each) => each === vscode.window.activeTextEditor) ?? shown[0];
  const editor = await vscode.window.showTextDocument(uri, {
    viewColumn: there?.viewColumn ?? vscode.ViewColumn.Active,
    preview: true,
  });
  putCursor(editor, line);
}

/** Those that show a file in a group of the window; not the sides of a comparison. */
function editorsOf(uri: vscode.Uri): vscode.TextEditor[] {
  return vscode.window.visibleTextEditors.filter(
    (each) => each.document.uri.toString() === uri.toString() && each.viewColumn !== undefined,
  );
}

/** Puts the cursor at the beginning of a line of an editor that has it already, and shows the line. */
export function putCursor(editor: vscode.TextEditor, line: number): void {
  const at = new vscode.Position(Math.max(0, Math.min(line, editor.document.lineCount - 1)), 0);
  editor.selection = new vscode.Selection(at, at);
  editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** Shows a document that the user has chosen, with the focus in it. */
export async function showDocument(uri: vscode.Uri): Promise<void> {
  await vscode.window.showTextDocument(uri, { preview: true });
}

/** After a comment was sent, VS Code leaves the focus nowhere: back to the text it was about. */
export async function returnTo(uri: vscode.Uri, line: number): Promise<void> {
  const at = new vscode.Position(line, 0);
  await vscode.window.showTextDocument(uri, { preserveFocus: false, selection: new vscode.Range(at, at) });
}

/** Shows a part of a document for an agent: beside what the user does, who goes on typing where they are. */
export async function reveal(
  document: vscode.TextDocument,
  range: vscode.Range,
  how: { readonly beside: boolean; readonly focus: boolean },
): Promise<void> {
  // In the group where the user types, another document would take the place of theirs, and with it the focus.
  const typing = vscode.window.activeTextEditor !== undefined;
  const viewColumn = how.beside || (typing && !how.focus) ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  const [visible] = editorsOf(document.uri);
  const options = { viewColumn: visible?.viewColumn ?? viewColumn, preserveFocus: !how.focus, preview: true };
  const editor = await vscode.window.showTextDocument(document, options);
  editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  if (how.focus || visible === undefined) {
    editor.selection = new vscode.Selection(range.start, range.start);
  }
}

/** Shows a notebook that an agent runs, where nobody sees it yet: as `reveal` does, pinned. */
export async function revealNotebook(notebook: vscode.NotebookDocument): Promise<void> {
  if (vscode.window.visibleNotebookEditors.some((each) => each.notebook === notebook)) {
    return;
  }
  const typing = vscode.window.activeTextEditor !== undefined || vscode.window.activeNotebookEditor !== undefined;
  const viewColumn = typing ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  await vscode.window.showNotebookDocument(notebook, { viewColumn, preserveFocus: true, preview: false });
}

/** Shows a view of ours, with the focus in it. */
export async function revealChat(view: string): Promise<void> {
  await vscode.commands.executeCommand(`${view}.focus`);
}

/** Shows a place that the user has clicked on in a panel: where files are, not in the tab of the panel itself; the focus stays. */
export async function showPlace(uri: vscode.Uri, line: number | undefined): Promise<void> {
  const inTab = vscode.window.tabGroups.activeTabGroup.activeTab?.input instanceof vscode.TabInputWebview;
  const viewColumn = inTab ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  const options = { viewColumn, preserveFocus: true, preview: true };
  if (line === undefined) {
    // Also pictures and whatever else has an editor of its own.
    await vscode.commands.executeCommand("vscode.open", uri, options);
    return;
  }
  putCursor(await vscode.window.showTextDocument(uri, options), line - 1);
}

/** Types text for the user, in place of what is selected: one step of undo, and not saved. */
export async function insertAtCursor(editor: vscode.TextEditor, text: string): Promise<void> {
  const done = await editor.edit((edit) => {
    edit.replace(editor.selection, text);
  });
  if (!done) {
    throw new Error(vscode.l10n.t("The editor did not take the text: it may be read-only."));
  }
}
