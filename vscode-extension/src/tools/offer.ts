/**
 * Offers sould's editor tools to VS Code's own agents, as an MCP server (`sould editor-mcp`), where the user's setting says so.
 *
 * They are the tools that sould's agents have, judged and reviewed alike. Nothing is started before an agent of VS Code's asks.
 */
import * as vscode from "vscode";
import type { Found } from "../connection/program";

const SERVER = "sould.editor";
const SETTING = "sould.offerEditorTools";

/** Whether the user has tools offered in this way. */
export function isOffered(as: "tools" | "mcp"): boolean {
  return vscode.workspace.getConfiguration("sould").get<string>("offerEditorTools", "off") === as;
}

export class Offer implements vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeMcpServerDefinitions = this.#changed.event;
  readonly #find: () => Promise<Found>;
  readonly #environment: () => NodeJS.ProcessEnv;
  readonly #subscriptions: { dispose(): void }[];

  constructor(find: () => Promise<Found>, environment: () => NodeJS.ProcessEnv) {
    this.#find = find;
    this.#environment = environment;
    this.#subscriptions = [
      this.#changed,
      vscode.lm.registerMcpServerDefinitionProvider(SERVER, this),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(SETTING)) {
          this.#changed.fire();
        }
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => {
        this.#changed.fire();
      }),
    ];
  }

  async provideMcpServerDefinitions(): Promise<vscode.McpStdioServerDefinition[]> {
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    if (!isOffered("mcp") || !vscode.workspace.isTrusted || folder === undefined) {
      return [];
    }
    const found = await this.#find();
    if ("problem" in found) {
      return [];
    }
    const environment = Object.fromEntries(
      Object.entries(this.#environment()).map(([name, value]) => [name, value ?? null]),
    );
    const server = new vscode.McpStdioServerDefinition(
      vscode.l10n.t("sould editor tools"),
      found.program,
      ["editor-mcp"],
      environment,
    );
    server.cwd = folder.uri;
    return [server];
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }
}
