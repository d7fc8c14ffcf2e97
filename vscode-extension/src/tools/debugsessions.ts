/**
 * The programs that are debugged in this window, as their debuggers tell VS Code: whether they run or have stopped, and what they print.
 *
 * Of what a debugger says only that is read; nothing is asked of it here. A program that an agent started does not take the focus when it
 * stops: see `quieted`.
 */
import * as vscode from "vscode";
import * as z from "zod";

/** Characters that are kept of what a program prints, the last ones. */
const MOST_OUTPUT = 4_000;
const LONGEST_REASON = 500;
/** Of DAP's requests those that let a program go on. */
const GOES_ON = new Set([
  "continue",
  "next",
  "stepIn",
  "stepOut",
  "stepBack",
  "reverseContinue",
  "goto",
  "restartFrame",
  "restart",
]);
/** Of DAP's categories of output those that people see. */
const SEEN = new Set(["console", "important", "stdout", "stderr"]);

const told = z.discriminatedUnion("event", [
  z.object({
    event: z.literal("stopped"),
    body: z.object({
      reason: z.string(),
      description: z.string().optional(),
      text: z.string().optional(),
      threadId: z.number().optional(),
    }),
  }),
  z.object({ event: z.literal("continued") }),
  z.object({
    event: z.literal("output"),
    body: z.object({ category: z.string().default("console"), output: z.string() }),
  }),
  z.object({ event: z.literal("exited"), body: z.object({ exitCode: z.number() }) }),
]);
const asked = z.object({ type: z.literal("request"), command: z.string() });

type Told = z.infer<typeof told>;

/** A debugger, or one of several that belong together: what they print is the `root`'s. */
export class DebugSession {
  readonly session: vscode.DebugSession;
  readonly #root: DebugSession | undefined;
  readonly #byAgent: boolean;
  state: "running" | "stopped" | "ended" = "running";
  /** Why it has stopped, or with which code it ended. */
  reason = "";
  thread: number | undefined;
  #output = "";

  constructor(session: vscode.DebugSession, root: DebugSession | undefined, byAgent: boolean) {
    this.session = session;
    this.#root = root;
    this.#byAgent = byAgent;
  }

  get root(): DebugSession {
    return this.#root ?? this;
  }

  /** An agent started it, not the user. */
  get byAgent(): boolean {
    return this.root.#byAgent;
  }

  get output(): string {
    return this.root.#output;
  }

  goOn(): void {
    this.state = this.state === "ended" ? "ended" : "running";
    this.reason = "";
  }

  end(): void {
    this.state = "ended";
  }

  hear(said: Told): void {
    switch (said.event) {
      case "stopped": {
        const { reason, description, text, threadId } = said.body;
        this.state = "stopped";
        this.reason = [description ?? reason, text].filter(Boolean).join(": ").slice(0, LONGEST_REASON);
        this.thread = threadId;
        break;
      }
      case "continued":
        this.goOn();
        break;
      case "output":
        if (SEEN.has(said.body.category)) {
          this.root.#output = (this.root.#output + said.body.output).slice(-MOST_OUTPUT);
        }
        break;
      case "exited":
        this.root.reason = `Exited with code ${said.body.exitCode}`;
        break;
    }
  }
}

export class DebugSessions implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  /** The one that stopped last is the last one. */
  readonly #live = new Map<string, DebugSession>();
  readonly #subscriptions: { dispose(): void }[];
  #expected: { readonly name: string; found: DebugSession | undefined } | undefined;

  constructor() {
    this.#subscriptions = [
      this.#changed,
      vscode.debug.registerDebugAdapterTrackerFactory("*", this),
      vscode.debug.onDidTerminateDebugSession((session) => {
        this.#ended(session);
      }),
    ];
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }

  /** Those that have not ended, the one that stopped last first. */
  get all(): DebugSession[] {
    return [...this.#live.values()].reverse();
  }

  get isStarting(): boolean {
    return this.#expected !== undefined;
  }

  /** What `starts` starts is an agent's: it is called `name`, and belongs to no other. */
  async begin(name: string, starts: () => Promise<boolean>): Promise<DebugSession | undefined> {
    const expected = { name, found: undefined };
    this.#expected = expected;
    try {
      return (await starts()) ? (this.#expected.found ?? undefined) : undefined;
    } finally {
      this.#expected = undefined;
    }
  }

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    const parent = session.parentSession && this.#live.get(session.parentSession.id);
    const isExpected =
      parent === undefined && session.name === this.#expected?.name && this.#expected.found === undefined;
    const debugged = new DebugSession(session, parent?.root, isExpected);
    if (this.#expected !== undefined && isExpected) {
      this.#expected.found = debugged;
    }
    this.#live.set(session.id, debugged);
    return {
      onWillReceiveMessage: (message: unknown) => {
        this.#asked(debugged, message);
      },
      onDidSendMessage: (message: unknown) => {
        this.#told(debugged, message);
      },
    };
  }

  #asked(debugged: DebugSession, message: unknown): void {
    const request = asked.safeParse(message);
    if (request.success && GOES_ON.has(request.data.command)) {
      debugged.goOn();
      this.#changed.fire();
    }
  }

  #told(debugged: DebugSession, message: unknown): void {
    const event = told.safeParse(message);
    if (!event.success) {
      return;
    }
    debugged.hear(event.data);
    if (event.data.event === "stopped") {
      this.#live.delete(debugged.session.id);
      this.#live.set(debugged.session.id, debugged);
      if (debugged.byAgent) {
        quieted(message);
      }
    }
    this.#changed.fire();
  }

  #ended(session: vscode.DebugSession): void {
    this.#live.get(session.id)?.end();
    this.#live.delete(session.id);
    this.#changed.fire();
  }
}

/**
 * VS Code goes where a program stops, and takes the focus along, unless the debugger says it should not. That is said here in its place,
 * in the message that VS Code reads after us: there is no option for it that is not the user's own for all debugging.
 */
function quieted(message: unknown): void {
  const { body } = message as { body: { preserveFocusHint?: boolean } };
  body.preserveFocusHint = true;
}
