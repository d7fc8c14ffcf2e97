/** That the connection is lost, or that something could not be done. One line, with what to do next. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { usePanel } from "./context";
import { IconButton } from "./icons";

export function Banner(): JSX.Element | null {
  const panel = usePanel();
  const { state, problem } = panel.connection.value;
  if (state === "missing") {
    return (
      <div class="banner error" role="alert">
        <span>{problem}</span>
        <Install />
      </div>
    );
  }
  if (state === "waiting") {
    return (
      <div class="banner" role="status">
        <span>{l10n.t("Reconnecting to sould… {0}", problem)}</span>
      </div>
    );
  }
  const words = panel.problem.value;
  if (words === "") {
    return null;
  }
  return (
    <div class="banner error" role="alert">
      <span>{words}</span>
      {state !== "connected" && (
        <button
          type="button"
          class="button secondary"
          onClick={() => {
            void panel.start();
          }}
        >
          {l10n.t("Try again")}
        </button>
      )}
      <IconButton
        icon="close"
        label={l10n.t("Dismiss")}
        onClick={() => {
          panel.dismissProblem();
        }}
      />
    </div>
  );
}

/** Stays until sould is there; the editor says what stood in its way. */
function Install(): JSX.Element {
  const panel = usePanel();
  const [busy, setBusy] = useState(false);
  const install = async (): Promise<void> => {
    setBusy(true);
    await panel.attempt(async () => {
      await panel.client.request("_panel/install", {});
    });
    setBusy(false);
  };
  return (
    <button type="button" class="button" disabled={busy} onClick={() => void install()}>
      {busy ? l10n.t("Installing…") : l10n.t("Install")}
    </button>
  );
}
