/**
 * Bars beside changed lines, and what was there before in a peek, by VS Code's own quick diff.
 *
 * There is a source control only while something is pending: an empty one would stand in the Source Control view. It is made after
 * git's, because VS Code shows the youngest with a root first in the peek; nothing depends on that.
 */
import * as vscode from "vscode";
import type { ReviewModel } from "../review/model";
import { textHunks } from "../review/place";
import { baseUri } from "./base";
import type { Places } from "./places";

export class QuickDiff implements vscode.Disposable {
  readonly #model: ReviewModel;
  readonly #places: Places;
  readonly #controls = new Map<string, vscode.SourceControl>();
  readonly #listening: { dispose(): void };
  #afterGit = false;
  #disposed = false;

  constructor(model: ReviewModel, places: Places) {
    this.#model = model;
    this.#places = places;
    this.#listening = model.onDidChange(() => {
      this.#refresh();
    });
    void gitIsReady().then(() => {
      this.#afterGit = true;
      this.#refresh();
    });
  }

  dispose(): void {
    this.#disposed = true;
    this.#listening.dispose();
    this.#controls.forEach((control) => {
      control.dispose();
    });
  }

  #refresh(): void {
    if (!this.#afterGit || this.#disposed) {
      return;
    }
    const pending = new Set([...this.#model.projects].filter((each) => each.files.size > 0).map((each) => each.root));
    for (const [root, control] of this.#controls) {
      if (!pending.has(root)) {
        control.dispose();
        this.#controls.delete(root);
      }
    }
    for (const root of pending) {
      if (!this.#controls.has(root)) {
        this.#controls.set(root, this.#create(root));
      }
    }
  }

  #create(root: string): vscode.SourceControl {
    const control = vscode.scm.createSourceControl(
      "sould",
      vscode.l10n.t("Changes of Agents"),
      this.#places.uriOf(root),
    );
    control.inputBox.visible = false;
    control.quickDiffProvider = {
      provideOriginalResource: (uri) => {
        const path = this.#places.pathOf(uri);
        return path !== undefined && textHunks(this.#model.file(path)).length > 0 ? baseUri(uri) : undefined;
      },
    };
    return control;
  }
}

/** Of the API of VS Code's git extension (extensions/git/src/api/git.d.ts), what is used. */
interface GitExtension {
  getAPI(version: 1): {
    readonly state: "initialized" | "uninitialized";
    readonly onDidChangeState: vscode.Event<"initialized" | "uninitialized">;
  };
}

/** Until git has opened its repositories; at once where it is switched off, or is not there. */
async function gitIsReady(): Promise<void> {
  try {
    const api = (await vscode.extensions.getExtension<GitExtension>("vscode.git")?.activate())?.getAPI(1);
    if (api?.state === "uninitialized") {
      await new Promise<void>((resolve) => {
        const listening = api.onDidChangeState(() => {
          listening.dispose();
          resolve();
        });
      });
    }
  } catch {
    // There is no git to come after.
  }
}
