/**
 * The panel as a whole: its connection, the session that it shows, what waits for the user. Everything that is shown is a signal here
 * or in `Session`; nothing is kept that a reload would not bring back from the daemon, but for drafts (`Link.state`).
 */
import * as l10n from "@vscode/l10n";
import { computed, signal, type ReadonlySignal } from "@preact/signals";
import { inboxList } from "../../src/protocol/inbox";
import { CAPABILITIES } from "../capabilities";
import type { ConnectionState, EditorContext, Kept, Link, Surroundings } from "../link";
import { readAsked, type Asked } from "../session/asking";
import { has, list, object, text } from "../session/read";
import type { PendingFile } from "../session/review";
import { readBlock, type Block } from "../session/updates";
import { Client, RequestFailed, wasLost, type Question } from "./client";
import { blocksOf, draftOf, Drafts, joined, type Draft } from "./drafts";
import { Next } from "./next";
import { Session, SIGN_IN } from "./session";
import { Sessions } from "./sessions";

type View = "conversation" | "sessions" | "timeline" | "review" | "sign-in";

/** What is searched for in the conversation, and which of what was found is shown. */
interface Finding {
  readonly words: string;
  readonly at: number;
}

/** The next prompt is sent from an earlier point: what came after it goes back first. */
interface Resending {
  readonly session: string;
  readonly checkpoint: number;
}

/** What waits for the user, as it can be shown. */
export interface Ask {
  readonly question: Question;
  readonly asked: Asked;
}

const NOWHERE: Surroundings = { roots: [], canInsert: false, canReview: false, editor: "" };

export class Panel {
  readonly link: Link;
  readonly client: Client;
  readonly sessions: Sessions;
  readonly drafts: Drafts;
  readonly view = signal<View>("conversation");
  readonly condensed = signal(false);
  readonly finding = signal<Finding | undefined>(undefined);
  /** How many rows have what is searched for. */
  readonly found = signal(0);
  readonly resending = signal<Resending | undefined>(undefined);
  /** The composer is to take the focus, because something was put into it. */
  readonly focusing = signal(false);
  /** A sentence for screen readers, and for a moment for everybody. */
  readonly said = signal("");
  readonly next: Next;
  readonly context = signal<EditorContext>({});
  readonly #session = signal<Session | undefined>(undefined);
  readonly #connection = signal<ConnectionState>({ state: "connecting", problem: "", version: "" });
  readonly #surroundings = signal<Surroundings>(NOWHERE);
  readonly #problem = signal("");
  #introduced = false;
  #starting = false;
  /** The user, or a command of theirs, has said what is to be shown. */
  #chosen = false;
  #becomeReady: () => void = () => undefined;
  /** Resolves when `start` has come to its end: what was shown before is shown again, or there is a problem. */
  #ready = this.#notReady();

  constructor(link: Link) {
    this.link = link;
    this.client = new Client(link);
    this.sessions = new Sessions(this.client);
    this.drafts = new Drafts(link);
    this.#listen();
    // From the first frame on, so that what is typed meanwhile is its draft.
    const before = this.#before();
    this.#session.value = before && new Session(this.client, before.id, before.cwd);
    this.next = new Next(
      this.client,
      link,
      this.#surroundings,
      () => this.#introduced && this.#session.value === undefined,
    );
  }

  get session(): ReadonlySignal<Session | undefined> {
    return this.#session;
  }
  get connection(): ReadonlySignal<ConnectionState> {
    return this.#connection;
  }
  get surroundings(): ReadonlySignal<Surroundings> {
    return this.#surroundings;
  }
  /** Why what the user wanted did not come about; "" when all is well. */
  get problem(): ReadonlySignal<string> {
    return this.#problem;
  }

  /** What waits for the user in the session that is shown, oldest first. */
  readonly asks = computed<readonly Ask[]>(() => {
    const shown = this.#session.value?.id;
    return this.client.questions.value.flatMap((question) => {
      const asked = readAsked(question.method, question.params);
      return asked !== undefined && asked.session === shown ? [{ question, asked }] : [];
    });
  });

