/**
 * A mistake in sould's configuration, which keeps it from working: said once, with a way to the line, where it stands until the file is
 * saved.
 */
import * as vscode from "vscode";
import * as z from "zod";
import { unlinked } from "./notice";
import { revealLine } from "./reveal";

const OPEN = vscode.l10n.t("Open");

/** Errors of the kind `config` that are about a file. Their words never repeat a value. */
const mistake = z.object({
  data: z.object({
    kind: z.literal("config"),
    details: z.string(),
    file: z.string().min(1),
    line: z.number().int().min(0).default(0),
  }),
});

export class Mistakes implements vscode.Disposable {
  readonly #diagnostics = vscode.languages.createDiagnosticCollection("sould");
  readonly #listening: vscode.Disposable;
  #told = "";

  constructor() {
    this.#listening = vscode.workspace.onDidSaveTextDocument(({ uri }) => {
      if (this.#diagnostics.has(uri)) {
        this.#diagnostics.delete(uri);
        this.#told = "";
      }
    });
  }

  /** Takes whatever the daemon refused something with. Resolves when the user has seen to it. */
  async refused(problem: unknown): Promise<void> {
    const parsed = mistake.safeParse(problem);
    if (!parsed.success || parsed.data.data.details === this.#told) {
      return;
    }
    const { details, file, line } = parsed.data.data;
    this.#told = details;
    const uri = vscode.Uri.file(file);
    const at = Math.max(0, line - 1);
    const diagnostic = new vscode.Diagnostic(
      new vscode.Range(at, 0, at, 1_000),
      details,
      vscode.DiagnosticSeverity.Error,
    );
    diagnostic.source = "sould";
    this.#diagnostics.set(uri, [diagnostic]);
    if ((await vscode.window.showErrorMessage(unlinked(`sould: ${details}`), OPEN)) === OPEN) {
      await revealLine(uri, at);
    }
  }

  dispose(): void {
    this.#listening.dispose();
    this.#diagnostics.dispose();
  }
}
