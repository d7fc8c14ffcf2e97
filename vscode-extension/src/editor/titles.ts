/** What sessions are called. Asked for when a session is shown whose title is not known. */
import * as vscode from "vscode";
import * as z from "zod";
import type { Connection } from "../connection/connection";
import type { ReviewModel } from "../review/model";

const listed = z.object({ sessions: z.array(z.object({ sessionId: z.string(), title: z.string().nullish() })) });

export class Titles implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #connection: Connection;
  readonly #titles = new Map<string, string>();
  /** Sessions that were asked about: one without a title is asked about again when something of it changes. */
  readonly #asked = new Set<string>();
  /** Directories whose sessions are being asked for. */
  readonly #asking = new Set<string>();
  readonly #listening: { dispose(): void };

  constructor(connection: Connection, model: ReviewModel) {
    this.#connection = connection;
    this.#listening = model.onDidChange((paths) => {
      const files = [...paths].map((path) => model.file(path)).filter((file) => file !== undefined);
      for (const { sessionId } of files.flatMap((file) => file.hunks).flatMap((hunk) => hunk.agents)) {
        this.#asked.delete(sessionId);
      }
    });
  }

  /** The session's title, else the beginning of its id. */
  of(root: string, sessionId: string): string {
    const title = this.#titles.get(sessionId);
    if (title === undefined && !this.#asked.has(sessionId) && !this.#asking.has(root)) {
      this.#asked.add(sessionId);
      void this.#ask(root);
    }
    return title ?? vscode.l10n.t("Session {0}", sessionId.slice(0, 8));
  }

  dispose(): void {
    this.#listening.dispose();
    this.#changed.dispose();
  }

  async #ask(cwd: string): Promise<void> {
    this.#asking.add(cwd);
    const params = { cwd, _meta: { sould: { origin: "any" } } };
    const answer = listed.safeParse(await this.#connection.request("session/list", params).catch(() => undefined));
    this.#asking.delete(cwd);
    for (const session of answer.data?.sessions ?? []) {
      if (session.title) {
        this.#titles.set(session.sessionId, session.title);
      }
    }
    if (answer.success) {
      this.#changed.fire();
    }
  }
}
