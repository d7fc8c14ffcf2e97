/**
 * The one part of the status bar: what is wrong, what waits, what is to be reviewed and what is shared. A click does what is most
 * urgent of it, as its label says; its tooltip offers all of it.
 */
import * as vscode from "vscode";
import type { Connection, State } from "../connection/connection";
import type { InboxModel } from "../inbox/model";
import { whereOf } from "../inbox/words";
import type { InboxItem } from "../protocol/inbox";
import type { ReviewModel } from "../review/model";
import { pendingIn } from "../review/wording";
import type { Terminals } from "../tools/terminals";

/** What there is to be said. */
export interface Standing {
  readonly state: State;
  readonly problem: string;
  /** Versions of the daemon and of this extension. */
  readonly daemon: string;
  readonly own: string;
  readonly waiting: readonly InboxItem[];
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

const CHAT = { does: vscode.l10n.t("Open the chat"), command: "sould.openChat" };

/** The parts of it, the most urgent first. */
export function partsOf(now: Standing): Part[] {
  const parts = [...wrong(now), ...todo(now)];
  if (parts.length === 0) {
    parts.push({ text: "$(comment-discussion) sould", said: served(now), ...CHAT });
  }
  const count = now.shared.length;
  if (count > 0) {
    const said =
      count === 1
        ? vscode.l10n.t("Agents may know what is run in 1 terminal")
        : vscode.l10n.t("Agents may know what is run in {0} terminals", count);
    const more = now.shared.join(", ");
    parts.push({
      text: vscode.l10n.t("$(terminal) {0} shared", count),
      said,
      more,
      does: vscode.l10n.t("Share none"),
      command: "sould.unshareTerminals",
    });
  }
  return parts;
}

function wrong({ state, problem }: Standing): Part[] {
  const does = { does: vscode.l10n.t("Say what is wrong"), command: "sould.diagnose" };
  switch (state) {
    case "missing":
      return [{ text: "$(warning) sould", said: vscode.l10n.t("sould was not found"), more: problem, ...CHAT }];
    case "waiting":
      return [
        {
          text: "$(debug-disconnect) sould",
          said: vscode.l10n.t("The connection was lost; it is tried again"),
          more: problem,
          ...does,
        },
      ];
    case "connecting":
      return [{ text: "$(sync~spin) sould", said: vscode.l10n.t("Connecting"), ...CHAT }];
    case "idle":
    case "connected":
      return [];
  }
}

function todo({ waiting, pending }: Standing): Part[] {
  const parts: Part[] = [];
  const [oldest] = waiting;
  if (oldest !== undefined) {
    const said = vscode.l10n.t("{0} waiting for you", waiting.length);
    const more = `${oldest.title} (${whereOf(oldest)})`;
    parts.push({
      text: vscode.l10n.t("$(bell-dot) {0} waiting", waiting.length),
      said,
      more,
      does: vscode.l10n.t("Answer"),
      command: "sould.answer",
    });
  }
  if (pending > 0) {
    const said =
      pending === 1
        ? vscode.l10n.t("1 change of agents to review")
        : vscode.l10n.t("{0} changes of agents to review", pending);
    parts.push({
      text: vscode.l10n.t("$(checklist) {0} to review", pending),
      said,
      does: vscode.l10n.t("Review all"),
      command: "sould.reviewAll",
    });
  }
  return parts;
}

function served({ state, daemon, own }: Standing): string {
  if (state !== "connected") {
    return vscode.l10n.t("Nothing waits for you");
  }
  return daemon === own
    ? `sould ${daemon}`
    : vscode.l10n.t("sould {0} serves this window; the extension is {1}", daemon, own);
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
    this.#item.accessibilityInformation = { label: vscode.l10n.t("sould: {0}. {1}", first.does, said), role: "button" };
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