  /** Begins. Never rejects: what is wrong is `problem`. */
  async start(): Promise<void> {
    if (this.#starting) {
      return;
    }
    this.#starting = true;
    await this.attempt(async () => {
      const clientInfo = { name: "sould-panel", title: "sould panel", version: "1" };
      await this.client.request("initialize", { protocolVersion: 1, clientInfo, clientCapabilities: CAPABILITIES });
      this.#surroundings.value = surroundingsOf(await this.client.request("_panel/surroundings", {}));
      this.#introduced = true;
      this.#connection.value = { ...this.#connection.value, state: "connected", problem: "" };
      const session = this.#session.value ?? this.#before();
      if (session !== undefined) {
        await this.show(session.id, session.cwd);
      }
      await this.sessions.refresh();
      await this.#goOn();
    });
    this.#starting = false;
    void this.next.connected(this.#introduced);
    this.#becomeReady();
  }

  /** Shows a session. */
  async show(id: string, cwd: string): Promise<void> {
    this.#chosen = true;
    await this.attempt(async () => {
      const session = new Session(this.client, id, cwd);
      this.#become(session);
      await session.attach();
    });
  }

  /**
   * Shows an empty conversation; the session begins with its first prompt, in `cwd`, or else in the project of the one that was shown.
   * `apart`: in a git worktree of its own.
   */
  begin(apart = false, cwd = this.#session.peek()?.cwd): void {
    this.#chosen = true;
    const root = this.#surroundings.value.roots.find((each) => each.path === cwd)?.path;
    this.#become(undefined);
    this.keep({ fresh: true, ...(apart && { apart }), ...(root !== undefined && { root }) });
    this.next.begin(root, apart);
  }

  /** Has the next session begin in another folder. */
  async workIn(root: string): Promise<void> {
    this.keep({ root });
    this.next.begin(root, false);
    await this.next.prepare();
  }

  /** The session that is shown, or a new one. Undefined when none can begin, which is said. */
  async ensure(): Promise<Session | undefined> {
    this.#chosen = true;
    await this.#ready;
    if (!this.#introduced) {
      this.#problem.value ||= l10n.t("There is no connection to sould yet.");
      return undefined;
    }
    const shown = this.#session.value;
    if (shown !== undefined) {
      await shown.ready;
      return shown;
    }
    if (this.next.root.value === undefined) {
      this.#problem.value = l10n.t("Open a folder first: the agent works in one.");
      return undefined;
    }
    await this.attempt(async () => {
      const session = await this.next.take();
      this.#become(session);
      await session?.snapshot();
    });
    return this.#session.value;
  }

  /** Runs what the user wanted; says what went wrong, and asks them to sign in where that is the reason. Whether it came about. */
  async attempt(work: () => Promise<void>): Promise<boolean> {
    this.#problem.value = "";
    try {
      await work();
      return true;
    } catch (problem) {
      if (problem instanceof RequestFailed && problem.code === SIGN_IN) {
        this.view.value = "sign-in";
      }
      // That the connection is lost is said by its state.
      this.#problem.value = wasLost(problem) ? "" : problem instanceof Error ? problem.message : String(problem);
      return false;
    }
  }

  dismissProblem(): void {
    this.#problem.value = "";
  }

  say(sentence: string): void {
    this.said.value = sentence;
  }

  keep(change: Partial<Kept>): void {
    this.link.state = { ...this.link.state, ...change };
  }

  /** Shows what is to be reviewed: in the editor, or here where there is none. */
  review(): void {
    if (this.#surroundings.value.canReview) {
      this.client.notify("_panel/review", {});
    } else {
      this.view.value = "review";
    }
  }

  /** Shows what is to be reviewed of one file. */
  showChange(file: PendingFile): void {
    if (this.#surroundings.value.canReview) {
      this.link.openFile({ path: file.path, line: file.hunks[0]?.line ?? 1 });
    } else {
      this.view.value = "review";
    }
  }

  /** Keeps or rejects all edits of a session, or these hunks. What was left is said. */
  async decide(session: Session, verdict: "keep" | "reject", hunks?: readonly object[]): Promise<void> {
    await this.attempt(async () => {
      const left = await session.edits.decide(verdict, hunks);
      this.say(verdict === "keep" ? l10n.t("Kept.") : l10n.t("Rejected."));
      if (left !== "") {
        throw new Error(left);
      }
    });
  }

  /** Puts something into the composer of the session that is shown, unsent, behind what is there. */
  offer(draft: Draft): void {
    this.drafts.change(this.#session.value?.id ?? "", (before) => joined(before, draft, "\n"));
    this.focusing.value = true;
  }

  /** Stops the turn. What waits for it, and what it was given and did not take, is dropped by the daemon, and comes back into the composer. */
  stop(session: Session): void {
    const back = (dropped: readonly (readonly Block[])[], said: string): void => {
      if (dropped.length > 0) {
        this.drafts.giveBack(session.id, dropped.map(draftOf));
        this.say(said);
      }
    };
    const { queued, given } = session.stop();
    back(queued, l10n.t("What was queued is in the composer again."));
    void given.then((untaken) => {
      back(untaken, l10n.t("What the turn had not taken is in the composer again."));
    });
  }

  /** Sends a draft, from the earlier point that was chosen. Where nothing goes back, nothing is sent, and all is as it was before. */
  async resend(session: Session, from: Resending, draft: Draft): Promise<void> {
    const went = await this.attempt(async () => {
      const travelled = await session.travel("rewind", from.checkpoint);
      if (!travelled.went) {
        throw new Error(l10n.t("{0} The message was not sent.", travelled.said));
      }
      this.say(travelled.said);
    });
    if (went) {
      await session.prompt(blocksOf(draft));
    } else {
      this.drafts.giveBack(session.id, [draft]);
      if (this.#session.value?.id === session.id) {
        this.resending.value ??= from;
      }
    }
  }

  #before(): { readonly id: string; readonly cwd: string } | undefined {
    const session = object(this.link.state.session);
    const [id, cwd] = [text(session["id"]), text(session["cwd"])];
    return id === "" || cwd === "" ? undefined : { id, cwd };
  }

  /** Where nothing says what was shown before, the project's session that waits for the user, or was used last. */
  async #goOn(): Promise<void> {
    const roots = this.#surroundings.value.roots.map((root) => root.path);
    const here = this.sessions.known.value.filter((known) => roots.includes(known.cwd) && !known.archived);
    if (here.length > 0 && !this.#decided()) {
      const inbox = inboxList(await this.client.request("_sould/inbox/list", {}));
      const waits = (inbox?.items ?? []).map((item) => item.session.id);
      const found = here.find((known) => waits.includes(known.id)) ?? here[0];
      if (found !== undefined && !this.#decided()) {
        await this.show(found.id, found.cwd);
      }
    }
  }

