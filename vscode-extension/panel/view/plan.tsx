/** The agent's plan: how far it has come in one line, and all of it when opened. */
import type { JSX } from "preact";
import type { PlanStep } from "../session/updates";
import { Fold } from "./fold";
import { Icon } from "./icons";

const WORDS: Readonly<Record<PlanStep["status"], string>> = { pending: "to do", in_progress: "in progress", completed: "done" };

export function Plan({ steps }: { readonly steps: readonly PlanStep[] }): JSX.Element | null {
  const done = steps.filter((step) => step.status === "completed").length;
  if (steps.length === 0 || done === steps.length) {
    return null;
  }
  const current = steps.find((step) => step.status === "in_progress") ?? steps.find((step) => step.status === "pending");
  return (
    <section class="plan" aria-label="Plan">
      <Fold title={<><span class="plan-count">Plan {done}/{steps.length}</span> {current?.content}</>}>
        <ol>
          {steps.map((step, at) => (
            <li key={at} class={step.status}>
              <span class="plan-mark" aria-hidden="true">{step.status === "completed" ? <Icon name="check" /> : step.status === "in_progress" ? <Icon name="right" /> : null}</span>
              {step.content}<span class="hidden"> ({WORDS[step.status]})</span>
            </li>
          ))}
        </ol>
      </Fold>
    </section>
  );
}
