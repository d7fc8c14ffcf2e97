/** Activation, and the one table of commands. What a command does is elsewhere. */
import * as vscode from "vscode";
import { unlinked } from "./editor/notice";
import { NotConnected } from "./connection/connection";
import { Context } from "./context";
import { diagnosis } from "./diagnose";
import type { Chosen } from "./editor/chosen";
import type { EditNode } from "./editor/inbox";
import type { Verdict } from "./editor/review";
import type { InboxItem } from "./protocol/inbox";
import type { ShownHunk } from "./protocol/review";
import { Actions } from "./panel/asking";
import type { Problem } from "./panel/prompts";

type Handler = (...given: unknown[]) => Promise<void> | void;

export function activate(extension: vscode.ExtensionContext): void {
  const context = new Context(extension);
  extension.subscriptions.push(context);
  for (const [command, handler] of Object.entries(commands(context))) {
    extension.subscriptions.push(vscode.commands.registerCommand(command, reporting(handler)));
  }
  const uris = { handleUri: reporting((uri) => context.asking.follow(uri as vscode.Uri)) };
  const actions = vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new Actions(), {
    providedCodeActionKinds: Actions.kinds,
  });
  extension.subscriptions.push(vscode.window.registerUriHandler(uris), actions);
  void context.connectIfNeeded();
}

function commands(context: Context): Record<string, Handler> {
  const { answerer, asking, decider, navigator, threads, tools } = context;
  return {
    "sould.openChat": () => openChat(context),
    "sould.install": () => install(context),
    "sould.openChatTab": () => {
      context.panels.openTab();
    },
    "sould.openChatWindow": () => context.panels.openWindow(),
    "sould.newSession": () => asking.begin(),
    "sould.importSession": () => context.importer.pick(),
    "sould.newSessionInWorktree": () => asking.begin(true),
    "sould.ask": () => asking.selection(),
    "sould.explain": () => asking.explain(),
    "sould.fix": (uri, range, problems) => asking.fix(uri as vscode.Uri, range as vscode.Range, problems as Problem[]),
    "sould.addFile": (uri, uris) => asking.files(urisOf(uri, uris)),
    "sould.addTerminal": () => asking.terminal(),
    "sould.commitMessage": (repository) => context.committer.write(repository),
    "sould.follow": () => context.follower.set(true),
    "sould.unfollow": () => context.follower.set(false),
    "sould.start": () => start(context),
    "sould.keep": (...given) => decide(context, "keep", given),
    "sould.reject": (...given) => decide(context, "reject", given),
    "sould.comment": (...given) =>
      about(context, given, (hunk) => {
        threads.write(hunk);
      }),
    "sould.peek": (...given) => about(context, given, (hunk) => navigator.peek(hunk)),
    "sould.diff": (...given) => diff(context, given),
    "sould.next": () => navigator.go(1),
    "sould.previous": () => navigator.go(-1),
    "sould.keepFile": () => ofFile(context, (path) => decider.file("keep", path)),
    "sould.rejectFile": () => ofFile(context, (path) => decider.file("reject", path)),
    "sould.keepAll": () => decider.everything("keep"),
    "sould.rejectAll": () => decider.everything("reject"),
    "sould.undo": () => decider.undo(),
    "sould.rejected": () => context.rejections.list(),
    "sould.problems": (...given) =>
      about(context, given, (hunk) => {
        tellProblems(hunk);
      }),
    "sould.reviewAll": () => navigator.all(),
    "sould.sendComments": () => threads.send(),
    "sould.addComment": (draft) => threads.add(draft),
    "sould.discardComment": (thread) => {
      threads.discard(thread as vscode.CommentThread);
    },
    "sould.removeComment": (comment) => threads.remove(comment as vscode.Comment),
    "sould.open": (...given) => about(context, given, (hunk) => navigator.open(hunk)),
    "sould.answer": (node) => answerer.ask(answerer.named(node)),
    "sould.approve": (node) => ofItem(context, node, (item) => answerer.approve(item)),
    "sould.refuse": (node) => ofItem(context, node, (item) => answerer.choose(item, { decision: "rejectWithWords" })),
    "sould.approveShown": (uri) => answerer.chooseShown(uri instanceof vscode.Uri ? uri : undefined, "approve"),
    "sould.refuseShown": (uri) => answerer.chooseShown(uri instanceof vscode.Uri ? uri : undefined, "rejectWithWords"),
    "sould.showItem": (node) => ofItem(context, node, (item) => answerer.show(item)),
    "sould.showAsked": (node) => answerer.showEdit(node as EditNode),
    "sould.tourNext": () => tools.tour.go(1),
    "sould.tourPrevious": () => tools.tour.go(-1),
    "sould.tourEnd": () => {
      tools.tour.end();
    },
    "sould.shareTerminal": (terminal) => {
      tools.terminals.share(isTerminal(terminal) ? terminal : undefined);
    },
    "sould.unshareTerminals": () => {
      tools.terminals.unshare();
    },
    "sould.diagnose": () => diagnose(context),
    "sould.log": () => {
      context.log.show();
    },
  };
}

