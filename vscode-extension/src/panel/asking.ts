/**
 * Commands that lead to the chat: the editor's selection, files, problems and the terminal are put into the composer, with the focus.
 *
 * None of them sends anything.
 */
import * as vscode from "vscode";
import * as z from "zod";
import type { Opening } from "../../panel/link";
import type { Connection } from "../connection/connection";
import { NotConnected } from "../connection/connection";
import type { Places } from "../editor/places";
import { readLink } from "./links";
import type { Panels } from "./panels";
import { explaining, fixing, linesOf, linkTo, ofTerminal, type Block, type Problem } from "./prompts";

const sessions = z.object({
  sessions: z.array(z.object({ sessionId: z.string(), cwd: z.string() })),
  nextCursor: z.string().optional(),
});
const MOST_PAGES = 50;

export class Asking {
  readonly #panels: Panels;
  readonly #places: Places;
  readonly #connection: Connection;

  constructor(panels: Panels, places: Places, connection: Connection) {
    this.#panels = panels;
    this.#places = places;
    this.#connection = connection;
  }

  /** A conversation that begins with its first prompt, in the folder of the file before the user; `apart`: in a worktree of it. */
  async begin(apart = false): Promise<void> {
    const cwd = this.#places.currentRoot();
    await this.#panels.show(cwd === undefined ? {} : { cwd, ...(apart && { apart }) });
  }

  /** What is selected, or the line of the cursor; `words` say what is asked about it. */
  async selection(words: (path: string) => string = () => ""): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const path = editor && this.#places.pathOf(editor.document.uri);
    if (editor === undefined || path === undefined) {
      throw new Error(vscode.l10n.t("No file is open in an editor."));
    }
    await this.#put(words(path), [this.#lines(editor.document, editor.selection, path)]);
  }

  async explain(): Promise<void> {
    await this.selection(explaining);
  }

  /** Problems of a document, with the lines they are in. `given`: as the code action has it. */
  async fix(uri: vscode.Uri, range: vscode.Range, problems: readonly Problem[]): Promise<void> {
    const path = this.#places.pathOf(uri);
    if (path !== undefined) {
      const document = await vscode.workspace.openTextDocument(uri);
      await this.#put(fixing(path, problems), [this.#lines(document, range, path)]);
    }
  }

  /** Files and directories: those chosen in the Explorer, or the one before the user. */
  async files(given: readonly vscode.Uri[]): Promise<void> {
    const active = vscode.window.activeTextEditor?.document.uri;
    const uris = given.length > 0 ? given : active === undefined ? [] : [active];
    const paths = uris.flatMap((each) => this.#places.pathOf(each) ?? []);
    if (paths.length === 0) {
      throw new Error(vscode.l10n.t("Choose a file that is on a disk."));
    }
    await this.#put("", paths.map(linkTo));
  }

  /** What is selected in the terminal. VS Code has it for its own command only: the clipboard is lent, and given back. */
  async terminal(): Promise<void> {
    const before = await vscode.env.clipboard.readText();
    await vscode.env.clipboard.writeText("");
    let text: string;
    try {
      await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
      text = await vscode.env.clipboard.readText();
    } finally {
      await vscode.env.clipboard.writeText(before);
    }
    if (text.trim() === "") {
      throw new Error(vscode.l10n.t("Select something in the terminal first."));
    }
    await this.#put(ofTerminal(text), []);
  }

  /** Does what a link asks for. Raises what to say to the user when it cannot. */
  async follow(uri: vscode.Uri): Promise<void> {
    const asked = readLink(uri.path, uri.query);
    if (asked === undefined) {
      throw new Error(vscode.l10n.t("This link asks for something that sould does not know."));
    }
    const { session, ...opening } = asked;
    await this.#panels.show(session === undefined ? opening : { ...opening, session: await this.#known(session) });
  }

  async #put(prompt: string, attached: readonly Block[]): Promise<void> {
    const opening: Opening = { ...(prompt && { prompt }), ...(attached.length > 0 && { attached }) };
    await this.#panels.show(opening);
  }

  /** Whole lines, so that the agent sees what stands there. */
  #lines(document: vscode.TextDocument, range: vscode.Range, path: string): Block {
    const before = range.end.character === 0 && range.end.line > range.start.line;
    const last = before ? range.end.line - 1 : range.end.line;
    const lines = Array.from(
      { length: last - range.start.line + 1 },
      (_, at) => document.lineAt(range.start.line + at).text,
    );
    return linesOf({ path, from: range.start.line + 1, to: last + 1, text: lines.join("\n") });
  }

  /** Where a session works: a link does not say it, and would not be believed. */
  async #known(id: string): Promise<{ id: string; cwd: string }> {
    await this.#connection.connect();
    if (this.#connection.state !== "connected") {
      throw new NotConnected(this.#connection.problem);
    }
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES; page++) {
      const params = { cursor, _meta: { sould: { origin: "any" } } };
      const answer = sessions.parse(await this.#connection.request("session/list", params));
      const found = answer.sessions.find((each) => each.sessionId === id);
      if (found !== undefined) {
        return { id, cwd: found.cwd };
      }
      cursor = answer.nextCursor;
      if (cursor === undefined) {
        break;
      }
    }
    throw new Error(
      vscode.l10n.t("There is no such session here. It may have been deleted, or belong to another computer."),
    );
  }
}

/** Offers the chat where the light bulb is: for problems, and for what is selected. */
export class Actions implements vscode.CodeActionProvider {
  static readonly kinds = [vscode.CodeActionKind.QuickFix, vscode.CodeActionKind.Empty.append("sould")];

  provideCodeActions(
    document: vscode.TextDocument,
    range: vscode.Range,
    context: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    const actions: vscode.CodeAction[] = [];
    const found = context.diagnostics.filter((each) => each.severity <= vscode.DiagnosticSeverity.Warning);
    const [first] = found;
    if (first !== undefined) {
      const title =
        found.length === 1
          ? vscode.l10n.t("Fix With sould")
          : vscode.l10n.t("Fix {0} Problems With sould", found.length);
      const fix = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
      const problems = found.map((each): Problem => ({
        line: each.range.start.line + 1,
        message: each.message,
        source: each.source ?? "",
      }));
      fix.command = { command: "sould.fix", title, arguments: [document.uri, first.range, problems] };
      fix.diagnostics = found;
      actions.push(fix);
    }
    if (!range.isEmpty) {
      actions.push(
        action(vscode.l10n.t("Ask sould About Selection"), "sould.ask"),
        action(vscode.l10n.t("Explain With sould"), "sould.explain"),
      );
    }
    return actions;
  }
}

function action(title: string, command: string): vscode.CodeAction {
  const made = new vscode.CodeAction(title, vscode.CodeActionKind.Empty.append("sould"));
  made.command = { command, title };
  return made;
}
