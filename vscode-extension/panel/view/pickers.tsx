/** The session's options, as the agent offers them: mode, model, thought level and whatever else it has. */
import type { JSX } from "preact";
import type { Session } from "../app/session";
import { usePanel } from "./context";

export function Pickers({ session }: { readonly session: Session }): JSX.Element {
  const panel = usePanel();
  return (
    <span class="pickers">
      {session.transcript.value.options.filter((option) => option.choices.length > 0).map((option) => {
        const chosen = option.choices.find((choice) => choice.value === option.value);
        return (
          <select key={option.id} aria-label={option.name} title={`${option.name}: ${chosen?.name ?? option.value}${chosen?.description ? `. ${chosen.description}` : ""}`}
            value={option.value} disabled={option.choices.length < 2}
            onChange={(event) => { const { value } = event.currentTarget; void panel.attempt(() => session.choose(option.id, value)); }}>
            {option.choices.map((choice) => <option key={choice.value} value={choice.value} title={choice.description}>{choice.name}</option>)}
          </select>
        );
      })}
    </span>
  );
}
