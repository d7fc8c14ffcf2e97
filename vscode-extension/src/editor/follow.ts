/**
 * Following the agent: the place that it reads or changes is shown beside what the user does, for the session before them.
 *
 * Off until the user says so, and remembered for the workspace. Never takes the focus, nor moves the text that the user is in.
 */
import * as vscode from "vscode";
import * as z from "zod";
import type { Places } from "./places";
import { reveal } from "./reveal";

const REMEMBERED = "follow";
const KEY = "sould.following";

/** What of an update is needed. */
const update = z.object({
  sessionId: z.string(),
  update: z.object({
    sessionUpdate: z.enum(["tool_call", "tool_call_update"]),
    locations: z.array(z.object({ path: z.string(), line: z.number().int().nullish() })),
  }),
});

interface Place {
  readonly path: string;
  /** From 1. */
  readonly line: number | undefined;
}

export class Follower {
  readonly #memory: vscode.Memento;
  readonly #places: Places;
  /** The session that the user looked at last. */
  readonly #current: () => string | undefined;
  /** Where the agent is, until it is shown; only the newest counts. */
  #next: Place | undefined;
  #last = "";
  #showing: Promise<void> | undefined;

  constructor(memory: vscode.Memento, places: Places, current: () => string | undefined) {
    this.#memory = memory;
    this.#places = places;
    this.#current = current;
    void vscode.commands.executeCommand("setContext", KEY, this.isOn);
  }

  get isOn(): boolean {
    return this.#memory.get(REMEMBERED, false);
  }

  async set(on: boolean): Promise<void> {
    await this.#memory.update(REMEMBERED, on);
    await vscode.commands.executeCommand("setContext", KEY, on);
    vscode.window.setStatusBarMessage(
      on
        ? vscode.l10n.t("$(eye) The agent is followed")
        : vscode.l10n.t("$(eye-closed) The agent is not followed any more"),
      5_000,
    );
  }

  /** What the daemon says. Resolves when nothing is left to be shown. */
  async told(method: string, params: unknown): Promise<void> {
    const place = method === "session/update" && this.isOn ? this.#placeOf(params) : undefined;
    if (place === undefined || key(place) === this.#last) {
      return;
    }
    this.#next = place;
    this.#last = key(place);
    this.#showing ??= this.#show();
    await this.#showing;
  }

  #placeOf(params: unknown): Place | undefined {
    const parsed = update.safeParse(params);
    if (!parsed.success || parsed.data.sessionId !== this.#current()) {
      return undefined;
    }
    const [first] = parsed.data.update.locations;
    return first && { path: first.path, line: first.line ?? undefined };
  }

  async #show(): Promise<void> {
    try {
      for (let place = this.#next; place !== undefined; place = this.#next) {
        this.#next = undefined;
        await this.#showOne(place);
      }
    } finally {
      this.#showing = undefined;
    }
  }

  async #showOne({ path, line }: Place): Promise<void> {
    const uri = this.#places.uriOf(path);
    if (vscode.window.activeTextEditor?.document.uri.toString() === uri.toString()) {
      // The user is in it.
      return;
    }
    try {
      const document = await vscode.workspace.openTextDocument(uri);
      const at = new vscode.Position(Math.min((line ?? 1) - 1, document.lineCount - 1), 0);
      await reveal(document, new vscode.Range(at, at), { beside: false, focus: false });
    } catch {
      // A directory, a picture, or a file that is not there any more: there is nothing to be shown of it.
    }
  }
}

function key({ path, line }: Place): string {
  return `${path}:${line ?? ""}`;
}