  /** What is shown is what the user wants to see, or they are writing for a session that is yet to begin. */
  #decided(): boolean {
    const { fresh, drafts } = this.link.state;
    return this.#chosen || fresh === true || this.#session.value !== undefined || (drafts?.[""] ?? "") !== "";
  }

  #become(session: Session | undefined): void {
    this.#session.value = session;
    this.view.value = "conversation";
    this.finding.value = undefined;
    this.resending.value = undefined;
    this.next.begin(undefined, false);
    const { session: before, scroll, fresh: _, apart: __, root: ___, ...kept } = this.link.state;
    // The same one after a reload or with another connection: it is read on where it was read.
    const place = session?.id === before?.id && scroll !== undefined ? { scroll } : {};
    this.link.state =
      session === undefined ? kept : { ...kept, ...place, session: { id: session.id, cwd: session.cwd } };
  }

  #listen(): void {
    const shown = (params: unknown): Session | undefined => {
      const { sessionId } = object(params);
      return [this.#session.peek(), this.next.prepared.peek()].find((each) => each?.id === sessionId);
    };
    this.client.on("session/update", (params) => {
      shown(params)?.updated(params);
      this.sessions.updated(params);
    });
    this.client.on("_sould/queue", (params) => {
      shown(params)?.queued(params);
    });
    this.client.on("_sould/running", (params) => {
      shown(params)?.ran(params);
      this.sessions.ran(params);
    });
    this.client.on("_sould/review/changed", () => {
      void this.#session.peek()?.edits.look();
    });
    this.client.on("_panel/connection", (params) => {
      this.#connected(params as ConnectionState);
    });
    this.client.on("_panel/surroundings", (params) => {
      this.#surroundings.value = surroundingsOf(params);
    });
    this.client.on("_panel/context", (params) => {
      this.context.value = object(params);
    });
    this.client.on("_panel/open", (params) => {
      this.#open(object(params));
    });
  }

  #connected(state: ConnectionState): void {
    this.#connection.value = state;
    const gone = state.state === "waiting" || state.state === "missing";
    if (this.#introduced ? state.state !== "connected" : gone) {
      if (this.#introduced) {
        this.#ready = this.#notReady();
      }
      this.#introduced = false;
      void this.next.connected(false);
      this.client.lost(state.problem);
    } else if (state.state === "connected" && !this.#introduced) {
      // Nothing happens while `start` is under way, which brings this about.
      void this.start();
    }
  }

  #notReady(): Promise<void> {
    return new Promise((resolve) => {
      this.#becomeReady = resolve;
    });
  }

  #open(params: Readonly<Record<string, unknown>>): void {
    this.#chosen = true;
    const session = object(params["session"]);
    if (has(params, "session")) {
      void this.show(text(session["id"]), text(session["cwd"]));
    } else if (has(params, "cwd")) {
      this.begin(params["apart"] === true, text(params["cwd"]));
    }
    const attached = list(params["attached"])
      .map(readBlock)
      .filter((block) => block !== undefined);
    this.offer({ text: text(params["prompt"]), attached });
  }
}

function surroundingsOf(raw: unknown): Surroundings {
  const { roots, canInsert, canReview, editor } = object(raw);
  return {
    roots: list(roots)
      .map(object)
      .map((root) => ({ path: text(root["path"]), name: text(root["name"]) || text(root["path"]) })),
    canInsert: canInsert === true,
    canReview: canReview === true,
    editor: text(editor),
  };
}
