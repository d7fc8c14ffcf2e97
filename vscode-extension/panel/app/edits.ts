/** What of a session's edits is to be reviewed, as it was when something was last told of it. It keeps nothing that the daemon does not know. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { leftOf, readPending, type PendingFile } from "../session/review";
import type { Client } from "./client";

export class Edits {
  readonly #client: Client;
  readonly #session: string;
  readonly #cwd: string;
  readonly #pending = signal<readonly PendingFile[] | undefined>(undefined);
  #listing: Promise<void> | undefined;
  /** It changed since it was listed. */
  #old = false;

  constructor(client: Client, session: string, cwd: string) {
    this.#client = client;
    this.#session = session;
    this.#cwd = cwd;
  }

  /** Undefined until it was listed. */
  get pending(): ReadonlySignal<readonly PendingFile[] | undefined> {
    return this.#pending;
  }

  /** Lists it, and once more when that is wanted meanwhile. Never rejects: what cannot be listed now is listed the next time. */
  async look(): Promise<void> {
    this.#old = true;
    this.#listing ??= this.#list().finally(() => {
      this.#listing = undefined;
    });
    await this.#listing;
  }

  /** Keeps or rejects all of it, or these hunks. Returns why some of that was not done; "" when all was. Rejects with RequestFailed. */
  async decide(verdict: "keep" | "reject", hunks?: readonly object[]): Promise<string> {
    const which = hunks === undefined ? { sessionId: this.#session } : { hunks };
    const answer = await this.#client.request(`_sould/review/${verdict}`, { cwd: this.#cwd, ...which });
    await this.look();
    return leftOf(answer);
  }

  async #list(): Promise<void> {
    while (this.#old) {
      this.#old = false;
      try {
        const raw = await this.#client.request("_sould/review/list", { cwd: this.#cwd, sessionId: this.#session });
        this.#pending.value = readPending(raw);
      } catch {
        return;
      }
    }
  }
}
