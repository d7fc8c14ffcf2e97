/**
 * The one part of the status bar: what is wrong, what waits, what is to be reviewed and what is shared. A click does what is most
 * urgent of it, as its label says; its tooltip offers all of it.
 */
import * as vscode from "vscode";
import type { Connection, State } from "../connection/connection";
import type { InboxModel } from "../inbox/model";
import { whereOf } from "../inbox/words";
import type { Item } from "../protocol/inboxshapes";
import type { ReviewModel } from "../review/model";
import { changes, pendingIn } from "../review/wording";
import type { Terminals } from "../tools/terminals";

/** What there is to be said. */
export interface Standing {
  readonly state: State;
  readonly problem: string;
  /** Versions of the daemon and of this extension. */
  readonly daemon: string;
  readonly own: string;
  readonly waiting: readonly Item[];
  readonly pending: number;
  /** Names of terminals. */
  readonly shared: readonly string[];
}

interface Part {
  readonly text: string;
  /** In words. */
  readonly said: string;
  /** More about it, in somebody else's words. */
  readonly more?: string;
  readonly does: string;
  readonly command: string;
}

const CHAT = { does: "Open the chat", command: "sould.openChat" };

/** The parts of it, the most urgent first. */
export function partsOf(now: Standing): Part[] {
  const parts = [...wrong(now), ...todo(now)];
  if (parts.length === 0) {
    parts.push({ text: "$(comment-discussion) sould", said: served(now), ...CHAT });
  }
  const count = now.shared.length;
  if (count > 0) {
    const said = `Agents may know what is run in ${count === 1 ? "1 terminal" : `${count} terminals`}`;
    const more = now.shared.join(", ");
    parts.push({
      text: `$(terminal) ${count} shared`,
      said,
      more,
      does: "Share none",
      command: "sould.unshareTerminals",
    });
  }
  return parts;
}

function wrong({ state, problem }: Standing): Part[] {
  const does = { does: "Say what is wrong", command: "sould.diagnose" };
  switch (state) {
    case "missing":
      return [{ text: "$(warning) sould", said: "sould was not found", more: problem, ...CHAT }];
    case "waiting":
      return [
        {
          text: "$(debug-disconnect) sould",
          said: "The connection was lost; it is tried again",
          more: problem,
          ...does,
        },
      ];
    case "connecting":
      return [{ text: "$(sync~spin) sould", said: "Connecting", ...CHAT }];
    case "idle":
    case "connected":
      return [];
  }
}

function todo({ waiting, pending }: Standing): Part[] {
  const parts: Part[] = [];
  const [oldest] = waiting;
  if (oldest !== undefined) {
    const said = `${waiting.length} waiting for you`;
    const more = `${oldest.title} (${whereOf(oldest)})`;
    parts.push({ text: `$(bell-dot) ${waiting.length} waiting`, said, more, does: "Answer", command: "sould.answer" });
  }
  if (pending > 0) {
    const said = `${changes(pending)} of agents to review`;
    parts.push({ text: `$(checklist) ${pending} to review`, said, does: "Review all", command: "sould.reviewAll" });
  }
  return parts;
}

function served({ state, daemon, own }: Standing): string {
  if (state !== "connected") {
    return "Nothing waits for you";
  }
  return daemon === own ? `sould ${daemon}` : `sould ${daemon} serves this window; the extension is ${own}`;
}

export class Status implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("sould", vscode.StatusBarAlignment.Right, 100);
  readonly #look: () => Standing;
  readonly #subscriptions: { dispose(): void }[];

  /** `own`: this extension's version. */
  constructor(connection: Connection, own: string, model: ReviewModel, inbox: InboxModel, terminals: Terminals) {
    this.#look = () => ({
      state: connection.state,
      problem: connection.problem,
      daemon: connection.version,
      own,
      waiting: inbox.items,
      pending: pendingIn(model.files),
      shared: terminals.names,
    });
    const refresh = (): void => {
      this.#refresh();
    };
    this.#subscriptions = [
      this.#item,
      connection.onDidChangeState(refresh),
      model.onDidChange(refresh),
      inbox.onDidChange(refresh),
      terminals.onDidChange(refresh),
    ];
    this.#item.name = "sould";
    this.#refresh();
    this.#item.show();
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }

  #refresh(): void {
    const now = this.#look();
    const parts = partsOf(now);
    const [first] = parts as [Part];
    this.#item.text = parts.map((part) => part.text).join("  ");
    this.#item.command = first.command;
    this.#item.tooltip = tooltip(parts);
    const said = parts.map((part) => part.said).join(", ");
    this.#item.accessibilityInformation = { label: `sould: ${first.does}. ${said}`, role: "button" };
    const isAsked = first.command === "sould.answer";
    this.#item.backgroundColor = isAsked ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  }
}

/** Each part with what can be done about it; the chat can always be opened. */
function tooltip(parts: readonly Part[]): vscode.MarkdownString {
  const shown = new vscode.MarkdownString();
  const offered = parts.some((part) => part.command === CHAT.command) ? parts : [...parts, { said: "", ...CHAT }];
  shown.isTrusted = { enabledCommands: offered.map((part) => part.command) };
  for (const part of offered) {
    const words = [part.said, "more" in part ? part.more : ""].filter(Boolean).join(": ");
    shown.appendText(words);
    shown.appendMarkdown(`${words === "" ? "" : " · "}[${part.does}](command:${part.command})\n\n`);
  }
  return shown;
}
