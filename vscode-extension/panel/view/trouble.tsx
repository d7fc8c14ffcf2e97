/** What went wrong with a prompt, and what the user can do about it. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { draftOf } from "../app/drafts";
import type { Session, Trouble as Said } from "../app/session";
import { usePanel } from "./context";

export function Trouble({ session, trouble }: { readonly session: Session; readonly trouble: Said }): JSX.Element {
  const panel = usePanel();
  // The end of a turn with an error is part of the conversation, too.
  const told = session.transcript.value.items.some((item) => item.kind === "notice" && item.title === trouble.message);
  return (
    <div class="trouble" role="alert">
      <p>{told ? l10n.t("The turn ended with this error.") : trouble.message}</p>
      <div class="actions">
        {trouble.signIn ? (
          <button
            type="button"
            class="button"
            onClick={() => {
              panel.view.value = "sign-in";
            }}
          >
            {l10n.t("Sign in…")}
          </button>
        ) : (
          <button
            type="button"
            class="button"
            onClick={() => {
              void session.prompt(trouble.blocks);
            }}
          >
            {l10n.t("Send again")}
          </button>
        )}
        <button
          type="button"
          class="button secondary"
          onClick={() => {
            panel.offer(draftOf(trouble.blocks));
            session.forget();
          }}
        >
          {l10n.t("Edit")}
        </button>
        <button
          type="button"
          class="button secondary"
          onClick={() => {
            session.forget();
          }}
        >
          {l10n.t("Dismiss")}
        </button>
      </div>
    </div>
  );
}
