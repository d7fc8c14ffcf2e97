/** The agent's plan: how far it has come in one line, and all of it when opened. A comment on a step goes to the agent at once. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Session } from "../app/session";
import { aboutStep, WORDS } from "../session/plan";
import type { PlanStep } from "../session/updates";
import { usePanel } from "./context";
import { focused } from "./focused";
import { Fold } from "./fold";
import { Icon, IconButton } from "./icons";
import { keyInWords } from "./keys";

export function Plan({ session }: { readonly session: Session }): JSX.Element | null {
  const steps = session.transcript.value.plan;
  const done = steps.filter((step) => step.status === "completed").length;
  if (steps.length === 0 || done === steps.length) {
    return null;
  }
  const current =
    steps.find((step) => step.status === "in_progress") ?? steps.find((step) => step.status === "pending");
  return (
    <section class="plan" aria-label={l10n.t("Plan")}>
      <Fold
        title={
          <>
            <span class="plan-count">{l10n.t("Plan {0}/{1}", done, steps.length)}</span> {current?.content}
          </>
        }
      >
        <ol>
          {steps.map((step, at) => (
            <Step key={at} step={step} number={at + 1} session={session} />
          ))}
        </ol>
      </Fold>
    </section>
  );
}

function Step({
  step,
  number,
  session,
}: {
  readonly step: PlanStep;
  readonly number: number;
  readonly session: Session;
}): JSX.Element {
  const panel = usePanel();
  const [words, say] = useState<string | undefined>(undefined);
  const send = (): void => {
    const blocks = [{ type: "text", text: aboutStep(number, step, words ?? "") }] as const;
    say(undefined);
    void panel.attempt(() => (session.running.value ? session.steer(blocks) : session.prompt(blocks)));
    panel.say(l10n.t("Sent to the agent."));
  };
  return (
    <li class={step.status}>
      <div class="plan-step">
        <span class="plan-mark" aria-hidden="true">
          {step.status === "completed" ? (
            <Icon name="check" />
          ) : step.status === "in_progress" ? (
            <Icon name="right" />
          ) : null}
        </span>
        <span class="plan-words" dir="auto">
          {step.content}
          <span class="hidden"> ({WORDS[step.status]})</span>
        </span>
        <IconButton
          icon="comment"
          label={l10n.t("Comment on step {0}", number)}
          pressed={words !== undefined}
          onClick={() => {
            say(words === undefined ? "" : undefined);
          }}
        />
      </div>
      {words !== undefined && (
        <form
          class="ask-words"
          onSubmit={(event) => {
            event.preventDefault();
            if (words.trim() !== "") {
              send();
            }
          }}
        >
          <textarea
            rows={1}
            dir="auto"
            aria-label={l10n.t("Comment on step {0}: {1}", number, step.content)}
            placeholder={l10n.t("What about this step?")}
            value={words}
            ref={focused}
            onInput={(event) => {
              say(event.currentTarget.value);
            }}
            onKeyDown={(event) => {
              keyInWords(event, () => {
                say(undefined);
              });
            }}
          />
          <button type="submit" class="button secondary" disabled={words.trim() === ""}>
            {l10n.t("Send to the agent")}
          </button>
        </form>
      )}
    </li>
  );
}
