/**
 * The panels of this window: a view, in whichever side bar the user has it, and tabs beside the editors. All are the same app over the
 * same connection, and keep nothing but what VS Code gives back to a page that is loaded again.
 */
import * as vscode from "vscode";
import type { EditorContext, KeyGiven, Opening } from "../../panel/link";
import type { Connection } from "../connection/connection";
import type { Places } from "../editor/places";
import { revealChat } from "../editor/reveal";
import { page } from "./page";
import { Router, type Panel } from "./router";
import { contextOf, services, surroundings } from "./services";

const CHAT_VIEW = "sould.chat";
const TAB = "sould.chatTab";

/** What is before the user is told at most this often. Milliseconds. */
const PAUSE = 150;

export class Panels implements vscode.WebviewViewProvider, vscode.WebviewPanelSerializer, vscode.Disposable {
  readonly router: Router;
  readonly #directory: vscode.Uri;
  readonly #places: Places;
  readonly #subscriptions: { dispose(): void }[];
  /** Of those that are there, the one used last at the end. */
  readonly #open = new Set<Panel>();
  /** For the panel that says that it is ready next. */
  #openings: Opening[] = [];
  #editor: vscode.TextEditor | undefined;
  #context: EditorContext;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    extension: vscode.Uri,
    connection: Connection,
    places: Places,
    login: (given: KeyGiven) => Promise<void>,
    log: (line: string) => void,
  ) {
    this.#directory = vscode.Uri.joinPath(extension, "dist");
    this.#places = places;
    this.#editor = vscode.window.activeTextEditor;
    this.#context = contextOf(this.#editor, places);
    this.router = new Router(
      connection,
      services({ places, daemon: connection, editor: () => this.#lastEditor(), login }),
      log,
    );
    this.#subscriptions = [
      vscode.window.registerWebviewViewProvider(CHAT_VIEW, this),
      vscode.window.registerWebviewPanelSerializer(TAB, this),
      connection.onDidChangeState(() => {
        this.router.stateChanged();
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        this.#activated(editor);
      }),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        if (event.textEditor === this.#editor) {
          this.#soon();
        }
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(() => {
        this.#tell("_panel/surroundings", surroundings(places));
      }),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#fill(view.webview, (ends) => view.onDidDispose(ends));
  }

  /** A tab of the last time. */
  deserializeWebviewPanel(tab: vscode.WebviewPanel): Promise<void> {
    this.#fillTab(tab);
    return Promise.resolve();
  }

  /** The session that was looked at last, while it is still shown. */
  get current(): Panel["current"] {
    return [...this.#open].at(-1)?.current;
  }

  /** Opens the chat in a tab of its own, beside what is open, with the session that was looked at last. */
  openTab(): void {
    const session = this.current;
    if (session !== undefined) {
      this.#openings.push({ session });
    }
    this.#fillTab(
      vscode.window.createWebviewPanel(TAB, "sould", { viewColumn: vscode.ViewColumn.Beside, preserveFocus: false }),
    );
  }

  /** Opens the chat in a window of its own, which belongs to this one. */
  async openWindow(): Promise<void> {
    this.openTab();
    await vscode.commands.executeCommand("workbench.action.moveEditorToNewWindow");
  }

  /** Shows a panel, with the focus in it, and has it do this: the user has just asked for it. */
  async show(opening?: Opening): Promise<void> {
    const last = [...this.#open].at(-1);
    if (opening !== undefined && last === undefined) {
      this.#openings.push(opening);
    }
    await revealChat(CHAT_VIEW);
    if (opening !== undefined && last !== undefined) {
      last.post({ jsonrpc: "2.0", method: "_panel/open", params: opening });
    }
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }

  #fillTab(tab: vscode.WebviewPanel): void {
    const icon = (theme: string): vscode.Uri => vscode.Uri.joinPath(this.#directory, "..", "media", `tab-${theme}.svg`);
    tab.iconPath = { light: icon("light"), dark: icon("dark") };
    this.#fill(tab.webview, (ends) => tab.onDidDispose(ends));
  }

  #fill(webview: vscode.Webview, onEnd: (ends: () => void) => vscode.Disposable): void {
    webview.options = { enableScripts: true, localResourceRoots: [this.#directory] };
    const panel = this.router.attach((message) => void webview.postMessage(message));
    const listening = webview.onDidReceiveMessage((data: unknown) => {
      void this.#received(panel, data);
    });
    this.#open.add(panel);
    onEnd(() => {
      listening.dispose();
      panel.dispose();
      this.#open.delete(panel);
    });
    const at = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(this.#directory, name)).toString();
    webview.html = page({
      source: webview.cspSource,
      script: at("panel.js"),
      style: at("panel.css"),
      language: vscode.env.language,
      bundle: vscode.l10n.bundle,
    });
  }

  async #received(panel: Panel, data: unknown): Promise<void> {
    this.#open.delete(panel);
    this.#open.add(panel);
    await panel.receive(data);
    if (isIntroduction(data)) {
      panel.post({ jsonrpc: "2.0", method: "_panel/context", params: this.#context });
      const openings = this.#openings;
      this.#openings = [];
      openings.forEach((params) => {
        panel.post({ jsonrpc: "2.0", method: "_panel/open", params });
      });
    }
  }

  #activated(editor: vscode.TextEditor | undefined): void {
    // None is active while a tab of ours is: what was before the user there still is.
    if (editor !== undefined) {
      this.#editor = editor;
      this.#soon();
    }
  }

  #lastEditor(): vscode.TextEditor | undefined {
    const last = this.#editor?.document;
    return vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors.find((each) => each.document === last);
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#context = contextOf(this.#lastEditor(), this.#places);
      this.#tell("_panel/context", this.#context);
    }, PAUSE);
  }

  #tell(method: string, params: object): void {
    this.#open.forEach((panel) => {
      panel.post({ jsonrpc: "2.0", method, params });
    });
  }
}

function isIntroduction(data: unknown): boolean {
  return typeof data === "object" && data !== null && "method" in data && data.method === "initialize";
}
