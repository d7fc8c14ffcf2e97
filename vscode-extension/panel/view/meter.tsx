/** How much of the model's window is in use and what the session has cost; behind it, by what the window is filled. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Session } from "../app/session";
import { foremost, type Breakdown, type Part } from "../session/breakdown";
import { usePanel } from "./context";
import { usePopover } from "./popover";

const FULL = 0.8;
/** Parts that are listed before all are asked for. */
const FEW = 8;

export function Meter({ session }: { readonly session: Session }): JSX.Element | null {
  const { open, toggle, close, frame } = usePopover();
  const id = useId();
  const { usage } = session.transcript.value;
  if (usage === undefined || usage.size === 0) {
    return null;
  }
  const share = Math.min(1, usage.used / usage.size);
  const cost = usage.cost === undefined ? "" : money(usage.cost.amount, usage.cost.currency);
  const shown = `${Math.round(share * 100)}%${cost === "" ? "" : ` · ${cost}`}`;
  const words = l10n.t(
    "{0} of {1} tokens of the model's window are used",
    usage.used.toLocaleString(),
    usage.size.toLocaleString(),
  );
  const used = cost === "" ? `${words}.` : l10n.t("{0}; the session has cost {1}.", words, cost);
  return (
    <span class="meter-frame" {...frame}>
      <button
        type="button"
        class={`meter${share >= FULL ? " full" : ""}`}
        aria-label={l10n.t("{0}: {1}. Show by what", shown, words)}
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        title={share >= FULL ? l10n.t("{0} /compact makes room.", used) : used}
        onClick={toggle}
      >
        <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
          <circle cx="8" cy="8" r="6" fill="none" class="meter-all" stroke-width="2.5" />
          <circle
            cx="8"
            cy="8"
            r="6"
            fill="none"
            class="meter-used"
            stroke-width="2.5"
            stroke-dasharray={`${share * 37.7} 37.7`}
            transform="rotate(-90 8 8)"
          />
        </svg>
        <span class="meter-words">{shown}</span>
      </button>
      {open && <Parts id={id} session={session} close={close} />}
    </span>
  );
}

function Parts({
  id,
  session,
  close,
}: {
  readonly id: string;
  readonly session: Session;
  readonly close: () => void;
}): JSX.Element {
  const panel = usePanel();
  const [found, show] = useState<Breakdown | undefined>(undefined);
  const [all, showAll] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    frame.current?.focus();
    void panel.attempt(async () => {
      show(await session.breakdown());
    });
  }, [session]);
  const shown = found && (all ? found.parts : foremost(found.parts, FEW));
  return (
    <div
      class="breakdown"
      id={id}
      ref={frame}
      role="dialog"
      aria-label={l10n.t("What fills the model's window")}
      tabIndex={-1}
      aria-busy={found === undefined}
    >
      <h2>{l10n.t("What fills the model's window")}</h2>
      {found !== undefined && shown !== undefined && (
        <>
          <table>
            <thead>
              <tr>
                <th scope="col">{l10n.t("What")}</th>
                <th scope="col">{l10n.t("Tokens")}</th>
                <th scope="col">{l10n.t("Calls")}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((part) => (
                <Row key={part.name} part={part} of={found.used} />
              ))}
            </tbody>
          </table>
          {shown.length < found.parts.length && (
            <button
              type="button"
              class="link"
              onClick={() => {
                frame.current?.focus();
                showAll(true);
              }}
            >
              {l10n.t("Show all")}
            </button>
          )}
          <p>
            {l10n.t("{0} of {1} tokens.", found.used.toLocaleString(), found.window.toLocaleString())}{" "}
            {found.counted
              ? l10n.t("The model's server counted the whole; how it divides is estimated from the texts.")
              : l10n.t("Nobody has counted them yet: all this and how it divides is estimated from the texts.")}{" "}
            {l10n.t("Tools include their descriptions, which the model is told at every call.")}
          </p>
          <button
            type="button"
            class="button secondary"
            onClick={() => {
              close();
              void session.prompt([{ type: "text", text: "/compact" }]);
            }}
          >
            {l10n.t("Compact the conversation")}
          </button>
        </>
      )}
    </div>
  );
}

function Row({ part, of }: { readonly part: Part; readonly of: number }): JSX.Element {
  const about =
    part.described > 0
      ? l10n.t("{0} of it for what the model is told of its tools", part.described.toLocaleString())
      : undefined;
  return (
    <tr title={about}>
      <th scope="row" dir="auto">
        {part.name}
        <span class="bar" style={{ width: `${Math.min(100, (100 * part.tokens) / Math.max(1, of))}%` }} />
      </th>
      <td>{part.tokens.toLocaleString()}</td>
      <td>{part.calls === undefined ? "" : part.calls.toLocaleString()}</td>
    </tr>
  );
}

function money(amount: number, currency: string): string {
  const digits = amount < 1 ? 3 : 2;
  try {
    return new Intl.NumberFormat(undefined, { style: "currency", currency, maximumFractionDigits: digits }).format(
      amount,
    );
  } catch {
    return `${amount.toFixed(digits)} ${currency}`;
  }
}
