/**
 * The session that the next prompt begins: in which folder, and open already when the user is about to write it, so that its options and
 * commands are there. Nobody sees one that nothing was said in: the daemon forgets it.
 */
import { computed, signal, type ReadonlySignal } from "@preact/signals";
import type { Link, Surroundings } from "../link";
import { object, text } from "../session/read";
import type { Client } from "./client";
import { Session } from "./session";

export class Next {
  /** It is to have a worktree of its own, which is made with the prompt. */
  readonly apart = signal(false);
  /** The folder in which it begins. */
  readonly root: ReadonlySignal<Surroundings["roots"][number] | undefined>;
  readonly #client: Client;
  /** Whether a session can begin now. */
  readonly #mayBegin: () => boolean;
  readonly #chosen = signal<string | undefined>(undefined);
  readonly #prepared = signal<Session | undefined>(undefined);
  #preparing: Promise<void> | undefined;
  #wanted = false;

  constructor(client: Client, link: Link, surroundings: ReadonlySignal<Surroundings>, mayBegin: () => boolean) {
    this.#client = client;
    this.#mayBegin = mayBegin;
    this.apart.value = link.state.apart === true;
    this.#chosen.value = link.state.root;
    this.root = computed(() => {
      const { roots } = surroundings.value;
      return roots.find((each) => each.path === this.#chosen.value) ?? roots[0];
    });
  }

  /** Undefined when it is not open yet. */
  get prepared(): ReadonlySignal<Session | undefined> {
    return this.#prepared;
  }

  begin(root: string | undefined, apart: boolean): void {
    this.#chosen.value = root;
    this.apart.value = apart;
  }

  /** The user is about to write. Never rejects: what fails is said when the prompt is sent. */
  async prepare(): Promise<void> {
    this.#wanted = true;
    this.#preparing ??= this.#prepare().finally(() => {
      this.#preparing = undefined;
    });
    await this.#preparing;
  }

  /** There is another connection, or none. */
  async connected(is: boolean): Promise<void> {
    if (!is) {
      this.#prepared.value = undefined;
    } else if (this.#wanted) {
      await this.prepare();
    }
  }

  /** The session, open; undefined where there is no folder. Rejects with RequestFailed. */
  async take(): Promise<Session | undefined> {
    await this.#preparing;
    const [root, prepared] = [this.root.value?.path, this.#prepared.value];
    this.#prepared.value = undefined;
    if (prepared !== undefined && prepared.cwd === root && !this.apart.value) {
      return prepared;
    }
    return root === undefined ? undefined : await this.#open(root);
  }

  async #prepare(): Promise<void> {
    while (this.#mayBegin() && !this.apart.value && this.#prepared.value?.cwd !== this.root.value?.path) {
      const root = this.root.value?.path;
      const before = this.#prepared.value;
      this.#prepared.value = undefined;
      try {
        if (before !== undefined) {
          await this.#client.request("session/close", { sessionId: before.id });
        }
        this.#prepared.value = root === undefined ? undefined : await this.#open(root);
      } catch {
        return;
      }
    }
  }

  async #open(root: string): Promise<Session> {
    const own = this.apart.value ? { _meta: { sould: { worktree: true } } } : {};
    const answer = object(await this.#client.request("session/new", { cwd: root, mcpServers: [], ...own }));
    const place = text(object(object(answer["_meta"])["sould"])["cwd"]);
    const session = new Session(this.#client, text(answer["sessionId"]), place || root);
    session.introduced(answer);
    session.begun();
    return session;
  }
}
