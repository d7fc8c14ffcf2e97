/**
 * One session as the panel shows it: attached by a snapshot, then live; and what the user does in it.
 *
 * It keeps nothing that the daemon does not know, but what was sent and has not come back yet.
 */
import * as l10n from "@vscode/l10n";
import { computed, signal, type ReadonlySignal } from "@preact/signals";
import { changedQueue, taskOutput, type BackgroundTask, type ShownTimeline } from "../../src/protocol/session";
import { readBreakdown, type Breakdown } from "../session/breakdown";
import { readQueue, sent, type Queued } from "../session/queue";
import { object, text } from "../session/read";
import { readTasks } from "../session/tasks";
import { checkpointOf, readTimeline, outcomeOf, type Prompted, type Outcome } from "../session/timeline";
import {
  apply,
  ASIDE,
  attach,
  EMPTY,
  prepend,
  readPage,
  readSequenced,
  type Sequenced,
  type Transcript,
} from "../session/transcript";
import { readOptions, type Block, type Update } from "../session/updates";
import { RequestFailed, wasLost, type Client } from "./client";
import { Edits } from "./edits";
import { Frames } from "./frames";

const PAGE = 200; // updates
const MOST_PAGES = 100;

/** What went wrong in a turn, and what the user may do about it. */
export interface Trouble {
  readonly message: string;
  /** What was sent, to be sent again. */
  readonly blocks: readonly Block[];
  /** No model can be used: the user has to sign in first. */
  readonly signIn: boolean;
}

interface Dropped {
  readonly queued: readonly (readonly Block[])[];
  readonly given: Promise<readonly (readonly Block[])[]>;
}

export const SIGN_IN = -32000;
const STOPPED = l10n.t("This was stopped before it was taken.");

export class Session {
  readonly id: string;
  readonly cwd: string;
  readonly edits: Edits;
  readonly #client: Client;
  readonly #transcript = signal<Transcript>(EMPTY);
  readonly #queue = signal<readonly Queued[]>([]);
  readonly #sending = signal<readonly (readonly Block[])[]>([]);
  readonly #tasks = signal<readonly BackgroundTask[]>([]);
  readonly #running = signal(false);
  readonly #stopping = signal(false);
  readonly #trouble = signal<Trouble | undefined>(undefined);
  readonly #loading = signal(true);
  readonly #frames: Frames<Sequenced>;
  /** Of what is being sent, what was given to the running turn. */
  #steered: readonly (readonly Block[])[] = [];
  /** What was being sent when the turn was stopped. */
  #stopped: readonly (readonly Block[])[] = [];
  /** What was given to a turn that was stopped before it took it. */
  readonly #untaken = new WeakSet<readonly Block[]>();
  #takeBack: (untaken: readonly (readonly Block[])[]) => void = () => undefined;
  /** What came while a snapshot is under way. */
  #early: Sequenced[] | undefined;
  #becomeReady: () => void = () => undefined;
  /** Resolves when it is open here, or could not be opened: what is sent before that the daemon would refuse. */
  readonly ready = new Promise<void>((resolve) => {
    this.#becomeReady = resolve;
  });

