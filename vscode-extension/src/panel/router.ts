/**
 * Between the panels of this window and the daemon: everything passes over the one connection of the extension.
 *
 * What the daemon tells goes to every panel. What it asks goes to every panel, too, and is kept until one of them answers or the daemon
 * withdraws it; a panel that shows the session later is asked then. Without a panel it waits: the inbox answers it as well. Nothing is
 * declined here, and the log has methods and durations, never parameters.
 */
import { l10n } from "vscode";
import { RequestError } from "@agentclientprotocol/sdk";
import { OPENING } from "../connection/restricted";
import { CANCEL, read, type Id, type Message, type Params, type Said, type WindowMethod } from "./messages";

/** What the daemon asks that a person answers. */
export const ASKED_OF_PANELS: ReadonlySet<string> = new Set(["session/request_permission", "elicitation/create"]);

/** What the daemon tells this window alone. */
const NOT_FOR_PANELS: ReadonlySet<string> = new Set([
  "_sould/review/forgotten",
  "_sould/editor/forgotten",
  "_sould/tools/forgotten",
]);

/** The connection, as panels need it. */
export interface Daemon {
  readonly state: string;
  readonly problem: string;
  readonly version: string;
  /** What it answered to `initialize`. */
  readonly introduction: object | undefined;
  connect(): Promise<void>;
  request(method: string, params: object, withdrawn?: AbortSignal): Promise<unknown>;
  notify(method: string, params: object): void;
}

/** What this window does for a panel: each answers with an object. */
export type Services = Record<Exclude<WindowMethod, "initialize">, (params: Params) => Promise<object>>;

interface Question {
  /** The daemon's id for it. */
  readonly asked: unknown;
  readonly method: string;
  readonly params: unknown;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (problem: Error) => void;
}

export class Router {
  readonly #daemon: Daemon;
  readonly #services: Services;
  readonly #log: (line: string) => void;
  readonly #panels = new Set<Panel>();
  readonly #questions = new Map<string, Question>();
  #count = 0;

  constructor(daemon: Daemon, services: Services, log: (line: string) => void) {
    this.#daemon = daemon;
    this.#services = services;
    this.#log = log;
  }

  /** A panel, from now on until it is disposed of. `post` reaches it. */
  attach(post: (message: Message) => void): Panel {
    const panel = new Panel(post, this.#daemon, this.#services, this, this.#log);
    this.#panels.add(panel);
    return panel;
  }

  /** What the daemon says. */
  told(method: string, params: unknown): void {
    if (method === CANCEL) {
      this.#withdrawn(params);
    } else if (!NOT_FOR_PANELS.has(method)) {
      this.#everybody({ jsonrpc: "2.0", method, params });
    }
  }

  /** What the daemon asks a person. Resolves with the answer of whoever is first; raises when it is withdrawn. */
  asked(method: string, params: unknown, id: unknown): Promise<unknown> {
    this.#count += 1;
    const own = `w${this.#count}`;
    return new Promise((resolve, reject) => {
      this.#questions.set(own, { asked: id, method, params, resolve, reject });
      this.#everybody({ jsonrpc: "2.0", id: own, method, params });
    });
  }

  /** The connection is another one now, or none: what was asked over the last one is gone with it. */
  stateChanged(): void {
    if (this.#daemon.state !== "connected") {
      for (const id of [...this.#questions.keys()]) {
        this.#end(id, l10n.t("the connection to sould was lost"));
      }
    }
    this.#panels.forEach((panel) => {
      panel.tellState();
    });
  }

  /** Opens what is shown once more, because this window stands differently now. What cannot be is told when the user goes on with it. */
  async openAgain(): Promise<void> {
    const sessions = new Map([...this.#panels].flatMap((each) => [...each.shown]));
    const opening = [...sessions].map(([sessionId, cwd]) =>
      this.#daemon.request("session/resume", { sessionId, cwd, mcpServers: [] }),
    );
    const problems = (await Promise.allSettled(opening)).filter((each) => each.status === "rejected");
    problems.forEach(({ reason }) => {
      this.#log(`panel: session/resume: ${errorOf(reason).message}`);
    });
  }

  /** For `Panel`: it shows a session now. */
  shows(panel: Panel, session: string): void {
    for (const [id, { method, params }] of this.#questions) {
      if (sessionOf(params) === session) {
        panel.post({ jsonrpc: "2.0", id, method, params });
      }
    }
  }

  /** For `Panel`: whether another one shows the session. */
  isShownElsewhere(panel: Panel, session: string): boolean {
    return [...this.#panels].some((each) => each !== panel && each.shown.has(session));
  }

  /** For `Panel`: it answers; the others need not. */
  answered(panel: Panel, id: string, answer: Params): void {
    const question = this.#questions.get(id);
    if (question !== undefined) {
      this.#questions.delete(id);
      question.resolve(answer);
      const others = [...this.#panels].filter((each) => each !== panel);
      others.forEach((each) => {
        each.post(withdrawal(id, l10n.t("answered in another panel of this window")));
      });
    }
  }

  /** For `Panel`: it is gone. The turns it began go on. */
  detach(panel: Panel): void {
    this.#panels.delete(panel);
  }

  #everybody(message: Message): void {
    this.#panels.forEach((panel) => {
      panel.post(message);
    });
  }

  #withdrawn(params: unknown): void {
    const { requestId, reason } = withdrawalOf(params);
    for (const [id, question] of this.#questions) {
      if (question.asked === requestId) {
        this.#end(id, reason);
      }
    }
  }