/** What goes wrong is said beside what the user does, and is no exception of VS Code's. */
function reporting(handler: Handler): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    try {
      await handler(...given);
    } catch (problem) {
      const words = problem instanceof Error ? problem.message : String(problem);
      void vscode.window.showErrorMessage(unlinked(`sould: ${words}`));
    }
  };
}

async function start(context: Context): Promise<void> {
  const { connection, setup } = context;
  await connection.connect();
  if (connection.state === "missing") {
    await setup.offer(connection.problem);
  } else if (connection.state !== "connected") {
    throw new NotConnected(connection.problem);
  }
}

/** The panel says by itself when there is no connection. */
async function openChat(context: Context): Promise<void> {
  await context.panels.show();
  await context.connection.connect();
  if (context.connection.state === "missing") {
    await context.setup.offer(context.connection.problem);
  }
}

async function install(context: Context): Promise<void> {
  await context.setup.install();
  await context.connection.restart();
  vscode.window.setStatusBarMessage(vscode.l10n.t("$(check) sould is installed"), 8_000);
}

async function decide(context: Context, verdict: Verdict, given: readonly unknown[]): Promise<void> {
  const chosen = context.chooser.choose(given);
  if ("problem" in chosen) {
    explain(chosen);
    return;
  }
  if ("node" in chosen) {
    await context.decider.node(verdict, chosen.node);
    return;
  }
  if (chosen.byKey) {
    context.shortcuts.used();
  }
  if ((await context.decider.hunk(verdict, chosen.hunk)) && chosen.byKey && revealsNext()) {
    await context.navigator.go(1);
  }
}

function tellProblems(hunk: ShownHunk): void {
  void vscode.window.showInformationMessage(
    unlinked(
      hunk.problems.length === 1
        ? vscode.l10n.t("This change brought 1 new error: {0}", hunk.problems.join("; "))
        : vscode.l10n.t("This change brought {0} new errors: {1}", hunk.problems.length, hunk.problems.join("; ")),
    ),
  );
}

function revealsNext(): boolean {
  return vscode.workspace.getConfiguration("sould").get("revealNext", true);
}

function about(
  context: Context,
  given: readonly unknown[],
  does: (hunk: ShownHunk) => Promise<void> | void,
): Promise<void> | void {
  const chosen = context.chooser.choose(given);
  if ("hunk" in chosen) {
    return does(chosen.hunk);
  }
  explain(chosen);
}

function explain(chosen: Chosen): void {
  if ("problem" in chosen) {
    vscode.window.setStatusBarMessage(`$(info) ${chosen.problem}`, 8_000);
  }
}

async function diff(context: Context, given: readonly unknown[]): Promise<void> {
  const [first] = given;
  if (first !== undefined && !(first instanceof vscode.Uri)) {
    const chosen = context.chooser.choose(given);
    if ("hunk" in chosen) {
      await context.navigator.diff(chosen.hunk.path);
    } else if ("node" in chosen && chosen.node.kind === "file") {
      await context.navigator.diff(chosen.node.file.path);
    }
    return;
  }
  await ofFile(context, (path) => context.navigator.diff(path));
}

async function ofFile(context: Context, does: (path: string) => Promise<void>): Promise<void> {
  const path = context.places.activePath();
  if (path === undefined || context.model.file(path) === undefined) {
    explain({ problem: vscode.l10n.t("Agents have changed nothing in this file that is pending.") });
    return;
  }
  await does(path);
}

/** The Explorer gives the one that was clicked on, and all that are chosen; a tab gives its own. */
function urisOf(uri: unknown, uris: unknown): vscode.Uri[] {
  const given: unknown[] = Array.isArray(uris) && uris.length > 0 ? uris : [uri];
  return given.filter((each) => each instanceof vscode.Uri);
}

/** A menu of a terminal gives the terminal; the palette gives nothing. */
function isTerminal(given: unknown): given is vscode.Terminal {
  return vscode.window.terminals.some((each) => each === given);
}

async function ofItem(context: Context, given: unknown, does: (item: InboxItem) => Promise<void>): Promise<void> {
  const item = context.answerer.named(given);
  if (item !== undefined) {
    await does(item);
  }
}

async function diagnose(context: Context): Promise<void> {
  const found = await context.setup.find();
  const content = await diagnosis(context.connection, "program" in found ? found.program : undefined);
  const document = await vscode.workspace.openTextDocument({ language: "markdown", content });
  await vscode.commands.executeCommand("vscode.open", document.uri);
  if ("problem" in found) {
    await context.setup.offer(found.problem);
  }
}
