/** What the agent is told about a step of its plan. Pure. */
import * as l10n from "@vscode/l10n";
import type { PlanStep } from "./updates";

export const WORDS: Readonly<Record<PlanStep["status"], string>> = {
  pending: l10n.t("to do"),
  in_progress: l10n.t("in progress"),
  completed: l10n.t("done"),
};

/** The step is named as the agent wrote it: numbers change when it plans anew. */
export function aboutStep(number: number, step: PlanStep, words: string): string {
  const quoted = step.content
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
  return `${l10n.t("About step {0} of your plan ({1}):", number, WORDS[step.status])}\n\n${quoted}\n\n${words.trim()}`;
}
