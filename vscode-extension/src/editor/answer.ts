/** Answers what waits, when the user asks to: by a list of what can be said, and a line for words. Never a modal dialog. */
import * as vscode from "vscode";
import { visible } from "../../panel/session/visible";
import { iconless, unlinked } from "./notice";
import type { Connection } from "../connection/connection";
import type { InboxModel } from "../inbox/model";
import { choicesOf, fitsLine, pageOf, whereOf, type Choice } from "../inbox/words";
import { answered, type AnswerParams, type AskedQuestion, type GivenAnswer, type InboxItem } from "../protocol/inbox";
import { parse } from "../protocol/readers";
import { AskedFiles, requestOf } from "./asked";
import type { EditNode, Inbox, ItemNode } from "./inbox";

const OWN_WORDS = vscode.l10n.t("Other…");
const ANSWERED = vscode.l10n.t("This was answered already, or is not asked any more.");

/** An item of the list of answers; without an `answer` the user's words are asked for. */
interface Option extends vscode.QuickPickItem {
  readonly answer?: string;
}

export class Answerer implements vscode.Disposable {
  readonly #connection: Connection;
  readonly #model: InboxModel;
  readonly #inbox: Inbox;
  readonly #files = new AskedFiles();

  constructor(connection: Connection, model: InboxModel, inbox: Inbox) {
    this.#connection = connection;
    this.#model = model;
    this.#inbox = inbox;
  }

  dispose(): void {
    this.#files.dispose();
  }

  /** Answers the request whose change is shown, with the text as it stands there. */
  async chooseShown(uri: vscode.Uri | undefined, decision: "approve" | "rejectWithWords"): Promise<void> {
    const item = this.#model.item(requestOf(uri ?? vscode.window.activeTextEditor?.document.uri) ?? "");
    if (item === undefined) {
      throw new Error(ANSWERED);
    }
    await this.choose(item, { decision });
  }

  /** What a node of the view stands for, or an id, which links have. */
  named(given: unknown): InboxItem | undefined {
    const id = isItemNode(given) ? given.item.id : given;
    if (typeof id !== "string") {
      return undefined;
    }
    const item = this.#model.item(id);
    if (item === undefined) {
      throw new Error(ANSWERED);
    }
    return item;
  }

  /** Approves what is shown whole where the user approves it; anything else is shown first. */
  async approve(item: InboxItem): Promise<void> {
    await (fitsLine(item) ? this.choose(item, { decision: "approve" }) : this.ask(item));
  }

  /**
   * Offers all that can be answered to an item, or to the one that waits longest. What does not fit above the answers is shown beside
   * them, and can be allowed once its end was in sight: of several changes, the end of each.
   */
  async ask(item = this.#model.items[0]): Promise<void> {
    if (item === undefined) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("$(check) Nothing waits for you"), 5_000);
      return;
    }
    const title = `${item.title} — ${whereOf(item)}`;
    const isShort = item.kind !== "approval" || fitsLine(item);
    const picked = await pick(item, title, isShort ? undefined : await this.#show(item));
    if (picked !== undefined) {
      await this.choose(item, picked);
    }
  }

  /** Gives one of the answers that `choicesOf` has. */
  async choose(item: InboxItem, choice: Pick<Choice, "decision" | "scope">): Promise<void> {
    if (item.kind === "unknown" && choice.decision !== "show") {
      throw new Error(
        vscode.l10n.t("This asks for what this version of the extension does not know. Answer it in another client."),
      );
    }
    switch (choice.decision) {
      case "approve":
        await this.#approve(item, choice.scope ?? "once");
        break;
      case "reject":
        await this.#answer({ id: item.id, decision: "reject" });
        break;
      case "rejectWithWords":
        await this.#rejectWithWords(item);
        break;
      case "dismiss":
        await this.#answer({ id: item.id, decision: "dismiss" });
        break;
      case "answer":
        await this.#answerQuestions(item);
        break;
      case "show":
        await this.show(item);
    }
  }

  /** All of an item: its changes as diffs, anything else as a page. */
  async show(item: InboxItem): Promise<void> {
    await this.#show(item);
  }

  /** One change that waits, beside what is there. */
  async showEdit(node: EditNode): Promise<void> {
    await this.#showEdit(node, { preview: true });
  }

  /** Returns what was shown. */
  async #show(item: InboxItem): Promise<vscode.Uri[]> {
    const whole = await this.#inbox.whole(item);
    if (whole.edits.length > 0) {
      const shown: vscode.Uri[] = [];
      for (const at of whole.edits.keys()) {
        // In the one tab of previews only the last would be seen.
        shown.push(...(await this.#showEdit({ kind: "edit", item: whole, at }, { preview: whole.edits.length === 1 })));
      }
      return shown;
    }
    const page = this.#files.put(`/${item.id}/what is asked.sould-request`, pageOf(whole));
    await vscode.commands.executeCommand("vscode.open", page, { preview: true });
    return [page];
  }

  async #showEdit(node: EditNode, how: { readonly preview: boolean }): Promise<vscode.Uri[]> {
    const given = node.item.edits[node.at];
    const edit = given?.cut ? (await this.#inbox.whole(node.item)).edits[node.at] : given;
    if (edit === undefined) {
      return [];
    }
    const name = basename(edit.path);
    const at = `/${node.item.id}/${node.at}`;
    // With several files, or parts of one, nothing but a yes or a no is possible.
    const editable = node.item.kind !== "unknown" && node.item.edits.length === 1 && !edit.part;
    const before = this.#files.put(`${at}/before/${name}`, edit.before);
    const after = this.#files.put(`${at}/after/${name}`, edit.after, editable);
    const title = editable
      ? vscode.l10n.t("{0} (asked: {1}; you can edit it)", visible(name), node.item.title)
      : vscode.l10n.t("{0} (asked: {1})", visible(name), node.item.title);
    await vscode.commands.executeCommand("vscode.diff", before, after, title, how);
    return [after];
  }

  /** With what the user made of it in the diff. */
  async #approve(item: InboxItem, scope: NonNullable<AnswerParams["scope"]>): Promise<void> {
    const text = this.#files.edited(item.id);
    await this.#answer({ id: item.id, decision: "approve", scope, ...(text === undefined ? {} : { text }) });
  }

  async #rejectWithWords(item: InboxItem): Promise<void> {
    const words = await vscode.window.showInputBox({
      title: vscode.l10n.t("Reject: {0}", item.title),
      prompt: vscode.l10n.t("What should the agent do instead?"),
      ignoreFocusOut: true,
    });
    if (words !== undefined) {
      await this.#answer({ id: item.id, decision: "reject", words });
    }
  }

  async #answerQuestions(item: InboxItem): Promise<void> {
    const answers: GivenAnswer[] = [];
    for (const question of item.questions) {
      const given = await askOne(question);
      if (given === undefined) {
        return;
      }
      answers.push(given);
    }
    await this.#answer({ id: item.id, decision: "answer", answers });
  }

  async #answer(params: AnswerParams): Promise<void> {
    const answer = parse(answered, await this.#connection.request("_sould/inbox/answer", params));
    if (answer.outcome !== "taken") {
      void vscode.window.showInformationMessage(unlinked(`sould: ${answer.message}`));
    }
    await this.#files.close(params.id);
  }
}

