/**
 * All that the panel knows of its surroundings: a way to the daemon, and the few things that only an editor or a browser can do.
 *
 * `links/webview.ts` is the link in VS Code, `links/browser.ts` the one in a plain browser. Both carry JSON-RPC messages: those of
 * ACP and `_sould/*` go to the daemon, those below `_panel/` (see `Surroundings`) are answered by whoever holds the other end of the
 * link: `src/panel/` in VS Code, `scripts/panel.mjs` in the browser. The panel must never reach the network in another way.
 */
export type Id = string | number;

interface Request {
  readonly jsonrpc: "2.0";
  readonly id: Id;
  readonly method: string;
  readonly params: object;
}

interface Notification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params: object;
}

export interface Failure {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

type Answer =
  | { readonly jsonrpc: "2.0"; readonly id: Id; readonly result: unknown }
  | { readonly jsonrpc: "2.0"; readonly id: Id; readonly error: Failure };

export type Message = Request | Notification | Answer;

/** As VS Code names them. */
export type Theme = "light" | "dark" | "high-contrast" | "high-contrast-light";

/** What outlives a reload of the page. */
export interface Kept {
  readonly session?: { readonly id: string; readonly cwd: string };
  /** What is typed and not sent, by session; "" is the one for a session that does not exist yet. */
  readonly drafts?: Readonly<Record<string, string>>;
  /** The user has begun a new session, which has no prompt yet: no other is shown in its place. */
  readonly fresh?: boolean;
  /** That session is to have a git worktree of its own. */
  readonly apart?: boolean;
  /** Where it is to begin. */
  readonly root?: string;
  /** Distance from the end of the transcript; absent when it follows the end. */
  readonly scroll?: number;
}

/** A place in a file. `line` counts from 1. */
export interface Place {
  readonly path: string;
  readonly line?: number;
}

export interface Link {
  send(message: Message): void;
  onMessage(listener: (message: Message) => void): void;
  /** Shows a file beside what the user does. Never an address of the web. */
  openFile(place: Place): void;
  /** Lets the user choose files; none when they chose none. */
  pickFile(): Promise<readonly string[]>;
  /** Has the user say where a text is kept as a file, if they want to. Rejects with the reason where it cannot be. */
  saveFile(name: string, text: string): Promise<void>;
  readonly theme: Theme;
  onTheme(listener: (theme: Theme) => void): void;
  state: Kept;
}

/** The result of the request `_panel/surroundings`, and the parameters of the notification of that name, sent when they change. */
export interface Surroundings {
  /** The folders that are open: where sessions begin. The first is the one to begin with. */
  readonly roots: readonly { readonly path: string; readonly name: string }[];
  /**
   * `_panel/insert {text}` puts code at the cursor of the editor used last, `_panel/apply {text, sessionId}` in place of what is selected
   * there, as an edit of the session that is reviewed. An error says what the user can do.
   */
  readonly canInsert: boolean;
  /** The notification `_panel/review` shows in the editor what is to be reviewed. */
  readonly canReview: boolean;
  /** Who shows the panel, for what it says to the user. */
  readonly editor: string;
}

/**
 * The parameters of the notification `_panel/connection`, sent at the beginning and whenever it changes. Where sould is missing, the
 * request `_panel/install` has the editor install it.
 */
export interface ConnectionState {
  readonly state: "idle" | "missing" | "connecting" | "connected" | "waiting";
  /** Why there is no connection; "" when there is one. */
  readonly problem: string;
  /** The daemon's. */
  readonly version: string;
}

/** The parameters of the notification `_panel/open`: show a session, or begin one. `prompt` goes into the composer, unsent. */
export interface Opening {
  readonly session?: { readonly id: string; readonly cwd: string };
  readonly cwd?: string;
  /** The session that begins there is to have a git worktree of its own. */
  readonly apart?: boolean;
  readonly prompt?: string;
  /** Content blocks of ACP (`resource_link`, `resource`) that go with it: chips in the composer. */
  readonly attached?: readonly object[];
}

/**
 * The request `_panel/problems {root}` is answered with `{problems}`, errors first; `_panel/findFiles {root, query, limit}` with `{paths}`,
 * absolute, best first.
 */
export interface Problem {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly severity: "error" | "warning" | "information" | "hint";
  readonly message: string;
  readonly source: string;
}

/** The parameters of the request `_panel/symbols`; its result is `{symbols}`: `FoundSymbol`, at most `limit`. */
export interface SymbolSearch {
  readonly query: string;
  readonly limit: number;
}

export interface FoundSymbol {
  readonly name: string;
  readonly kind: string;
  readonly path: string;
  /** From 1. */
  readonly line: number;
}

/**
 * The parameters of the request `_panel/login`: keep the key of a model provider, outside of the daemon. An error says why it was not.
 * `file`: where the system has no keyring, a file that only the user can read will do.
 */
export interface KeyGiven {
  /** One of `providers.ts`, or the address of another, which may want no key. */
  readonly provider: string;
  /** With an address: the model, where the server does not say which it has. */
  readonly model?: string | undefined;
  readonly key: string;
  readonly file: boolean;
}

/**
 * The parameters of the notification `_panel/context`, sent when it changes: what the user has before them, offered as chips. It
 * becomes part of a prompt only when the user leaves the chip there.
 */
export interface EditorContext {
  readonly file?: { readonly path: string; readonly from?: number; readonly to?: number; readonly selected?: string };
}
