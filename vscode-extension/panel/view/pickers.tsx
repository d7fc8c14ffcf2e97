/** The session's options, as the agent offers them: mode, model and thought level, and behind a button whatever else it has. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Session } from "../app/session";
import type { Option } from "../session/updates";
import { visible } from "../session/visible";
import { usePanel } from "./context";
import { IconButton } from "./icons";

const AGENT = "_agent";
/** What is changed often; the others are shown when they are not what they are at first. */
const OFTEN = new Set(["mode", "model", "thought_level"]);

/** `begins`: nothing was said yet, which is when an agent is chosen. */
export function Pickers({ session, begins }: { readonly session: Session; readonly begins: boolean }): JSX.Element {
  const [all, showAll] = useState(false);
  const options = session.transcript.value.options.filter((option) => option.choices.length > 0);
  const shown = options.filter(
    (option) =>
      all ||
      OFTEN.has(option.category) ||
      (begins && option.category === AGENT) ||
      option.value !== option.choices[0]?.value,
  );
  return (
    <span class="pickers">
      {shown.map((option) => (
        <Picker key={option.id} option={option} session={session} />
      ))}
      {shown.length < options.length && (
        <IconButton
          icon="more"
          label={l10n.t("More options")}
          onClick={() => {
            showAll(true);
          }}
        />
      )}
    </span>
  );
}

function Picker({ option, session }: { readonly option: Option; readonly session: Session }): JSX.Element {
  const panel = usePanel();
  const chosen = option.choices.find((choice) => choice.value === option.value);
  const about = chosen?.description === undefined || chosen.description === "" ? "" : `. ${chosen.description}`;
  return (
    <select
      aria-label={option.name}
      title={`${option.name}: ${chosen?.name ?? option.value}${about}`}
      value={option.value}
      disabled={option.choices.length < 2}
      onChange={(event) => {
        const { value } = event.currentTarget;
        void panel.attempt(() => session.choose(option.id, value));
      }}
    >
      {option.choices.map((choice) => (
        <option key={choice.value} value={choice.value} title={choice.description}>
          {choice.name}
        </option>
      ))}
    </select>
  );
}

/** Where the session begins, where there are several folders. */
export function Folder(): JSX.Element | null {
  const panel = usePanel();
  const { roots } = panel.surroundings.value;
  if (roots.length < 2) {
    return null;
  }
  return (
    <select
      aria-label={l10n.t("Folder")}
      title={panel.next.root.value?.path ?? ""}
      value={panel.next.root.value?.path ?? ""}
      onChange={(event) => {
        void panel.workIn(event.currentTarget.value);
      }}
    >
      {roots.map(({ path, name }) => (
        <option key={path} value={path}>
          {visible(name)}
        </option>
      ))}
    </select>
  );
}
