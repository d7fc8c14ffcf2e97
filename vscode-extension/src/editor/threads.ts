/**
 * Comments for the agent, beside the lines they are about. They gather in the project, whichever editor they were written in, until
 * they are sent as one.
 */
import * as vscode from "vscode";
import type { ShownComment, ShownHunk } from "../protocol/review";
import type { ReviewModel } from "../review/model";
import { endOf } from "../review/place";
import type { Places } from "./places";
import { returnTo } from "./reveal";
import type { Review } from "./review";

/** A comment that is being written: VS Code puts the focus into it, and what was written into `body` when it is added. */
class Draft implements vscode.Comment {
  readonly mode = vscode.CommentMode.Editing;
  readonly contextValue = "draft";
  readonly author = { name: vscode.l10n.t("you") };
  readonly hunk: ShownHunk;
  readonly thread: vscode.CommentThread;
  body: string | vscode.MarkdownString;

  constructor(hunk: ShownHunk, thread: vscode.CommentThread, words = "") {
    this.hunk = hunk;
    this.thread = thread;
    this.body = words;
  }

  get words(): string {
    return typeof this.body === "string" ? this.body : this.body.value;
  }
}

class OwnComment implements vscode.Comment {
  readonly mode = vscode.CommentMode.Preview;
  readonly contextValue = "own";
  readonly author: vscode.CommentAuthorInformation;
  readonly body: string;
  readonly comment: ShownComment;

  constructor(comment: ShownComment) {
    this.comment = comment;
    this.body = comment.text;
    this.author = {
      name: comment.by ? vscode.l10n.t("{0}, not sent yet", comment.by) : vscode.l10n.t("you, not sent yet"),
    };
  }
}

export class Threads implements vscode.Disposable {
  readonly #review: Review;
  readonly #model: ReviewModel;
  readonly #places: Places;
  readonly #controller: vscode.CommentController;
  /** By comment, or by hunk while what is said about it is being written. */
  readonly #threads = new Map<string, vscode.CommentThread>();
  readonly #listening: { dispose(): void };

