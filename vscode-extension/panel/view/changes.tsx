/** The session's edits that are to be reviewed, in one line above the composer: by file when it is opened; all kept or rejected at once. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { Session } from "../app/session";
import { countOf, titleOf, type PendingFile } from "../session/review";
import { visible } from "../session/visible";
import { usePanel } from "./context";
import { Fold } from "./fold";
import { IconButton } from "./icons";

export function Changes({ session }: { readonly session: Session }): JSX.Element | null {
  const panel = usePanel();
  const last = useRef("");
  const files = session.edits.pending.value ?? [];
  const show = (file: PendingFile): void => {
    last.current = file.path;
    panel.showChange(file);
  };
  if (files.length === 0) {
    return null;
  }
  const decide = (verdict: "keep" | "reject"): void => {
    void panel.decide(session, verdict);
  };
  const next = files[(files.findIndex((file) => file.path === last.current) + 1) % files.length];
  return (
    <section class="changes" aria-label={l10n.t("Changes to review")}>
      <Fold
        title={
          <>
            {files.length === 1 ? l10n.t("1 file") : l10n.t("{0} files", files.length)} <Count files={files} />
          </>
        }
        beside={
          <span class="changes-do">
            {next !== undefined && (
              <IconButton
                icon="down"
                label={l10n.t("Next file")}
                onClick={() => {
                  show(next);
                }}
              />
            )}
            <button
              type="button"
              class="link"
              onClick={() => {
                decide("keep");
              }}
            >
              {l10n.t("Keep All")}
            </button>
            <button
              type="button"
              class="link"
              onClick={() => {
                decide("reject");
              }}
            >
              {l10n.t("Reject All")}
            </button>
          </span>
        }
      >
        <ul>
          {files.map((file) => (
            <li key={file.path}>
              <button
                type="button"
                class="link"
                title={visible(file.path)}
                onClick={() => {
                  show(file);
                }}
              >
                {titleOf(file, session.cwd)}
              </button>
              <Count files={[file]} />
            </li>
          ))}
        </ul>
      </Fold>
    </section>
  );
}

function Count({ files }: { readonly files: readonly PendingFile[] }): JSX.Element {
  const { added, removed } = countOf(files.flatMap((file) => file.hunks));
  return (
    <span class="diff-count">
      <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
    </span>
  );
}
