/**
 * Lends sould's editor tools to VS Code's own agents, as tools of VS Code, where the user's setting says so: those that package.json
 * declares, which scripts/protocol.mjs takes from sould's catalogue.
 *
 * They are run by sould, as for its own agents: judged, and what they write is reviewed. What writes asks first. Nothing is started before
 * an agent of VS Code's calls one.
 */
import * as vscode from "vscode";
import * as z from "zod";
import type { Places } from "../editor/places";
import type { Daemon } from "../panel/router";
import { runAnswer } from "../protocol/editor";
import { parse } from "../protocol/readers";
import { isWithin } from "../startup";
import { isOffered } from "./offer";

const PREFIX = "sould_";

const declared = z.object({
  contributes: z.object({
    languageModelTools: z.array(z.object({ name: z.string(), displayName: z.string(), tags: z.array(z.string()) })),
  }),
});

type Arguments = Record<string, unknown>;

export class Lender implements vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #places: Places;
  readonly #registered: vscode.Disposable[];

  /** `manifest`: the extension's package.json. */
  constructor(manifest: unknown, daemon: Daemon, places: Places) {
    this.#daemon = daemon;
    this.#places = places;
    const tools = declared.parse(manifest).contributes.languageModelTools;
    this.#registered = tools.map(({ name, displayName, tags }) => {
      const prepareInvocation = (
        options: vscode.LanguageModelToolInvocationPrepareOptions<Arguments>,
      ): vscode.PreparedToolInvocation =>
        tags.includes("read") ? {} : { confirmationMessages: question(displayName, options.input) };
      const invoke = (
        options: vscode.LanguageModelToolInvocationOptions<Arguments>,
        token: vscode.CancellationToken,
      ): Promise<vscode.LanguageModelToolResult> => this.#run(name.slice(PREFIX.length), options.input, token);
      return vscode.lm.registerTool<Arguments>(name, { prepareInvocation, invoke });
    });
  }

  dispose(): void {
    this.#registered.forEach((each) => {
      each.dispose();
    });
  }

  /** Raises what the agent is to be told. */
  async #run(tool: string, given: Arguments, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> {
    if (!isOffered("tools")) {
      throw new Error("The user does not offer this tool: the setting sould.offerEditorTools is another one now.");
    }
    if (!vscode.workspace.isTrusted) {
      throw new Error("The user does not trust this workspace.");
    }
    await this.#daemon.connect();
    const withdrawn = new AbortController();
    const listening = token.onCancellationRequested(() => {
      withdrawn.abort();
    });
    try {
      const params = { cwd: this.#folder(given["file"]), tool, arguments: given, agent: vscode.env.appName };
      const { data, error } = parse(
        runAnswer,
        await this.#daemon.request("_sould/editor/run", params, withdrawn.signal),
      );
      if (error !== null) {
        throw new Error(`${error.code}: ${error.message}`);
      }
      return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(JSON.stringify(data))]);
    } finally {
      listening.dispose();
    }
  }

  /** Of several, the one that the file is in: an agent of VS Code's does not say which it works in. */
  #folder(file: unknown): string {
    const roots = (vscode.workspace.workspaceFolders ?? []).flatMap((each) => this.#places.rootOf(each) ?? []);
    const holding = roots.find((root) => typeof file === "string" && isWithin(file, root));
    const folder = holding ?? roots[0];
    if (folder === undefined) {
      throw new Error("No folder is open in this window.");
    }
    return folder;
  }
}

function question(name: string, given: Arguments): { title: string; message: string } {
  const said = Object.entries(given).map(
    ([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return { title: name, message: vscode.l10n.t("{0}. You review the change hunk by hunk.", said.join(", ")) };
}