function isItemNode(given: unknown): given is ItemNode {
  return typeof given === "object" && given !== null && "kind" in given && given.kind === "item";
}

/** Asks which of these documents' ends were not in sight yet, whenever it was asked. */
function unseenOf(shown: readonly vscode.Uri[]): () => number {
  const unseen = new Set(shown.map(String));
  return () => {
    for (const { document, visibleRanges } of vscode.window.visibleTextEditors) {
      if (visibleRanges.some((range) => range.end.line >= document.lineCount - 1)) {
        unseen.delete(document.uri.toString());
      }
    }
    return unseen.size;
  };
}

/** What the user chooses; an approval from when the end of all that was `shown` has been in sight, where it is too long for the list. */
async function pick(
  item: InboxItem,
  title: string,
  shown: readonly vscode.Uri[] | undefined,
): Promise<Choice | undefined> {
  const list = vscode.window.createQuickPick<Choice>();
  const unseen = unseenOf(shown ?? []);
  const look = (): void => {
    const left = unseen();
    const read = shown === undefined || (shown.length > 0 && left === 0);
    list.items = choicesOf(item)
      .filter((choice) => read || choice.decision !== "approve")
      .map((choice) => ({ ...choice, label: iconless(choice.label), detail: iconless(choice.detail) }));
    const allowing =
      left > 1
        ? vscode.l10n.t("To allow it, scroll to the end of each of the {0} changes that are left", left)
        : vscode.l10n.t("To allow it, scroll to the end of what is asked");
    list.placeholder = read ? placeOf(item) : allowing;
  };
  Object.assign(list, { title, ignoreFocusOut: true });
  look();
  const looking = [
    vscode.window.onDidChangeTextEditorVisibleRanges(look),
    vscode.window.onDidChangeVisibleTextEditors(look),
  ];
  try {
    return await new Promise((resolve) => {
      list.onDidAccept(() => {
        resolve(list.selectedItems[0]);
      });
      list.onDidHide(() => {
        resolve(undefined);
      });
      list.show();
    });
  } finally {
    looking.forEach((each) => {
      each.dispose();
    });
    list.dispose();
  }
}

/** undefined: the user went away, and nothing is answered. */
async function askOne(question: AskedQuestion): Promise<GivenAnswer | undefined> {
  const title = [question.header, question.question].filter(Boolean).join(": ");
  if (question.options.length === 0) {
    return await ownWords(title, question);
  }
  const options: Option[] = question.options.map((option) => ({
    label: iconless(option.label),
    detail: iconless(option.description),
    answer: option.label,
  }));
  if (question.words !== "") {
    options.push({ label: OWN_WORDS, detail: iconless(question.words) });
  }
  const asked = { title, placeHolder: question.body, ignoreFocusOut: true };
  const picked = question.several
    ? await vscode.window.showQuickPick(options, { ...asked, canPickMany: true })
    : await vscode.window.showQuickPick(options, asked);
  if (picked === undefined) {
    return undefined;
  }
  const all = Array.isArray(picked) ? picked : [picked];
  const chosen = all.flatMap((option) => option.answer ?? []);
  if (chosen.length === all.length) {
    return { chosen };
  }
  const own = await ownWords(title, question);
  return own && { chosen, ...own };
}

async function ownWords(title: string, question: AskedQuestion): Promise<GivenAnswer | undefined> {
  const words = await vscode.window.showInputBox({
    title,
    prompt: question.body,
    value: question.default,
    ignoreFocusOut: true,
  });
  return words === undefined ? undefined : { words };
}

function placeOf(item: InboxItem): string {
  const [command] = item.commands;
  return command ? vscode.l10n.t("{0}  (in {1})", command.command, command.directory) : (item.lines[0] ?? "");
}

function basename(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
