/** The sessions of all projects, newest first, a page at a time. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { list, object, own, text } from "../session/read";
import type { Client } from "./client";

export interface Known {
  readonly id: string;
  readonly cwd: string;
  readonly title: string;
  readonly updated: string;
  readonly archived: boolean;
  /** What git has checked out in its directory; "" where that is not known. */
  readonly branch: string;
  /** The directory of the project that its worktree was made of; "" where it works in the project itself. */
  readonly repository: string;
}

const MOST_PAGES = 20;

export class Sessions {
  readonly #client: Client;
  readonly #known = signal<readonly Known[]>([]);
  readonly #running = signal<ReadonlySet<string>>(new Set());

  constructor(client: Client) {
    this.#client = client;
  }

  get known(): ReadonlySignal<readonly Known[]> {
    return this.#known;
  }
  /** Those in which a turn runs, as far as this window was told. */
  get running(): ReadonlySignal<ReadonlySet<string>> {
    return this.#running;
  }

  /** Asks for the list anew. Rejects with RequestFailed. */
  async refresh(): Promise<void> {
    const found: Known[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES; page++) {
      const params = { ...(cursor !== undefined && { cursor }), _meta: { sould: { archived: true } } };
      const answer = object(await this.#client.request("session/list", params));
      found.push(...list(answer["sessions"]).map(object).map(readKnown));
      cursor = text(answer["nextCursor"]) || undefined;
      if (cursor === undefined) {
        break;
      }
    }
    this.#known.value = found;
  }

  async rename(known: Known, title: string): Promise<void> {
    const answer = object(await this.#client.request("session/set_title", { sessionId: known.id, title }));
    this.#replace({ ...known, title: text(answer["title"], title) });
  }

  async archive(known: Known, archived: boolean): Promise<void> {
    await this.#client.request("_sould/session/archive", { sessionId: known.id, archived });
    this.#replace({ ...known, archived });
  }

  async remove(known: Known): Promise<void> {
    await this.#client.request("session/delete", { sessionId: known.id });
    this.#known.value = this.#known.value.filter((each) => each.id !== known.id);
  }

  /** The id of a new session that begins with what this one has said. */
  async fork(known: Known): Promise<string> {
    const answer = object(
      await this.#client.request("session/fork", { sessionId: known.id, cwd: known.cwd, mcpServers: [] }),
    );
    return text(answer["sessionId"]);
  }

  /** Takes a `session/update`: titles change. */
  updated(params: unknown): void {
    const { sessionId, update } = object(params);
    const { sessionUpdate: kind, title } = object(update);
    const known = this.#known.value.find((each) => each.id === sessionId);
    if (kind === "session_info_update" && known !== undefined && typeof title === "string") {
      this.#replace({ ...known, title });
    }
  }

  /** Takes word of whether a turn runs. */
  ran(params: unknown): void {
    const { sessionId, running } = object(params);
    const next = new Set(this.#running.value);
    if (running === true) {
      next.add(text(sessionId));
    } else {
      next.delete(text(sessionId));
    }
    this.#running.value = next;
  }

  #replace(known: Known): void {
    this.#known.value = this.#known.value.map((each) => (each.id === known.id ? known : each));
  }
}

function readKnown(raw: Readonly<Record<string, unknown>>): Known {
  return {
    id: text(raw["sessionId"]),
    cwd: text(raw["cwd"]),
    title: text(raw["title"]),
    updated: text(raw["updatedAt"]),
    archived: own(raw)["archived"] === true,
    branch: text(own(raw)["branch"]),
    repository: text(object(own(raw)["worktree"])["repository"]),
  };
}
