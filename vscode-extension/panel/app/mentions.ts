/** Looks for what can be mentioned: in the editor, and in the daemon. Each source answers by itself; one that cannot has nothing. */
import { exported } from "../../src/protocol/session";
import {
  conversation,
  ofFiles,
  ofHunks,
  ofProblems,
  ofResources,
  ofSessions,
  ofSymbols,
  ranked,
  type Mention,
} from "../session/mentions";
import { readPending } from "../session/review";
import type { Block } from "../session/updates";
import type { Panel } from "./panel";

/** Of each source. */
const MOST = 50;
const NOTHING: readonly Mention[] = [];

export class Mentions {
  readonly #panel: Panel;
  readonly #root: string;
  /** What does not depend on what is typed, asked for once. */
  readonly #fixed: readonly Promise<readonly Mention[]>[];

  /** `session`: where it is mentioned, "" for one that is yet to begin. */
  constructor(panel: Panel, root: string, session: string) {
    this.#panel = panel;
    this.#root = root;
    this.#fixed = [
      this.#ask("_panel/problems", { root }, (raw) => ofProblems(raw, root)),
      this.#ask("_sould/review/list", { cwd: root }, (raw) => ofHunks(readPending(raw), root)),
      panel.sessions.refresh().then(
        () =>
          ofSessions(
            panel.sessions.known.peek().filter((known) => !known.archived),
            session,
          ),
        () => NOTHING,
      ),
      session === ""
        ? Promise.resolve(NOTHING)
        : this.#ask("_sould/session/resources", { sessionId: session }, ofResources),
    ];
  }

  /** Tells what there is, again and again as more of it is known. */
  look(typed: string, tell: (found: readonly Mention[]) => void): void {
    const root = this.#root;
    const sources = [
      this.#ask("_panel/findFiles", { root, query: typed, limit: MOST }, (raw) => ofFiles(raw, root)),
      typed === ""
        ? Promise.resolve(NOTHING)
        : this.#ask("_panel/symbols", { query: typed, limit: MOST }, (raw) => ofSymbols(raw, root)),
      ...this.#fixed,
    ];
    const known = sources.map(() => NOTHING);
    sources.forEach((source, at) => {
      void source.then((found) => {
        known[at] = found;
        tell(known.flatMap((each) => ranked(each, typed).slice(0, MOST)));
      });
    });
  }

  /** What is sent with a message that mentions it. Rejects with RequestFailed. */
  async blocksOf({ block, session }: Mention): Promise<readonly Block[]> {
    if (session === undefined) {
      return block === undefined ? [] : [block];
    }
    const raw = await this.#panel.client.request("_sould/session/export", { sessionId: session.id });
    return [conversation(session.title, session.id, exported(raw)?.text ?? "")];
  }

  #ask(method: string, params: object, read: (raw: unknown) => readonly Mention[]): Promise<readonly Mention[]> {
    return this.#panel.client.request(method, params).then(read, () => NOTHING);
  }
}