  #end(id: string, reason: string): void {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    this.#everybody(withdrawal(id, reason));
    question?.reject(RequestError.requestCancelled());
  }
}

/** One panel: its requests in, with ids of its own, and what it shows. */
export class Panel {
  /** The sessions that it has opened, and where they work. */
  readonly shown = new Map<string, string>();
  /** The one that it opened last, and where that works. */
  current: { readonly id: string; readonly cwd: string } | undefined;
  readonly post: (message: Message) => void;
  readonly #daemon: Daemon;
  readonly #services: Services;
  readonly #router: Router;
  readonly #log: (line: string) => void;
  readonly #running = new Map<Id, AbortController>();

  constructor(
    post: (message: Message) => void,
    daemon: Daemon,
    services: Services,
    router: Router,
    log: (line: string) => void,
  ) {
    this.post = post;
    this.#daemon = daemon;
    this.#services = services;
    this.#router = router;
    this.#log = log;
  }

  /** Takes what the panel says, whatever it is. */
  async receive(data: unknown): Promise<void> {
    const said = read(data);
    switch (said?.kind) {
      case undefined:
        this.#log("panel: something that it may not say was left out");
        break;
      case "request":
        await this.#answer(said, (withdrawn) => this.#ask(said.method, said.params, withdrawn));
        this.#catchUp(said.method, said.params);
        break;
      case "own":
        await this.#answer(said, () => this.#serve(said.method, said.params));
        break;
      case "ownNotification":
        await this.#serve(said.method, said.params).catch((problem: unknown) => {
          this.#log(`panel: ${said.method}: ${errorOf(problem).message}`);
        });
        break;
      case "notification":
        this.#daemon.notify(said.method, said.params);
        break;
      case "cancel":
        this.#running.get(said.params.requestId)?.abort();
        break;
      case "answer":
        this.#router.answered(this, said.id, said.result);
        break;
      case "failure":
        // It waits for another panel, or in the inbox.
        this.#log(`panel: could not show what was asked (${said.error.code})`);
    }
  }

  tellState(): void {
    const { state, problem, version } = this.#daemon;
    this.post({ jsonrpc: "2.0", method: "_panel/connection", params: { state, problem, version } });
  }

  dispose(): void {
    this.#router.detach(this);
  }

  async #answer(
    said: Said & { kind: "request" | "own" },
    does: (withdrawn: AbortSignal) => Promise<unknown>,
  ): Promise<void> {
    const { id, method } = said;
    const began = performance.now();
    const controller = new AbortController();
    this.#running.set(id, controller);
    let outcome = "ok";
    try {
      this.post({ jsonrpc: "2.0", id, result: await does(controller.signal) });
    } catch (problem) {
      const error = errorOf(problem);
      outcome = `error ${error.code}`;
      this.post({ jsonrpc: "2.0", id, error });
    } finally {
      this.#running.delete(id);
      this.#log(`panel: ${method} ${Math.round(performance.now() - began)} ms ${outcome}`);
    }
  }

  async #ask(method: string, params: Params, withdrawn: AbortSignal): Promise<unknown> {
    const session = sessionOf(params);
    if (method === "session/close" && session !== undefined) {
      this.shown.delete(session);
      if (this.#router.isShownElsewhere(this, session)) {
        return {};
      }
    }
    const answer = await this.#daemon.request(method, params, withdrawn);
    const opened = sessionOf(answer) ?? session;
    const cwd = params["cwd"];
    if (OPENING.has(method) && opened !== undefined) {
      this.shown.set(opened, typeof cwd === "string" ? cwd : "");
      this.current = typeof cwd === "string" ? { id: opened, cwd } : undefined;
    }
    return answer;
  }

  /** What waits in a session is asked behind the answer that introduces it. */
  #catchUp(method: string, params: Params): void {
    const session = sessionOf(params);
    if (OPENING.has(method) && session !== undefined && this.shown.has(session)) {
      this.#router.shows(this, session);
    }
  }

  #serve(method: WindowMethod, params: Params): Promise<object> {
    return method === "initialize" ? this.#introduce() : this.#services[method](params);
  }

  async #introduce(): Promise<object> {
    await this.#daemon.connect();
    this.tellState();
    if (this.#daemon.introduction === undefined || this.#daemon.state !== "connected") {
      throw new Error(this.#daemon.problem || l10n.t("There is no connection to sould."));
    }
    return this.#daemon.introduction;
  }
}

function sessionOf(value: unknown): string | undefined {
  if (typeof value === "object" && value !== null && "sessionId" in value && typeof value.sessionId === "string") {
    return value.sessionId;
  }
  return undefined;
}

function withdrawal(id: string, reason: string): Message {
  const meta = reason === "" ? {} : { _meta: { sould: { reason } } };
  return { jsonrpc: "2.0", method: CANCEL, params: { requestId: id, ...meta } };
}

function withdrawalOf(params: unknown): { requestId: unknown; reason: string } {
  const { requestId, _meta: meta } = params as { requestId?: unknown; _meta?: { sould?: { reason?: unknown } } };
  const reason = meta?.sould?.reason;
  return { requestId, reason: typeof reason === "string" ? reason : "" };
}

function errorOf(problem: unknown): { code: number; message: string; data?: unknown } {
  if (problem instanceof RequestError) {
    const { code, message, data } = problem;
    return data === undefined ? { code, message } : { code, message, data };
  }
  return { code: -32603, message: problem instanceof Error ? problem.message : String(problem) };
}
