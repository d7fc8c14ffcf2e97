/** What the agent is told about a step of its plan. Pure. */
import type { PlanStep } from "./updates";

export const WORDS: Readonly<Record<PlanStep["status"], string>> = {
  pending: "to do",
  in_progress: "in progress",
  completed: "done",
};

/** The step is named as the agent wrote it: numbers change when it plans anew. */
export function aboutStep(number: number, step: PlanStep, words: string): string {
  const quoted = step.content
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
  return `About step ${number} of your plan (${WORDS[step.status]}):\n\n${quoted}\n\n${words.trim()}`;
}
