/** What a request is called, and what may be answered to it. Pure. Its texts come from models and repositories: text, never markup. */
import * as path from "node:path";
import { l10n } from "vscode";
import type { AnswerParams, InboxItem } from "../protocol/inbox";

/** One answer that can be given by a click. */
export interface Choice {
  readonly label: string;
  readonly detail: string;
  readonly decision: "approve" | "reject" | "rejectWithWords" | "show" | "dismiss" | "answer";
  readonly scope?: NonNullable<AnswerParams["scope"]>;
}

/** All answers to a request, the most careful approval first. */
export function choicesOf(item: InboxItem): Choice[] {
  const show: Choice = {
    label: l10n.t("Show"),
    detail: l10n.t("All of it, beside what you are doing"),
    decision: "show",
  };
  if (item.kind === "unknown") {
    return [show];
  }
  if (item.kind !== "approval") {
    return [
      {
        label: l10n.t("Answer…"),
        detail: item.questions.length === 1 ? l10n.t("1 question") : l10n.t("{0} questions", item.questions.length),
        decision: "answer",
      },
      show,
      { label: l10n.t("Dismiss"), detail: l10n.t("The agent goes on without an answer"), decision: "dismiss" },
    ];
  }
  const approvals = item.scopes.map((offered): Choice => ({
    label: offered.label,
    detail: offered.remembers || l10n.t("Asked again the next time"),
    decision: "approve",
    scope: offered.scope,
  }));
  return [
    ...approvals,
    {
      label: l10n.t("Reject…"),
      detail: l10n.t("Say why, and the agent tries another way"),
      decision: "rejectWithWords",
    },
    { label: l10n.t("Reject, and End the Turn"), detail: l10n.t("Without a word"), decision: "reject" },
    show,
  ];
}

/** Characters of a request that a list of answers shows above itself, in a window of any width. */
const LINE = 60;

/** Whether all of what is asked stands in the one line above a list of answers, so that it can be allowed there. */
export function fitsLine(item: InboxItem): boolean {
  const [command, ...more] = item.commands;
  const asked = command?.command ?? item.lines[0] ?? item.title;
  return (
    more.length === 0 &&
    item.edits.length === 0 &&
    item.lines.length <= 1 &&
    item.more === 0 &&
    asked.length <= LINE &&
    !asked.includes("\n")
  );
}

/** Who asks, where: "shop · Tidy up". */
export function whereOf(item: InboxItem): string {
  const project = path.basename(item.session.project || item.session.cwd);
  return [project, item.asker || item.session.title].filter(Boolean).join(" · ");
}

/** The whole request, as a page of text: its commands first. */
export function pageOf(item: InboxItem): string {
  const parts: string[] = [];
  for (const command of item.commands) {
    parts.push(
      ...command.command.split("\n").map((line) => `    ${line}`),
      "",
      l10n.t("In {0}", command.directory),
      "",
    );
  }
  parts.push(item.title, `${whereOf(item)} (${item.session.cwd})`, "");
  parts.push(...item.lines);
  if (item.more > 0) {
    parts.push(item.more === 1 ? l10n.t("… and 1 line more") : l10n.t("… and {0} lines more", item.more));
  }
  for (const asked of item.questions) {
    parts.push(
      "",
      asked.question,
      asked.body,
      ...asked.options.map((option) => `- ${option.label}  ${option.description}`),
    );
  }
  return `${parts.join("\n")}\n`;
}
