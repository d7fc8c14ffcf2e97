/**
 * What waits for a person, in every project: a view, and a notification when nobody looks at this window.
 *
 * The notification is one that VS Code lets us take away again: whatever is answered elsewhere is gone here, too.
 */
import * as vscode from "vscode";
import { nameOf, visible } from "../../panel/session/visible";
import { iconless, unlinked } from "./notice";
import type { Connection } from "../connection/connection";
import type { InboxModel } from "../inbox/model";
import { whereOf } from "../inbox/words";
import { inboxChanged, inboxItem, inboxList, type AskedEdit, type InboxItem } from "../protocol/inbox";
import { parse } from "../protocol/readers";

/** Milliseconds that notifications stay when the user is back: as long as it takes to click on one. */
const LINGERS = 10_000;

export interface ItemNode {
  readonly kind: "item";
  readonly item: InboxItem;
}

export interface EditNode {
  readonly kind: "edit";
  readonly item: InboxItem;
  readonly at: number;
}

interface LineNode {
  readonly kind: "line";
  readonly text: string;
  readonly detail: string;
}

type InboxNode = ItemNode | EditNode | LineNode;

export class Inbox implements vscode.TreeDataProvider<InboxNode>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #connection: Connection;
  readonly #model: InboxModel;
  readonly #log: (line: string) => void;
  readonly #view: vscode.TreeView<InboxNode>;
  /** Notifications that are shown, and how they are taken away. */
  readonly #shown = new Map<string, () => void>();
  /** Items that were notified of, as long as they wait. */
  #notified = new Set<string>();
  readonly #subscriptions: { dispose(): void }[];
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: Connection, model: InboxModel, log: (line: string) => void) {
    this.#connection = connection;
    this.#model = model;
    this.#log = log;
    this.#view = vscode.window.createTreeView("sould.inbox", { treeDataProvider: this });
    this.#subscriptions = [
      this.#view,
      model.onDidChange(() => {
        this.#refresh();
      }),
      vscode.window.onDidChangeWindowState((state) => {
        clearTimeout(this.#timer);
        if (state.focused) {
          this.#timer = setTimeout(() => {
            this.#endNotifications(() => true);
          }, LINGERS);
        }
      }),
    ];
  }

  /** Asks for all that waits, and for news of it. */
  async follow(): Promise<void> {
    try {
      this.#model.take(parse(inboxList, await this.#connection.request("_sould/inbox/subscribe", {})).items);
    } catch (problem) {
      this.#log(`inbox: ${String(problem)}`);
    }
  }

  /** Takes `_sould/inbox/changed`. */
  changed(params: unknown): void {
    if (this.#model.change(parse(inboxChanged, params))) {
      void this.follow();
    }
  }

  /** The item with all that lists leave out. */
  async whole(item: InboxItem): Promise<InboxItem> {
    return parse(inboxItem, await this.#connection.request("_sould/inbox/show", { id: item.id }));
  }

  getChildren(node?: InboxNode): InboxNode[] {
    if (node === undefined) {
      return this.#model.items.map((item) => ({ kind: "item", item }));
    }
    return node.kind === "item" ? partsOf(node.item) : [];
  }

  getTreeItem(node: InboxNode): vscode.TreeItem {
    const shown = treeItem(node);
    shown.contextValue = node.kind === "item" ? node.item.kind : node.kind;
    return shown;
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#endNotifications(() => true);
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
    this.#changed.dispose();
  }

  #refresh(): void {
    const { items } = this.#model;
    this.#view.badge =
      items.length > 0
        ? { value: items.length, tooltip: vscode.l10n.t("{0} waiting for you", items.length) }
        : undefined;
    this.#endNotifications((id) => this.#model.item(id) === undefined);
    this.#notified = new Set([...this.#notified].filter((id) => this.#model.item(id) !== undefined));
    items.forEach((item) => {
      this.#notify(item);
    });
    this.#changed.fire();
  }

  /** Once for each item, and only while the user is elsewhere. */
  #notify(item: InboxItem): void {
    if (vscode.window.state.focused || this.#notified.has(item.id)) {
      return;
    }
    this.#notified.add(item.id);
    const said = unlinked(vscode.l10n.t("sould waits for you: {0} ({1})", item.title, whereOf(item)));
    const given = encodeURIComponent(JSON.stringify([item.id]));
    const answer = `[${vscode.l10n.t("Answer")}](command:sould.answer?${given})`;
    const title = `${said} — ${answer} · [${vscode.l10n.t("Show")}](command:sould.showItem?${given})`;
    void vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title },
      () =>
        new Promise<void>((resolve) => {
          this.#shown.set(item.id, resolve);
        }),
    );
  }

  #endNotifications(which: (id: string) => boolean): void {
    for (const [id, end] of this.#shown) {
      if (which(id)) {
        end();
        this.#shown.delete(id);
      }
    }
  }
}

function partsOf(item: InboxItem): InboxNode[] {
  const commands = item.commands.map((each): LineNode => ({
    kind: "line",
    text: each.command,
    detail: each.directory,
  }));
  const edits = item.edits.map((_, at): EditNode => ({ kind: "edit", item, at }));
  const questions = item.questions.map((each): LineNode => ({
    kind: "line",
    text: each.question,
    detail: each.header,
  }));
  const remembered = item.scopes.filter((scope) => scope.remembers !== "");
  const scopes = remembered.map((each): LineNode => ({
    kind: "line",
    text: vscode.l10n.t("Can be allowed for longer:"),
    detail: each.remembers,
  }));
  return [...commands, ...edits, ...questions, ...scopes];
}

function spoken(item: InboxItem): string {
  return item.kind === "approval"
    ? vscode.l10n.t("approval: {0}, {1}", item.title, whereOf(item))
    : vscode.l10n.t("question: {0}, {1}", item.title, whereOf(item));
}

function treeItem(node: InboxNode): vscode.TreeItem {
  const { None, Expanded } = vscode.TreeItemCollapsibleState;
  if (node.kind === "line") {
    const line = new vscode.TreeItem(node.text, None);
    line.description = node.detail;
    line.tooltip = [node.text, node.detail].filter(Boolean).join("\n");
    return line;
  }
  if (node.kind === "edit") {
    const edit = node.item.edits[node.at] as AskedEdit;
    const shown = new vscode.TreeItem(iconless(nameOf(edit.path)), None);
    shown.resourceUri = vscode.Uri.file(edit.path);
    shown.tooltip = visible(edit.path);
    shown.description = edit.isNew ? vscode.l10n.t("new file") : vscode.l10n.t("shows the change");
    shown.iconPath = vscode.ThemeIcon.File;
    shown.command = { command: "sould.showAsked", title: vscode.l10n.t("Show Change"), arguments: [node] };
    return shown;
  }
  const { item } = node;
  const shown = new vscode.TreeItem(item.title, Expanded);
  shown.id = `inbox ${item.id}`;
  shown.description = whereOf(item);
  shown.iconPath = new vscode.ThemeIcon(item.kind === "approval" ? "shield" : "question");
  shown.tooltip = [item.title, ...item.lines].join("\n");
  shown.accessibilityInformation = { label: spoken(item) };
  return shown;
}
