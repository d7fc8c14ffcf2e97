/** That the connection is lost, or that something could not be done. One line, with what to do next. */
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
        <span>Reconnecting to sould… {problem}</span>
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
          Try again
        </button>
      )}
      <IconButton
        icon="close"
        label="Dismiss"
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
      {busy ? "Installing…" : "Install"}
    </button>
  );
}