  constructor(review: Review, model: ReviewModel, places: Places) {
    this.#review = review;
    this.#model = model;
    this.#places = places;
    this.#controller = vscode.comments.createCommentController("sould", "sould");
    this.#listening = model.onDidChange(() => {
      this.#refresh();
    });
  }

  dispose(): void {
    this.#listening.dispose();
    this.#controller.dispose();
  }

  /** Opens a box below a hunk, with the focus in it. */
  write(hunk: ShownHunk): void {
    const key = draftKey(hunk);
    const thread = this.#threads.get(key) ?? this.#draft(hunk);
    this.#threads.set(key, thread);
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
  }

  /** What was written is a comment of the project from now on. */
  async add(draft: unknown): Promise<void> {
    if (!(draft instanceof Draft)) {
      return;
    }
    const { thread, words } = draft;
    if (words.trim() === "") {
      this.#drop(thread);
      return;
    }
    try {
      await this.#review.comment({ text: words, ...this.#placeOf(draft) });
    } catch (problem) {
      // VS Code has closed the box by now, and the words are nowhere else.
      thread.comments = [new Draft(draft.hunk, thread, words)];
      throw problem;
    }
    this.#drop(thread);
    await returnTo(thread.uri, thread.range?.start.line ?? 0);
  }

  /** What is being written is not wanted any more. */
  discard(thread: vscode.CommentThread): void {
    this.#drop(thread);
  }

  /** Takes a comment out. */
  async remove(comment: vscode.Comment): Promise<void> {
    if (comment instanceof OwnComment) {
      const { id, path } = comment.comment;
      const cwd = this.#model.rootOf(path) ?? this.#rootOfComment(id);
      if (cwd !== undefined) {
        await this.#review.comment({ cwd, id, text: "" });
      }
    }
  }

  /** Gives all comments to the agents, and says what became of them. */
  async send(): Promise<void> {
    for (const { root, comments } of [...this.#model.projects].filter((project) => project.comments.length > 0)) {
      const outcome = await this.#review.sendComments(
        root,
        comments.map((comment) => comment.id),
      );
      if (outcome === "closed") {
        void vscode.window.showWarningMessage(
          vscode.l10n.t("sould: the session that wrote this does not exist any more. The comments stay."),
        );
      } else if (outcome === "sent") {
        const said =
          comments.length === 1
            ? vscode.l10n.t("$(send) 1 comment sent to the agent")
            : vscode.l10n.t("$(send) {0} comments sent to the agent", comments.length);
        vscode.window.setStatusBarMessage(said, 5_000);
      }
    }
  }

  #rootOfComment(id: number): string | undefined {
    return [...this.#model.projects].find((project) => project.comments.some((comment) => comment.id === id))?.root;
  }

  #draft(hunk: ShownHunk): vscode.CommentThread {
    const range = new vscode.Range(hunk.start, 0, Math.max(hunk.start, endOf(hunk) - 1), 0);
    const thread = this.#controller.createCommentThread(this.#places.uriOf(hunk.path), range, []);
    thread.comments = [new Draft(hunk, thread)];
    thread.label = vscode.l10n.t("Comment on this change: it is sent with your other comments");
    thread.contextValue = "draft";
    thread.canReply = false;
    return thread;
  }

  /** The hunk, while it is the same; else the lines that are there now. */
  #placeOf({ hunk, thread }: Draft): { cwd: string; hunk: number } | { path: string; lines: [number, number] } {
    const { path } = hunk;
    const cwd = this.#model.rootOf(path);
    if (cwd !== undefined && this.#model.hunk(path, hunk.id)) {
      return { cwd, hunk: hunk.id };
    }
    return { path, lines: [thread.range?.start.line ?? 0, (thread.range?.end.line ?? 0) + 1] };
  }

  #drop(thread: vscode.CommentThread): void {
    for (const [key, each] of this.#threads) {
      if (each === thread) {
        this.#threads.delete(key);
      }
    }
    thread.dispose();
  }

  /** Shows each comment that waits, and drops those that are gone. */
  #refresh(): void {
    const wanted = new Map(this.#model.comments.map((comment) => [`comment ${comment.id} ${comment.text}`, comment]));
    const drafts = new Set(this.#model.files.flatMap((file) => file.hunks.map(draftKey)));
    for (const [key, thread] of this.#threads) {
      if (!wanted.has(key) && !drafts.has(key)) {
        this.#orphan(thread);
      }
    }
    for (const [key, comment] of wanted) {
      if (!this.#threads.has(key)) {
        this.#threads.set(key, this.#shown(comment));
      }
    }
  }

  /** What the user is writing stays, about the lines that are there now: the agent goes on meanwhile. */
  #orphan(thread: vscode.CommentThread): void {
    if (thread.contextValue !== "draft" || thread.collapsibleState === vscode.CommentThreadCollapsibleState.Collapsed) {
      this.#drop(thread);
    } else {
      thread.label = vscode.l10n.t("The change is another one by now, or decided: a comment on these lines");
    }
  }

  #shown(comment: ShownComment): vscode.CommentThread {
    const hunk = comment.hunk === null ? undefined : this.#model.hunk(comment.path, comment.hunk);
    const start = hunk?.start ?? comment.start;
    const end = hunk ? endOf(hunk) : comment.start + comment.code.length;
    const range = new vscode.Range(start, 0, Math.max(start, end - 1), 0);
    const thread = this.#controller.createCommentThread(this.#places.uriOf(comment.path), range, [
      new OwnComment(comment),
    ]);
    thread.label = vscode.l10n.t("For the agent");
    thread.canReply = false;
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Collapsed;
    return thread;
  }
}

function draftKey(hunk: ShownHunk): string {
  return `draft ${hunk.path} ${hunk.id}`;
}
