/**
 * What was rejected, in all projects of this window: a list from which each change is shown, copied, or brought back under review.
 *
 * It is shown as a document that cannot be changed: `sould-rejected:/the/path?ID`. Nothing is asked for before the user does.
 */
import * as vscode from "vscode";
import type { RejectedHunk } from "../protocol/review";
import type { ReviewModel } from "../review/model";
import { decidedBy, rejectedText, rejectedTitle } from "../review/wording";
import type { Places } from "./places";
import type { Review } from "./review";
import { showDocument } from "./reveal";

const SCHEME = "sould-rejected";
const COPY = new vscode.ThemeIcon("copy");
const BACK = new vscode.ThemeIcon("history");

interface Item extends vscode.QuickPickItem {
  readonly root: string;
  readonly rejected: RejectedHunk;
}

export class Rejections implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #review: Review;
  readonly #model: ReviewModel;
  readonly #places: Places;
  readonly #texts = new Map<string, string>();
  readonly #registered: vscode.Disposable;

  constructor(review: Review, model: ReviewModel, places: Places) {
    this.#review = review;
    this.#model = model;
    this.#places = places;
    this.#registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  async list(): Promise<void> {
    const found = await Promise.all(
      [...this.#model.projects].map(async ({ root }) => ({ root, hunks: await this.#review.rejected(root) })),
    );
    const items = found.flatMap(({ root, hunks }) => hunks.map((each) => this.#item(root, each)));
    if (items.length === 0) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("$(discard) Nothing was rejected"), 5_000);
      return;
    }
    const pick = vscode.window.createQuickPick<Item>();
    pick.title = vscode.l10n.t("Rejected Changes");
    pick.placeholder = vscode.l10n.t("Show one; its buttons copy it, or bring it back to be reviewed again");
    pick.matchOnDetail = true;
    pick.items = items;
    pick.onDidTriggerItemButton(
      ({ item, button }) =>
        void this.#does(button.iconPath === COPY ? () => this.#copy(item) : () => this.#bringBack(item), pick),
    );
    pick.onDidAccept(() => {
      const [chosen] = pick.activeItems;
      void this.#does(() => (chosen === undefined ? Promise.resolve() : this.#show(chosen)), pick);
    });
    pick.onDidHide(() => {
      pick.dispose();
    });
    pick.show();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? "";
  }

  dispose(): void {
    this.#registered.dispose();
  }

  #item(root: string, rejected: RejectedHunk): Item {
    const { hunk, decision } = rejected;
    const where = vscode.workspace.asRelativePath(this.#places.uriOf(hunk.path));
    const buttons = [
      { iconPath: COPY, tooltip: vscode.l10n.t("Copy") },
      { iconPath: BACK, tooltip: vscode.l10n.t("Bring Back") },
    ];
    return {
      label: rejectedTitle(hunk),
      description: `${where}:${hunk.start + 1}`,
      detail: decidedBy(decision),
      buttons,
      root,
      rejected,
    };
  }

  async #does(work: () => Promise<void>, pick: vscode.QuickPick<Item>): Promise<void> {
    pick.hide();
    try {
      await work();
    } catch (problem) {
      void vscode.window.showErrorMessage(`sould: ${problem instanceof Error ? problem.message : String(problem)}`);
    }
  }

  async #show({ rejected: { hunk } }: Item): Promise<void> {
    const uri = this.#places.uriOf(hunk.path).with({ scheme: SCHEME, query: String(hunk.id) });
    this.#texts.set(uri.toString(), rejectedText(hunk));
    await showDocument(uri);
  }

  async #copy({ rejected: { hunk } }: Item): Promise<void> {
    await vscode.env.clipboard.writeText(rejectedText(hunk));
    vscode.window.setStatusBarMessage(vscode.l10n.t("$(copy) The rejected change is copied"), 5_000);
  }

  async #bringBack({ root, rejected: { hunk } }: Item): Promise<void> {
    const { left } = await this.#review.undo({ cwd: root, hunks: [{ id: hunk.id }] });
    const [first] = left;
    if (first !== undefined) {
      throw new Error(first.message);
    }
    vscode.window.setStatusBarMessage(vscode.l10n.t("$(history) The change is pending again"), 5_000);
  }
}
