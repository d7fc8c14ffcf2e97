/** The view of all that is pending: session, turn, file, hunk. Its badge is how many hunks there are. */
import * as path from "node:path";
import * as vscode from "vscode";
import type { ReviewModel } from "../review/model";
import { filesBelow, hunksBelow, sessionsOf, type Node } from "../review/groups";
import { authors, changes, diffOf, label, pendingIn, remarks, renamedFrom, toReview } from "../review/wording";
import type { Places } from "./places";
import type { Titles } from "./titles";

/** From this many files on they are folded at first. VS Code keeps what its user folds and unfolds. */
const MANY = 10;

export class ChangesView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #model: ReviewModel;
  readonly #places: Places;
  readonly #titles: Titles;
  readonly #view: vscode.TreeView<Node>;
  readonly #subscriptions: { dispose(): void }[];
  #folds = false;

  constructor(model: ReviewModel, places: Places, titles: Titles) {
    this.#model = model;
    this.#places = places;
    this.#titles = titles;
    this.#view = vscode.window.createTreeView("sould.changes", { treeDataProvider: this, showCollapseAll: true });
    this.#subscriptions = [
      this.#view,
      model.onDidChange(() => {
        this.#refresh();
      }),
      titles.onDidChange(() => {
        this.#refresh();
      }),
    ];
  }

  getChildren(node?: Node): Node[] {
    switch (node?.kind) {
      case undefined:
        return [...this.#model.projects].flatMap((project) => sessionsOf(project.root, project.files.values()));
      case "session": {
        const [only] = node.turns;
        return node.turns.length === 1 && only !== undefined ? [...only.files] : [...node.turns];
      }
      case "turn":
        return [...node.files];
      case "file":
        return [...node.hunks];
      case "hunk":
        return [];
    }
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const item = this.#item(node);
    item.contextValue = node.kind;
    return item;
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
    this.#changed.dispose();
  }

  #refresh(): void {
    const count = pendingIn(this.#model.files);
    this.#folds = [...this.#model.files].filter((file) => file.hunks.length > 0).length >= MANY;
    this.#view.badge = count > 0 ? { value: count, tooltip: toReview(count) } : undefined;
    this.#changed.fire();
  }

  #item(node: Node): vscode.TreeItem {
    const open = vscode.TreeItemCollapsibleState.Expanded;
    switch (node.kind) {
      case "session": {
        const item = new vscode.TreeItem(this.#titles.of(node.root, node.sessionId), open);
        item.id = `${node.root}\n${node.sessionId}`;
        item.description = describe(node);
        item.iconPath = new vscode.ThemeIcon("comment-discussion");
        return item;
      }
      case "turn": {
        const item = new vscode.TreeItem(vscode.l10n.t("Turn {0}", node.number), open);
        item.id = `${node.sessionId}\n${node.turnId}`;
        item.description = describe(node);
        return item;
      }
      case "file": {
        const uri = this.#places.uriOf(node.file.path);
        const item = new vscode.TreeItem(
          this.#places.titleOf(node.file.path, renamedFrom(node.file)),
          this.#folds ? vscode.TreeItemCollapsibleState.Collapsed : open,
        );
        item.resourceUri = uri;
        item.id = `${node.sessionId}\n${node.turnId}\n${node.file.path}`;
        const relative = path.dirname(vscode.workspace.asRelativePath(uri, false));
        item.iconPath = vscode.ThemeIcon.File;
        item.description = [relative === "." ? "" : relative, changes(node.hunks.length)].filter(Boolean).join(" · ");
        return item;
      }
      case "hunk":
        return hunkItem(node);
    }
  }
}

function hunkItem(node: Extract<Node, { kind: "hunk" }>): vscode.TreeItem {
  const { hunk } = node;
  const item = new vscode.TreeItem(label(hunk), vscode.TreeItemCollapsibleState.None);
  item.id = `hunk ${hunk.path} ${hunk.id}`;
  item.description = remarks(hunk);
  const tooltip = new vscode.MarkdownString();
  tooltip.appendText(authors(hunk));
  tooltip.appendCodeblock(diffOf(hunk), "diff");
  item.tooltip = tooltip;
  item.command = { command: "sould.open", title: vscode.l10n.t("Open Change"), arguments: [node] };
  item.accessibilityInformation = { label: vscode.l10n.t("Change {0}, {1}", label(hunk), remarks(hunk)) };
  return item;
}

function describe(node: Node): string {
  const files = filesBelow(node).length;
  const counted = files === 1 ? vscode.l10n.t("1 file") : vscode.l10n.t("{0} files", files);
  return `${counted} · ${changes(hunksBelow(node).length)}`;
}
