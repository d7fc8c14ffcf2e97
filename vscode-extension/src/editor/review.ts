/**
 * The review of this window's projects: subscribed to while there is a connection, kept in the model, decided by requests.
 *
 * Decides nothing by itself and draws nothing.
 */
import type { Connection } from "../connection/connection";
import { parse } from "../protocol/readers";
import {
  base,
  rejected,
  reviewChanged,
  reviewList,
  reviewOutcome,
  sentComments,
  type CommentParams,
  type KeepParams,
  type RejectedHunk,
  type RejectParams,
  type ReviewOutcome,
  type UndoParams,
} from "../protocol/review";
import type { ReviewModel } from "../review/model";

export type Verdict = "keep" | "reject";

export class Review {
  readonly #connection: Connection;
  readonly #model: ReviewModel;
  readonly #log: (line: string) => void;
  /** The roots that the daemon answered with, by the directory that was asked about. */
  readonly #roots = new Map<string, string>();

  constructor(connection: Connection, model: ReviewModel, log: (line: string) => void) {
    this.#connection = connection;
    this.#model = model;
    this.#log = log;
  }

  /** Follow the projects of these directories, and no others. */
  async follow(directories: readonly string[]): Promise<void> {
    for (const [directory, root] of this.#roots) {
      if (!directories.includes(directory)) {
        this.#roots.delete(directory);
        await this.#leave(root, directory);
      }
    }
    for (const directory of directories) {
      await this.#subscribe(directory);
    }
  }

  /** The connection is another one: what was subscribed to is not any more. What is shown stays until it is known better. */
  forget(): void {
    this.#roots.clear();
  }

  /** Takes `_sould/review/changed`. */
  changed(params: unknown): void {
    const news = parse(reviewChanged, params);
    const missing = this.#model.change(news);
    if (missing !== undefined) {
      void this.#list(news.root, "paths" in missing ? missing.paths : undefined);
    }
  }

  /** Raises NotConnected, and what the daemon says. */
  async decide(verdict: Verdict, what: KeepParams | RejectParams): Promise<ReviewOutcome> {
    return parse(reviewOutcome, await this.#connection.request(`_sould/review/${verdict}`, what));
  }

  async undo(what: UndoParams): Promise<ReviewOutcome> {
    return parse(reviewOutcome, await this.#connection.request("_sould/review/undo", what));
  }

  /** The file as its user accepted it; undefined: it is not under review, or no text. */
  async base(path: string): Promise<string | undefined> {
    return parse(base, await this.#connection.request("_sould/review/base", { path })).text ?? undefined;
  }

  /** What was rejected and is in its file no more, the last one first. */
  async rejected(cwd: string): Promise<RejectedHunk[]> {
    const { hunks } = parse(rejected, await this.#connection.request("_sould/review/rejected", { cwd }));
    const at = ({ decision }: RejectedHunk): string => decision?.at ?? "";
    return hunks.filter((each) => each.decision?.verdict === "reject").sort((a, b) => (at(a) < at(b) ? 1 : -1));
  }

  async comment(comment: CommentParams): Promise<void> {
    await this.#connection.request("_sould/review/comment", comment);
  }

  async sendComments(cwd: string, ids: number[]): Promise<"closed" | "nothing" | "returned" | "sent"> {
    return parse(sentComments, await this.#connection.request("_sould/review/comments/send", { cwd, ids })).outcome;
  }

  async #subscribe(directory: string): Promise<void> {
    if (this.#roots.has(directory)) {
      return;
    }
    const known = [...this.#roots.values()];
    this.#roots.set(directory, directory);
    try {
      const list = parse(reviewList, await this.#connection.request("_sould/review/subscribe", { cwd: directory }));
      this.#roots.set(directory, list.root);
      if (!known.includes(list.root)) {
        this.#model.take(list);
      }
    } catch (problem) {
      this.#roots.delete(directory);
      this.#log(`subscribe: ${String(problem)}`);
    }
  }

  async #list(root: string, paths: string[] | undefined): Promise<void> {
    if (paths === undefined) {
      this.#model.expectList(root);
    }
    try {
      const asked = paths === undefined ? { cwd: root } : { cwd: root, paths };
      const list = parse(reviewList, await this.#connection.request("_sould/review/list", asked));
      if (paths === undefined) {
        this.#model.take(list);
      } else {
        this.#model.takeSome(list, paths);
      }
    } catch (problem) {
      this.#model.giveUp(root);
      this.#log(`list: ${String(problem)}`);
    }
  }

  async #leave(root: string, directory: string): Promise<void> {
    if (![...this.#roots.values()].includes(root)) {
      this.#model.forget([root]);
      await this.#connection.request("_sould/review/unsubscribe", { cwd: directory }).catch(() => undefined);
    }
  }
}
