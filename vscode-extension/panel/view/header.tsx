/** The session's title, which leads to the list of sessions, and what can be done with the conversation as a whole. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { exported } from "../../src/protocol/session";
import type { Panel } from "../app/panel";
import type { Session } from "../app/session";
import { markdownOf } from "../session/export";
import { nameOf, visible } from "../session/visible";
import { usePanel } from "./context";
import { Icon, IconButton } from "./icons";
import { Menu } from "./menu";

const TITLES = {
  conversation: "",
  sessions: l10n.t("Sessions"),
  timeline: l10n.t("Timeline"),
  review: l10n.t("Review"),
  "sign-in": l10n.t("Choose a model"),
} as const;

export function Header(): JSX.Element {
  const panel = usePanel();
  const view = panel.view.value;
  const talks = view === "conversation";
  const session = panel.session.value;
  return (
    <header class="header">
      <button
        type="button"
        class="title"
        aria-expanded={view === "sessions"}
        title={talks ? l10n.t("All sessions") : l10n.t("Back to the conversation")}
        onClick={() => {
          panel.view.value = talks ? "sessions" : "conversation";
        }}
      >
        <Icon name={talks ? "list" : "back"} />
        <h1 dir="auto">{talks ? titleOf(panel, session) : TITLES[view]}</h1>
        {talks && <Root panel={panel} session={session} />}
      </button>
      {session !== undefined && talks && (
        <>
          <IconButton
            icon="find"
            label={l10n.t("Find in the conversation")}
            pressed={panel.finding.value !== undefined}
            onClick={() => {
              panel.finding.value = panel.finding.value === undefined ? { words: "", at: 0 } : undefined;
            }}
          />
          <IconButton
            icon="fold"
            label={l10n.t("Fold the agent's steps")}
            pressed={panel.condensed.value}
            onClick={() => {
              panel.condensed.value = !panel.condensed.value;
            }}
          />
          <IconButton
            icon="history"
            label={l10n.t("Timeline: go back to an earlier point")}
            onClick={() => {
              panel.view.value = "timeline";
            }}
          />
          <Menu
            icon="more"
            label={l10n.t("More")}
            entries={[
              {
                name: l10n.t("Copy the conversation as Markdown"),
                does: () => {
                  void copy(panel, session);
                },
              },
              {
                name: l10n.t("Export the conversation…"),
                does: () => {
                  void save(panel, session);
                },
              },
              {
                name: l10n.t("Review its changes"),
                does: () => {
                  panel.review();
                },
              },
              {
                name: l10n.t("New session in a worktree"),
                does: () => {
                  panel.begin(true);
                },
              },
            ]}
          />
        </>
      )}
      <IconButton
        icon="add"
        label={l10n.t("New session")}
        onClick={() => {
          panel.begin();
        }}
      />
    </header>
  );
}

/** In which folder the session works, where several are open. */
function Root({
  panel,
  session,
}: {
  readonly panel: Panel;
  readonly session: Session | undefined;
}): JSX.Element | null {
  const { roots } = panel.surroundings.value;
  const shown = session && (roots.find((root) => root.path === session.cwd)?.name ?? nameOf(session.cwd));
  return shown === undefined || roots.length < 2 ? null : <span class="root">{visible(shown)}</span>;
}

function titleOf(panel: Panel, session: Session | undefined): string {
  if (session === undefined) {
    return panel.next.apart.value ? l10n.t("New session in a worktree") : l10n.t("New session");
  }
  const listed = panel.sessions.known.value.find((each) => each.id === session.id);
  return session.transcript.value.title || listed?.title || l10n.t("Untitled session");
}

async function copy(panel: Panel, session: Session): Promise<void> {
  await panel.attempt(async () => {
    await session.whole();
    await navigator.clipboard.writeText(markdownOf(titleOf(panel, session), session.transcript.value.items));
    panel.say(l10n.t("Copied the conversation as Markdown."));
  });
}

/** All of it, as the daemon words it. */
async function save(panel: Panel, session: Session): Promise<void> {
  await panel.attempt(async () => {
    const words = exported(await panel.client.request("_sould/session/export", { sessionId: session.id }))?.text ?? "";
    const name = titleOf(panel, session).replace(/[^\p{L}\p{N}]+/gu, "-");
    await panel.link.saveFile(`${name.slice(0, 60)}.md`, words);
  });
}
