/** How much of the model's window is in use, and what the session has cost. */
import type { JSX } from "preact";
import type { Usage } from "../session/updates";

const FULL = 0.8;

export function Meter({ usage }: { readonly usage: Usage | undefined }): JSX.Element | null {
  if (usage === undefined || usage.size === 0) {
    return null;
  }
  const share = Math.min(1, usage.used / usage.size);
  const cost = usage.cost === undefined ? "" : money(usage.cost.amount, usage.cost.currency);
  const words = `${usage.used.toLocaleString()} of ${usage.size.toLocaleString()} tokens of the model's window are used${cost === "" ? "" : `; the session has cost ${cost}`}`;
  return (
    <span class={`meter${share >= FULL ? " full" : ""}`} role="img" aria-label={words} title={`${words}.${share >= FULL ? " /compact makes room." : ""}`}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        <circle cx="8" cy="8" r="6" fill="none" class="meter-all" stroke-width="2.5" />
        <circle cx="8" cy="8" r="6" fill="none" class="meter-used" stroke-width="2.5" stroke-dasharray={`${share * 37.7} 37.7`} transform="rotate(-90 8 8)" />
      </svg>
      <span class="meter-words">{Math.round(share * 100)}%{cost === "" ? "" : ` · ${cost}`}</span>
    </span>
  );
}

function money(amount: number, currency: string): string {
  const digits = amount < 1 ? 3 : 2;
  try {
    return new Intl.NumberFormat(undefined, { style: "currency", currency, maximumFractionDigits: digits }).format(amount);
  } catch {
    return `${amount.toFixed(digits)} ${currency}`;
  }
}
