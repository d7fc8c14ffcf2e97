/**
 * The panel's page, from top to bottom. Which component does what:
 *
 * - `header`, `banner`: title and what can be done with the whole; what is wrong
 * - `transcript` (rows, scrolling) over `message` (what was said), `tool` (calls, terminals, diffs), `trouble` (a prompt that failed)
 * - `ask` and `form`: what waits for the user; `plan`, `tasks`, `queue`, `changes`
 * - `composer` over `completion`, `images`, `pickers` (options), `meter` (usage)
 * - `sessions`, `timeline`, `review`, `signin`: shown in place of the conversation; `find` above it
 * - used by all: `context` (the panel), `fold`, `menu`, `icons`, `keys`, `popover`, `memo`, `virtual`, `markdown` (with `languages`; read by `later`)
 */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Panel } from "../app/panel";
import { wordsOf } from "../session/queue";
import { Asks } from "./ask";
import { Banner } from "./banner";
import { Changes } from "./changes";
import { Composer } from "./composer";
import { PanelContext } from "./context";
import { filled } from "./filled";
import { Find } from "./find";
import { Header } from "./header";
import { Plan } from "./plan";
import { Queue } from "./queue";
import { Review } from "./review";
import { SessionList } from "./sessions";
import { SignIn } from "./signin";
import { Tasks } from "./tasks";
import { Timeline } from "./timeline";
import { Transcript } from "./transcript";

export function App({ panel }: { readonly panel: Panel }): JSX.Element {
  const view = panel.view.value;
  return (
    <PanelContext.Provider value={panel}>
      <div
        class={panel.surroundings.value.canInsert ? "panel can-insert" : "panel"}
        onClick={(event) => {
          clicked(panel, event);
        }}
      >
        <Header />
        <Banner />
        {view === "sessions" && <SessionList />}
        {view === "sign-in" && <SignIn />}
        {view === "timeline" && panel.session.value !== undefined && <Timeline session={panel.session.value} />}
        {view === "review" && panel.session.value !== undefined && <Review session={panel.session.value} />}
        {view === "conversation" && <Conversation panel={panel} />}
        <Announcements panel={panel} />
      </div>
    </PanelContext.Provider>
  );
}

function Conversation({ panel }: { readonly panel: Panel }): JSX.Element {
  const session = panel.session.value;
  return (
    <main
      class="conversation"
      onKeyDown={(event) => {
        if (event.key === "f" && (event.ctrlKey || event.metaKey) && session !== undefined) {
          event.preventDefault();
          panel.finding.value = { words: panel.finding.value?.words ?? "", at: 0 };
        }
      }}
    >
      {session !== undefined && <Find session={session} />}
      {session === undefined ? <Welcome panel={panel} /> : <Transcript key={session.id} session={session} />}
      <Asks />
      {session !== undefined && <Plan session={session} />}
      {session !== undefined && <Tasks session={session} />}
      {session !== undefined && <Queue session={session} />}
      {session !== undefined && <Changes session={session} />}
      <Composer session={session} />
    </main>
  );
}

function Welcome({ panel }: { readonly panel: Panel }): JSX.Element {
  const root = panel.next.root.value;
  const recent = panel.sessions.known.value.filter((known) => known.cwd === root?.path && !known.archived).slice(0, 3);
  return (
    <div class="welcome">
      <p>
        {root === undefined
          ? panel.connection.value.state === "connected" && l10n.t("Open a folder to work in.")
          : filled(
              l10n.t("Ask about {0}, or describe a change. What the agent edits, you review hunk by hunk."),
              <strong>{root.name}</strong>,
            )}
      </p>
      {recent.length > 0 && (
        <section aria-label={l10n.t("Recent sessions")}>
          <h2>{l10n.t("Go on with")}</h2>
          <ul>
            {recent.map((known) => (
              <li key={known.id}>
                <button
                  type="button"
                  class="link"
                  dir="auto"
                  onClick={() => {
                    void panel.show(known.id, known.cwd);
                  }}
                >
                  {known.title || l10n.t("Untitled session")}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

/** What screen readers say: an answer when it is whole, and a question at once. */
function Announcements({ panel }: { readonly panel: Panel }): JSX.Element {
  const session = panel.session.value;
  const running = session?.running.value ?? false;
  const before = useRef(false);
  useEffect(() => {
    const ended = before.current && !running;
    before.current = running;
    const last = session?.transcript.peek().items.findLast((item) => item.kind === "agent");
    if (ended && last?.kind === "agent") {
      panel.say(wordsOf(last.blocks));
    }
  }, [running]);
  const [ask] = panel.asks.value;
  const asked =
    ask === undefined
      ? ""
      : ask.asked.type === "permission"
        ? l10n.t("Permission needed: {0}", ask.asked.call.title ?? "")
        : l10n.t("The agent asks a question.");
  return (
    <>
      <div class="hidden" aria-live="polite">
        {panel.said.value}
      </div>
      <div class="hidden" aria-live="assertive">
        {asked}
      </div>
    </>
  );
}

/** Buttons and links within Markdown, which is no component. */
function clicked(panel: Panel, event: MouseEvent): void {
  const target = event.target instanceof Element ? event.target : undefined;
  const file = target?.closest("[data-file]")?.getAttribute("data-file");
  if (file !== null && file !== undefined) {
    event.preventDefault();
    const [, path = "", line] = /^(.*?)(?:(?::|#L)(\d+).*)?$/.exec(file) ?? [];
    const root = panel.session.value?.cwd ?? "";
    panel.link.openFile({
      path: path.startsWith("/") ? path : `${root}/${path}`,
      ...(line !== undefined && { line: Number(line) }),
    });
  }
  const button = target?.closest("[data-do]");
  const does = button?.getAttribute("data-do");
  const code = button?.closest(".code")?.querySelector("code")?.textContent ?? "";
  if (does === "copy") {
    void navigator.clipboard.writeText(code).then(() => {
      panel.say(l10n.t("Copied."));
    });
  } else if (does === "insert" || does === "apply") {
    // At the cursor; or in place of what is selected, as an edit that is reviewed.
    const sessionId = panel.session.value?.id ?? "";
    void panel.attempt(async () => {
      await panel.client.request(`_panel/${does}`, { text: code, sessionId });
    });
  }
}
