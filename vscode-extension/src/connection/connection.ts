/**
 * The one connection of this window to the daemon. It comes back by itself: a bridge that ended is started again, sooner or later.
 *
 * A restart of the daemon is not even noticed here: the bridge keeps its pipes for the next one. Nothing is started before `connect`.
 */
import type { InitializeResponse } from "@agentclientprotocol/sdk";
import { l10n } from "vscode";
import { Emitter } from "../emitter";
import { Link, type Peer, type Start } from "./link";
import type { Traffic } from "./traffic";

/** `idle`: not asked for; `missing`: there is no program; `waiting`: it is tried again. */
export type State = "idle" | "missing" | "connecting" | "connected" | "waiting";

/** What is started, or why nothing can be. */
export type Starting = Start | { readonly problem: string };

const FIRST_WAIT = 200;
const LONGEST_WAIT = 30_000;

/** No request can be made now. The message is for the user. */
export class NotConnected extends Error {}

export class Connection {
  readonly #prepare: () => Promise<Starting>;
  readonly #peer: Peer;
  readonly #log: (line: string) => void;
  readonly #traffic: Traffic;
  readonly #changed = new Emitter<State>();
  readonly onDidChangeState = this.#changed.event;
  #state: State = "idle";
  #problem = "";
  #introduction: InitializeResponse | undefined;
  #attempting: Promise<void> = Promise.resolve();
  #link: Link | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wait = FIRST_WAIT;
  #run = 0;

  constructor(prepare: () => Promise<Starting>, peer: Peer, log: (line: string) => void, traffic: Traffic) {
    this.#prepare = prepare;
    this.#peer = peer;
    this.#log = log;
    this.#traffic = traffic;
  }

  get state(): State {
    return this.#state;
  }

  /** Why there is no connection; "" when there is one. */
  get problem(): string {
    return this.#problem;
  }

  /** The daemon's. */
  get version(): string {
    return this.#introduction?.agentInfo?.version ?? "";
  }

  /** What the daemon said of itself; undefined before it first did. */
  get introduction(): InitializeResponse | undefined {
    return this.#introduction;
  }

  /** Connects unless it is connected, now. Resolves when that came to an end, good or bad: see `state`. */
  async connect(): Promise<void> {
    if (this.#state !== "connected" && this.#state !== "connecting") {
      this.#attempting = this.#attempt();
    }
    await this.#attempting;
  }

  /** Connects anew, for what has changed. */
  async restart(): Promise<void> {
    this.#end();
    this.#attempting = this.#attempt();
    await this.#attempting;
  }

  /** Raises NotConnected, and what the daemon answers with. */
  async request(method: string, params: object, withdrawn?: AbortSignal): Promise<unknown> {
    if (this.#link === undefined || this.#state !== "connected") {
      throw new NotConnected(this.#problem || l10n.t("There is no connection to sould."));
    }
    return await this.#link.request(method, params, withdrawn);
  }

  /** Says something that may get lost with the connection. */
  notify(method: string, params: object): void {
    if (this.#state === "connected") {
      this.#link?.notify(method, params).catch((problem: unknown) => {
        this.#log(`${method}: ${String(problem)}`);
      });
    }
  }

  dispose(): void {
    this.#end();
    this.#changed.dispose();
  }

  #end(): void {
    this.#run += 1;
    clearTimeout(this.#timer);
    this.#link?.close();
    this.#link = undefined;
  }

  async #attempt(): Promise<void> {
    clearTimeout(this.#timer);
    this.#run += 1;
    const run = this.#run;
    this.#become("connecting");
    const start = await this.#prepare();
    if (run !== this.#run) {
      return;
    }
    if ("problem" in start) {
      this.#become("missing", start.problem);
      return;
    }
    const link = new Link(start, this.#peer, this.#traffic);
    this.#link = link;
    void link.ended.then((words) => {
      this.#lost(run, words);
    });
    try {
      this.#introduction = await link.initialize(start);
    } catch (problem) {
      this.#lost(run, problem instanceof Error ? problem.message : String(problem));
      return;
    }
    if (run === this.#run) {
      this.#wait = FIRST_WAIT;
      this.#become("connected");
    }
  }

  #lost(run: number, words: string): void {
    if (run !== this.#run) {
      return;
    }
    this.#end();
    this.#log(`connection: ${words}`);
    this.#timer = setTimeout(() => {
      this.#attempting = this.#attempt();
    }, this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
    this.#become("waiting", words);
  }

  #become(state: State, problem = ""): void {
    this.#state = state;
    this.#problem = problem;
    this.#changed.fire(state);
  }
}
