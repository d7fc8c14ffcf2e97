/** Finds words in the conversation, also in what is folded or far above. Enter goes on, Shift+Enter back, Escape ends it. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Session } from "../app/session";
import { usePanel } from "./context";
import { IconButton } from "./icons";

export function Find({ session }: { readonly session: Session }): JSX.Element | null {
  const panel = usePanel();
  const field = useRef<HTMLInputElement>(null);
  const finding = panel.finding.value;
  const open = finding !== undefined;
  // Before the next key: what is typed at once belongs here.
  useLayoutEffect(() => {
    if (open) {
      field.current?.focus();
    }
  }, [open]);
  useEffect(() => {
    if (open) {
      void panel.attempt(() => session.whole());
    }
  }, [open, session]);
  if (finding === undefined) {
    return null;
  }
  const count = panel.found.value;
  const go = (by: number): void => {
    if (count > 0) {
      panel.finding.value = { ...finding, at: (finding.at + by + count) % count };
    }
  };
  const close = (): void => {
    panel.finding.value = undefined;
    document.querySelector<HTMLElement>(".composer textarea")?.focus();
  };
  const words =
    finding.words.trim() === ""
      ? ""
      : count === 0
        ? l10n.t("Nothing found")
        : l10n.t("{0} of {1}", finding.at + 1, count);
  return (
    <div class="find" role="search">
      <input
        ref={field}
        type="search"
        aria-label={l10n.t("Find in the conversation")}
        placeholder={l10n.t("Find")}
        value={finding.words}
        onInput={(event) => {
          panel.finding.value = { words: event.currentTarget.value, at: 0 };
        }}
        onKeyDown={(event) => {
          if (event.isComposing) {
            return;
          }
          if (event.key === "Enter") {
            event.preventDefault();
            go(event.shiftKey ? -1 : 1);
          } else if (event.key === "Escape") {
            event.preventDefault();
            close();
          }
        }}
      />
      <span class="find-count" role="status">
        {words}
      </span>
      <IconButton
        icon="up"
        label={l10n.t("Previous")}
        disabled={count === 0}
        onClick={() => {
          go(-1);
        }}
      />
      <IconButton
        icon="down"
        label={l10n.t("Next")}
        disabled={count === 0}
        onClick={() => {
          go(1);
        }}
      />
      <IconButton icon="close" label={l10n.t("Close")} onClick={close} />
    </div>
  );
}
