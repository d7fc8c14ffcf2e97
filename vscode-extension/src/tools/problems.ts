/** What the language servers of this VS Code say is wrong, when they have said it of the text as it is: `diagnostics`. */
import * as vscode from "vscode";
import type { CallResult } from "../protocol/editor";
import type { ReviewModel } from "../review/model";
import { type Call, type Data, spanOf, ToolError } from "./call";

const SEVERITIES = ["error", "warning", "information", "hint"] as const;

/** Several servers, and several looks of one, tell of a file in turn: after so long without news they are through. Milliseconds. */
const QUIET = 150;

interface Problem extends Data {
  readonly severity: (typeof SEVERITIES)[number];
}

export class Problems implements vscode.Disposable {
  readonly #model: ReviewModel;
  /** The version of a document that was told of last, or waited for in vain. */
  readonly #known = new WeakMap<vscode.TextDocument, number>();
  /** Languages that were waited for in vain, and of which nothing has ever been told: nobody looks at them here. */
  readonly #silent = new Set(["plaintext"]);
  /** Languages whose servers look at files in tabs only, as it seems. */
  readonly #inTabs = new Set<string>();
  readonly #told = new vscode.EventEmitter<vscode.TextDocument>();
  readonly #listening: vscode.Disposable;

  constructor(model: ReviewModel) {
    this.#model = model;
    this.#listening = vscode.languages.onDidChangeDiagnostics((event) => {
      this.#hear(event.uris);
    });
  }

  dispose(): void {
    this.#listening.dispose();
    this.#told.dispose();
  }

  /** What is known of the files named, or of a scope. Files that have just changed are given time to be looked at. */
  async list(call: Call): Promise<CallResult> {
    const asked = await Promise.all(call.texts("files").map((file) => call.document(file)));
    const until = Date.now() + call.number("waitMs", 1_500);
    for (const document of asked) {
      if (!(await this.#settled(document, Math.max(0, until - Date.now()), call.signal))) {
        throw new ToolError(
          "not_supported",
          `${document.uri.fsPath} is in no tab of VS Code, which looks at no other files of its language.`,
        );
      }
    }
    const wanted = new Set(asked.map((document) => document.uri.toString()));
    const worst = SEVERITIES.indexOf(call.text("minSeverity") as (typeof SEVERITIES)[number]);
    const items = vscode.languages
      .getDiagnostics()
      .filter(([uri]) => (wanted.size > 0 ? wanted.has(uri.toString()) : this.#isInScope(uri, call)))
      .flatMap(([uri, found]) => found.flatMap((each) => problemOf(uri, each, call) ?? []))
      .filter((each) => SEVERITIES.indexOf(each.severity) <= (worst < 0 ? 1 : worst));
    items.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
    const counts: Record<string, number> = {};
    for (const each of items) {
      counts[each.severity] = (counts[each.severity] ?? 0) + 1;
    }
    return { data: { items: items.slice(0, call.most), counts } };
  }

  #hear(uris: readonly vscode.Uri[]): void {
    const told = new Set(uris.map(String));
    for (const document of vscode.workspace.textDocuments.filter((each) => told.has(each.uri.toString()))) {
      this.#known.set(document, document.version);
      this.#silent.delete(document.languageId);
      if (!inTab(document)) {
        this.#inTabs.delete(document.languageId);
      }
      this.#told.fire(document);
    }
  }

  /** False: nobody says what is wrong with it as long as it is in no tab. */
  async #settled(document: vscode.TextDocument, milliseconds: number, signal: AbortSignal): Promise<boolean> {
    const { languageId, version } = document;
    if (this.#known.get(document) === version || this.#silent.has(languageId)) {
      return true;
    }
    const isShown = inTab(document);
    if (!isShown && this.#inTabs.has(languageId)) {
      return false;
    }
    if (await this.#quiet(document, milliseconds, signal)) {
      return true;
    }
    if (!isShown) {
      this.#inTabs.add(languageId);
      return false;
    }
    this.#known.set(document, version);
    if (!vscode.languages.getDiagnostics().some(([uri]) => languageOf(uri) === languageId)) {
      this.#silent.add(languageId);
    }
    return true;
  }

  /** Waits until there was news of it, and then none for a moment. False: there was none. */
  #quiet(document: vscode.TextDocument, milliseconds: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      let heard = false;
      let pause: NodeJS.Timeout | undefined;
      const end = (): void => {
        listening.dispose();
        signal.removeEventListener("abort", end);
        clearTimeout(last);
        clearTimeout(pause);
        resolve(heard);
      };
      const last = setTimeout(end, signal.aborted ? 0 : milliseconds);
      signal.addEventListener("abort", end);
      const listening = this.#told.event((each) => {
        if (each === document) {
          heard = true;
          clearTimeout(pause);
          pause = setTimeout(end, QUIET);
        }
      });
    });
  }

  #isInScope(uri: vscode.Uri, call: Call): boolean {
    const file = call.path(uri);
    if (file === undefined || !file.startsWith(`${call.root}/`)) {
      return false;
    }
    switch (call.text("scope")) {
      case "workspace":
        return true;
      case "changed":
        return this.#model.file(file) !== undefined;
      default:
        return vscode.workspace.textDocuments.some((each) => each.uri.toString() === uri.toString());
    }
  }
}

function inTab(document: vscode.TextDocument): boolean {
  const uri = document.uri.toString();
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.some(({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === uri);
}

function languageOf(uri: vscode.Uri): string | undefined {
  return vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString())?.languageId;
}

/** A diagnostic as sould has it; undefined: of what is no file. */
export function problemOf(uri: vscode.Uri, found: vscode.Diagnostic, call: Call): Problem | undefined {
  const file = call.path(uri);
  if (file === undefined) {
    return undefined;
  }
  const code = typeof found.code === "object" ? found.code.value : (found.code ?? "");
  const severity = SEVERITIES[found.severity];
  return {
    file,
    range: spanOf(found.range),
    severity,
    message: found.message,
    code: String(code),
    source: found.source ?? "",
  };
}
