/** The turns of a session as places to go back to, the newest first: what was said, what was done, which files changed. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Session } from "../app/session";
import type { ShownMoment, ShownTimeline } from "../../src/protocol/session";
import { nameOf } from "../session/visible";
import { usePanel } from "./context";

export function Timeline({ session }: { readonly session: Session }): JSX.Element {
  const panel = usePanel();
  const [turns, setTurns] = useState<ShownTimeline | undefined>(undefined);
  const [said, say] = useState("");
  const look = (): Promise<boolean> =>
    panel.attempt(async () => {
      setTurns(await session.timeline());
    });
  useEffect(() => {
    void look();
  }, [session]);
  const travel = (how: "rewind" | "undo" | "redo", checkpoint?: number): void => {
    void panel
      .attempt(async () => {
        say((await session.travel(how, checkpoint)).said);
      })
      .then(look);
  };
  const moments = turns?.moments.toReversed() ?? [];
  return (
    <main class="timeline">
      <p class="about">
        {l10n.t(
          "The conversation goes back, and with it the files that the agent changed. What you typed and what you kept stays.",
        )}
      </p>
      <div class="actions">
        <button
          type="button"
          class="button"
          disabled={turns?.canUndo !== true}
          onClick={() => {
            travel("undo");
          }}
        >
          {l10n.t("Take back the last turn")}
        </button>
        <button
          type="button"
          class="button secondary"
          disabled={turns?.canRedo !== true}
          onClick={() => {
            travel("redo");
          }}
        >
          {l10n.t("Redo")}
        </button>
      </div>
      <p class="said" role="status">
        {said}
      </p>
      {turns !== undefined && moments.length === 0 && (
        <p class="nothing">{l10n.t("Nothing has happened in this session yet.")}</p>
      )}
      <ol>
        {moments.map((moment, at) => (
          <Place
            key={`${moment.checkpoint}:${at}`}
            moment={moment}
            onGo={() => {
              travel("rewind", moment.checkpoint);
            }}
          />
        ))}
      </ol>
    </main>
  );
}

function Place({ moment, onGo }: { readonly moment: ShownMoment; readonly onGo: () => void }): JSX.Element {
  const files = moment.files.map(nameOf).join(", ");
  return (
    <li>
      <span class="place-words" dir="auto">
        {moment.text || moment.kind}
      </span>
      {moment.did.length > 0 && (
        <span class="place-about">
          {moment.did.slice(0, 3).join(" · ")}
          {moment.did.length > 3 ? ` · ${l10n.t("{0} more", moment.did.length - 3)}` : ""}
        </span>
      )}
      {files !== "" && <span class="place-about">{l10n.t("Changed: {0}", files)}</span>}
      {moment.kind === "turn" && moment.reachable && (
        <button
          type="button"
          class="button secondary"
          aria-label={l10n.t("Go back to before this: {0}", moment.text)}
          onClick={onGo}
        >
          {l10n.t("Go back to before this")}
        </button>
      )}
    </li>
  );
}
