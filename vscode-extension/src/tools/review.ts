/**
 * What an agent wants of its user's review: that they look at changes (`request`), or what it has to say about them (`explain`). What waits
 * and what was decided sould says itself.
 *
 * A notification asks, one at a time, and opens nothing before its user wants that.
 */
import * as vscode from "vscode";
import { unlinked } from "../editor/notice";
import { revealLine } from "../editor/reveal";
import type { CallResult } from "../protocol/editor";
import type { ShownFile, ShownHunk } from "../protocol/review";
import type { ReviewModel } from "../review/model";
import { type Call, ToolError } from "./call";
import type { Tour } from "./tour";

const REVIEW = vscode.l10n.t("Review");
const LONGEST_MESSAGE = 300;

export class ReviewRequests {
  readonly #model: ReviewModel;
  readonly #tour: Tour;
  #asking = false;

  constructor(model: ReviewModel, tour: Tour) {
    this.#model = model;
    this.#tour = tour;
  }

  async act(call: Call): Promise<CallResult> {
    switch (call.text("action")) {
      case "request":
        this.#request(call);
        break;
      case "explain":
        await this.#explain(call);
        break;
      default:
        throw new ToolError("not_supported", "What waits for review sould says itself.");
    }
    return { data: { pending: [] } };
  }

  #request(call: Call): void {
    const hunks = this.#hunks(call);
    const [first] = hunks;
    if (first === undefined) {
      throw new ToolError("not_found", "VS Code shows none of these changes.");
    }
    if (this.#asking) {
      throw new ToolError("busy", "The user has been asked to review already, and has not answered yet.");
    }
    this.#asking = true;
    const asked =
      hunks.length === 1
        ? vscode.l10n.t("An agent asks you to review a change")
        : vscode.l10n.t("An agent asks you to review {0} changes", hunks.length);
    const message = call.text("message").replace(/\s+/g, " ").trim().slice(0, LONGEST_MESSAGE);
    void this.#ask(message === "" ? asked : `${asked}: ${message}`, call.places.uriOf(first[0].path), first[1].start);
  }

  async #ask(question: string, uri: vscode.Uri, line: number): Promise<void> {
    try {
      if ((await vscode.window.showInformationMessage(unlinked(question), REVIEW)) === REVIEW) {
        await revealLine(uri, line);
      }
    } finally {
      this.#asking = false;
    }
  }

  async #explain(call: Call): Promise<void> {
    const note = call.text("message");
    const items = this.#hunks(call)
      .filter(([file]) => file.exists)
      .map(([file, hunk]) => ({
        file: file.path,
        startLine: hunk.start + 1,
        endLine: Math.max(hunk.start + 1, hunk.start + hunk.lines.length),
        note,
      }));
    await this.#tour.mark(vscode.l10n.t("About these changes"), items, 0);
  }

  /** Those of the project that the call names. */
  #hunks(call: Call): [ShownFile, ShownHunk][] {
    const ids = new Set(call.list("hunkIds"));
    const files = this.#model.files.filter((file) => file.path.startsWith(`${call.root}/`));
    return files.flatMap((file) =>
      file.hunks.filter((hunk) => ids.has(hunk.id)).map((hunk): [ShownFile, ShownHunk] => [file, hunk]),
    );
  }
}
