/** The session's title, which leads to the list of sessions, and what can be done with the conversation as a whole. */
import type { JSX } from "preact";
import { usePanel } from "./context";
import { Icon, IconButton } from "./icons";

export function Header(): JSX.Element {
  const panel = usePanel();
  const session = panel.session.value;
  const listed = panel.sessions.known.value.find((each) => each.id === session?.id);
  const title = session?.transcript.value.title || listed?.title || (session === undefined ? "New session" : "Untitled session");
  const inList = panel.view.value === "sessions";
  return (
    <header class="header">
      <button type="button" class="title" aria-expanded={inList} title="All sessions" onClick={() => { panel.view.value = inList ? "conversation" : "sessions"; }}>
        <Icon name={inList ? "back" : "list"} /><h1 dir="auto">{inList ? "Sessions" : title}</h1>
      </button>
      {session !== undefined && !inList && (
        <IconButton icon="fold" label="Fold the agent's steps" pressed={panel.condensed.value} onClick={() => { panel.condensed.value = !panel.condensed.value; }} />
      )}
      <IconButton icon="add" label="New session" onClick={() => { panel.begin(); }} />
    </header>
  );
}