  constructor(client: Client, id: string, cwd: string) {
    this.#client = client;
    this.id = id;
    this.cwd = cwd;
    this.edits = new Edits(client, id, cwd);
    this.#frames = new Frames((updates) => {
      this.#draw(updates);
    });
  }

  get transcript(): ReadonlySignal<Transcript> {
    return this.#transcript;
  }
  get queue(): ReadonlySignal<readonly Queued[]> {
    return this.#queue;
  }
  /** What goes on in the background, as it was when something was last told of it. */
  get tasks(): ReadonlySignal<readonly BackgroundTask[]> {
    return this.#tasks;
  }
  /** Prompts that were sent, and of which the daemon has said nothing yet. */
  get sending(): ReadonlySignal<readonly (readonly Block[])[]> {
    return this.#sending;
  }
  get trouble(): ReadonlySignal<Trouble | undefined> {
    return this.#trouble;
  }
  get stopping(): ReadonlySignal<boolean> {
    return this.#stopping;
  }
  /** The snapshot is not there yet. */
  get loading(): ReadonlySignal<boolean> {
    return this.#loading;
  }
  readonly running = computed(() => this.#running.value || this.#sending.value.length > 0);

  /** Opens it here, and shows its newest page. Rejects with RequestFailed. */
  async attach(): Promise<void> {
    this.#early = [];
    try {
      const state = object(
        await this.#client.request("session/resume", { sessionId: this.id, cwd: this.cwd, mcpServers: [] }),
      );
      this.introduced(state);
      await this.snapshot();
    } finally {
      this.#becomeReady();
    }
  }

  /** It began here, so it is open here. */
  begun(): void {
    this.#becomeReady();
  }

  /** Takes what opening it was answered with. */
  introduced(state: object): void {
    const options = readOptions(object(state)["configOptions"]);
    this.#transcript.value = { ...this.#transcript.value, options };
  }

  /** The newest page, and what has come since it was asked for. */
  async snapshot(): Promise<void> {
    this.#early ??= [];
    const raw = await this.#client.request("_sould/session/transcript", { sessionId: this.id, limit: PAGE });
    const live = this.#early;
    this.#early = undefined;
    this.#transcript.value = attach(this.#transcript.value, readPage(raw), live);
    this.#loading.value = false;
    const queue = await this.#client.request("_sould/queue", { sessionId: this.id });
    this.queued(queue);
    this.#lookAtTasks();
    void this.edits.look();
  }

  /** The page before the first that is shown, if there is one. */
  async older(): Promise<void> {
    const { before } = this.#transcript.value;
    if (before !== null) {
      const raw = await this.#client.request("_sould/session/transcript", { sessionId: this.id, before, limit: PAGE });
      if (this.#transcript.value.before === before) {
        this.#transcript.value = prepend(this.#transcript.value, readPage(raw));
      }
    }
  }

  /** Takes a `session/update`. */
  updated(params: unknown): void {
    const { update, _meta: meta } = object(params);
    const known = readSequenced(update, object(object(meta)["sould"])["sequence"]);
    if (known !== undefined && this.#early !== undefined) {
      this.#early.push(known);
    } else if (known !== undefined) {
      this.#frames.add(known);
    }
  }

  /** Takes a `_sould/queue`. */
  queued(params: unknown): void {
    const queue = readQueue(params);
    const known = new Set(this.#queue.value.map((each) => each.id));
    for (const each of queue.filter((one) => !known.has(one.id))) {
      this.#arrived(each.blocks);
    }
    this.#queue.value = queue;
  }

  /** Takes word of whether a turn runs. */
  ran(params: unknown): void {
    this.#ran(object(params)["running"] === true);
  }

  // --- what the user does -------------------------------------------------------------------------------------------

  /** Sends a prompt: a turn, or behind the running one; beside both for one on the side. Never rejects: what fails is `trouble`. */
  async prompt(blocks: readonly Block[]): Promise<void> {
    this.#trouble.value = undefined;
    if (!(blocks[0]?.type === "text" && ASIDE.test(blocks[0].text))) {
      this.#sending.value = [...this.#sending.value, blocks];
    }
    try {
      const answer = object(
        await this.#client.request("session/prompt", { sessionId: this.id, prompt: blocks.map(sent) }),
      );
      const details = text(object(object(answer["_meta"])["sould"])["details"]);
      if (details !== "") {
        this.#trouble.value = { message: details, blocks, signIn: false };
      }
      this.#frames.flush();
      if (
        answer["stopReason"] === "cancelled" &&
        this.#stopped.includes(blocks) &&
        this.#sending.value.includes(blocks)
      ) {
        const before = this.#trouble.value?.message === STOPPED ? this.#trouble.value.blocks : [];
        this.#trouble.value = { message: STOPPED, blocks: [...before, ...blocks], signIn: false };
      }
    } catch (problem) {
      this.#failed(problem, blocks);
    } finally {
      this.#frames.flush();
      this.#sending.value = this.#sending.value.filter((each) => each !== blocks);
      this.#stopped = this.#stopped.filter((each) => each !== blocks);
    }
  }

  /** Gives words to the running turn, which takes them between two steps; they are the next prompt when it has just ended. Never rejects. */
  async steer(blocks: readonly Block[]): Promise<void> {
    this.#steered = [...this.#steered, blocks];
    this.#sending.value = [...this.#sending.value, blocks];
    let injected = false;
    try {
      const answer = object(
        await this.#client.request("_session/steering", { sessionId: this.id, prompt: blocks.map(sent) }),
      );
      injected = answer["outcome"] === "injected";
    } catch (problem) {
      this.#failed(problem, blocks);
      return;
    } finally {
      if (!injected) {
        this.#sending.value = this.#sending.value.filter((each) => each !== blocks);
        this.#steered = this.#steered.filter((each) => each !== blocks);
      }
    }
    if (!injected && !this.#untaken.has(blocks)) {
      await this.prompt(blocks);
    }
  }

  /**
   * Stops the turn. What the daemon drops with it: the prompts that wait and were sent from this window, and when it has ended (`given`)
   * what was given to it and not taken.
   */
  stop(): Dropped {
    const dropped = this.#queue.value.filter((each) => each.mine);
    this.#queue.value = this.#queue.value.filter((each) => !each.mine);
    this.#stopped = this.#sending.value;
    this.#stopping.value = true;
    this.#client.notify("session/cancel", { sessionId: this.id });
    const given = new Promise<readonly (readonly Block[])[]>((resolve) => {
      this.#takeBack = resolve;
    });
    return { queued: dropped.map((each) => each.blocks), given };
  }

  async removeQueued(queued: Queued): Promise<void> {
    this.queued(await this.#client.request("_sould/queue/remove", { sessionId: this.id, id: queued.id }));
  }

  /** False when it does not wait any more. Rejects with RequestFailed. */
  async editQueued(queued: Queued, blocks: readonly Block[]): Promise<boolean> {
    const prompt = blocks.map(sent);
    const answer = await this.#client.request("_sould/queue/edit", { sessionId: this.id, id: queued.id, prompt });
    this.queued(answer);
    return changedQueue(answer)?.outcome !== "notWaiting";
  }

  /** `position` counts from 1. */
  async moveQueued(queued: Queued, position: number): Promise<void> {
    this.queued(await this.#client.request("_sould/queue/move", { sessionId: this.id, id: queued.id, position }));
  }

  /** Takes it out of the queue and gives it to the running turn. */
  async sendNow(queued: Queued): Promise<void> {
    const answer = await this.#client.request("_sould/queue/remove", { sessionId: this.id, id: queued.id });
    this.queued(answer);
    if (changedQueue(answer)?.outcome === "removed") {
      await this.steer(queued.blocks);
    }
  }

  async choose(option: string, value: string): Promise<void> {
    const answer = await this.#client.request("session/set_config_option", {
      sessionId: this.id,
      configId: option,
      value,
    });
    this.introduced(object(answer));
  }

  /** What fills the model's window. Rejects with RequestFailed. */
  async breakdown(): Promise<Breakdown> {
    return readBreakdown(await this.#client.request("_sould/session/context", { sessionId: this.id }));
  }

  /** Rejects with RequestFailed. */
  async stopTask(task: BackgroundTask): Promise<void> {
    this.#tasks.value = readTasks(
      await this.#client.request("_sould/session/tasks/stop", { sessionId: this.id, id: task.id }),
    );
  }

  /** The end of what it printed. Rejects with RequestFailed. */
  async taskOutput(task: BackgroundTask): Promise<string> {
    this.#lookAtTasks();
    const raw = await this.#client.request("_sould/session/tasks/output", { sessionId: this.id, id: task.id });
    return taskOutput(raw)?.text ?? "";
  }

  // --- time travel --------------------------------------------------------------------------------------------------

  async timeline(): Promise<ShownTimeline> {
    return readTimeline(await this.#client.request("_sould/timeline", { sessionId: this.id, steps: true }));
  }

  /** Goes to a checkpoint, to before the last turn, or back from where it last went. Rejects with RequestFailed. */
  async travel(how: "rewind" | "undo" | "redo", checkpoint?: number): Promise<Outcome> {
    const answer = await this.#client.request(`_sould/${how}`, {
      sessionId: this.id,
      ...(checkpoint !== undefined && { checkpoint }),
    });
    return outcomeOf(answer);
  }

  /** The checkpoint before a prompt; undefined when nothing leads there. `later`: prompts like it behind it. */
  async before(prompt: Prompted, later: number): Promise<number | undefined> {
    return checkpointOf(await this.timeline(), prompt, later)?.checkpoint;
  }

  /** Has all of the conversation here, or as much as anybody reads. */
  async whole(): Promise<void> {
    for (let page = 0; page < MOST_PAGES && this.#transcript.value.before !== null; page++) {
      await this.older();
    }
  }

  forget(): void {
    this.#trouble.value = undefined;
  }

  // --- within -------------------------------------------------------------------------------------------------------

  #draw(updates: readonly Sequenced[]): void {
    for (const { update } of updates) {
      if (update.type === "chunk" && update.of === "user") {
        this.#arrived([update.block]);
      }
    }
    if (updates.some(({ update }) => mayChangeTasks(update))) {
      this.#lookAtTasks();
      void this.edits.look();
    }
    this.#transcript.value = apply(this.#transcript.value, updates);
  }

  /** The daemon has a prompt that was sent from here, and shows it itself from now on. */
  #arrived(blocks: readonly Block[]): void {
    const at = this.#sending.value.findIndex((each) => begins(each[0], blocks[0]));
    if (at >= 0) {
      this.#sending.value = this.#sending.value.filter((_, index) => index !== at);
    }
  }

  #ran(running: boolean): void {
    this.#frames.flush();
    this.#running.value = running;
    if (!running) {
      const steered = this.#steered;
      const waits = steered.filter((each) => this.#sending.value.includes(each) && this.#stopped.includes(each));
      waits.forEach((each) => this.#untaken.add(each));
      this.#takeBack(waits);
      this.#steered = [];
      this.#sending.value = this.#sending.value.filter((each) => !steered.includes(each));
      this.#stopping.value = false;
      this.#lookAtTasks();
      void this.edits.look();
    }
  }

  /** What is told of them is told in words only: so they are listed anew. What cannot be listed now is listed the next time. */
  #lookAtTasks(): void {
    this.#client.request("_sould/session/tasks", { sessionId: this.id }).then(
      (raw) => {
        this.#tasks.value = readTasks(raw);
      },
      () => undefined,
    );
  }

  #failed(problem: unknown, blocks: readonly Block[]): void {
    if (wasLost(problem)) {
      return; // The next snapshot says what became of it.
    }
    const signIn = problem instanceof RequestFailed && problem.code === SIGN_IN;
    this.#trouble.value = { message: problem instanceof Error ? problem.message : String(problem), blocks, signIn };
  }
}

/** One begins with a call that says so, and ends with a notice. */
function mayChangeTasks(update: Update): boolean {
  return (
    update.type === "notice" ||
    (update.type === "call" && (update.fields.status === "completed" || update.fields.status === "failed"))
  );
}

/** A long text comes in pieces. */
function begins(whole: Block | undefined, piece: Block | undefined): boolean {
  if (whole?.type === "text" && piece?.type === "text") {
    return whole.text.startsWith(piece.text);
  }
  return JSON.stringify(whole) === JSON.stringify(piece);
}
