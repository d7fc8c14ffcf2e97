/** All sessions: this project's first, then the others'. Search, rename, archive, fork, delete. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Known } from "../app/sessions";
import { usePanel } from "./context";
import { Icon, IconButton } from "./icons";
import { keyInWords } from "./keys";

export function SessionList(): JSX.Element {
  const panel = usePanel();
  const [typed, setTyped] = useState("");
  const [archived, showArchived] = useState(false);
  useEffect(() => {
    void panel.attempt(() => panel.sessions.refresh());
  }, []);
  const words = typed.toLowerCase().split(/\s+/);
  const fits = (known: Known): boolean =>
    words.every((word) => `${known.title} ${known.cwd} ${known.branch}`.toLowerCase().includes(word));
  const all = panel.sessions.known.value.filter((known) => fits(known) && (archived || !known.archived));
  const here = panel.surroundings.value.roots.map((root) => root.path);
  const isHere = (known: Known): boolean => here.includes(known.cwd) || here.includes(known.repository);
  const groups: readonly (readonly [string, readonly Known[]])[] = [
    [THIS_PROJECT, all.filter(isHere)],
    [l10n.t("Other projects"), all.filter((known) => !isHere(known))],
  ];
  return (
    <main class="sessions">
      <div class="sessions-bar">
        <input
          type="search"
          placeholder={l10n.t("Search titles, folders and branches")}
          aria-label={l10n.t("Search sessions")}
          value={typed}
          ref={(field) => {
            if (document.activeElement === document.body) {
              field?.focus();
            }
          }}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
          }}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={archived}
            onChange={(event) => {
              showArchived(event.currentTarget.checked);
            }}
          />
          {l10n.t("Archived")}
        </label>
      </div>
      {all.length === 0 && (
        <p class="nothing">
          {typed === ""
            ? l10n.t("No sessions yet. Ask something to begin one.")
            : l10n.t("No session has these words in its title, folder or branch.")}
        </p>
      )}
      {groups
        .filter(([, known]) => known.length > 0)
        .map(([name, known]) => (
          <section key={name} aria-label={name}>
            <h2>{name}</h2>
            <ul>
              {known.map((each) => (
                <SessionRow key={each.id} known={each} elsewhere={name !== THIS_PROJECT} />
              ))}
            </ul>
          </section>
        ))}
    </main>
  );
}

const THIS_PROJECT = l10n.t("This project");

function SessionRow({ known, elsewhere }: { readonly known: Known; readonly elsewhere: boolean }): JSX.Element {
  const panel = usePanel();
  const [renamed, rename] = useState<string | undefined>(undefined);
  const [sure, ask] = useState(false);
  const does = (work: () => Promise<void>): void => {
    void panel.attempt(work);
  };
  const name = known.title || l10n.t("Untitled session");
  const current = panel.session.value?.id === known.id;
  if (renamed !== undefined) {
    const save = (): void => {
      if (renamed.trim() !== "") {
        does(() => panel.sessions.rename(known, renamed.trim()));
        rename(undefined);
      }
    };
    return (
      <li>
        <form
          class="rename-form"
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <input
            class="rename"
            aria-label={l10n.t("New title of {0}", name)}
            value={renamed}
            ref={(field) => {
              field?.focus();
            }}
            onInput={(event) => {
              rename(event.currentTarget.value);
            }}
            onBlur={() => {
              rename(undefined);
            }}
            onKeyDown={(event) => {
              keyInWords(event, () => {
                rename(undefined);
              });
            }}
          />
        </form>
      </li>
    );
  }
  return (
    <li class={current ? "current" : ""}>
      <button
        type="button"
        class="session"
        aria-current={current}
        onClick={() => {
          void panel.show(known.id, known.cwd);
        }}
      >
        <span class="session-title" dir="auto">
          {known.archived ? l10n.t("{0} (archived)", name) : name}
        </span>
        <span class="session-about">{aboutOf(known, panel.sessions.running.value.has(known.id), elsewhere)}</span>
      </button>
      <span class="session-does">
        <IconButton
          icon="edit"
          label={l10n.t("Rename {0}", name)}
          onClick={() => {
            rename(known.title);
          }}
        />
        <IconButton
          icon="fork"
          label={l10n.t("Fork {0}: a new session that begins with what it said", name)}
          onClick={() => {
            does(async () => {
              await panel.show(await panel.sessions.fork(known), known.cwd);
            });
          }}
        />
        <IconButton
          icon="archive"
          label={known.archived ? l10n.t("Bring {0} back", name) : l10n.t("Archive {0}", name)}
          onClick={() => {
            does(() => panel.sessions.archive(known, !known.archived));
          }}
        />
        {sure ? (
          <button
            type="button"
            class="button danger"
            onBlur={() => {
              ask(false);
            }}
            ref={(button) => {
              button?.focus();
            }}
            onClick={() => {
              does(async () => {
                await panel.sessions.remove(known);
                if (current) {
                  panel.begin();
                }
              });
            }}
          >
            {l10n.t("Delete")}
          </button>
        ) : (
          <IconButton
            icon="trash"
            label={l10n.t("Delete {0}", name)}
            onClick={() => {
              ask(true);
            }}
          />
        )}
      </span>
    </li>
  );
}

/** What stands below its title. */
function aboutOf(known: Known, running: boolean, elsewhere: boolean): JSX.Element {
  return (
    <>
      {running ? `${l10n.t("running")} · ` : ""}
      {ago(known.updated)}
      {known.branch !== "" && (
        <>
          {" "}
          · <Icon name="branch" />
          <span class="hidden">{l10n.t("branch")} </span>
          <bdi>{known.branch}</bdi>
        </>
      )}
      {elsewhere ? ` · ${known.cwd}` : ""}
    </>
  );
}

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

function ago(when: string): string {
  const seconds = (Date.now() - Date.parse(when)) / 1000;
  const [unit, length] = UNITS.find(([, each]) => seconds >= each) ?? ["minute", 60];
  return Number.isNaN(seconds)
    ? ""
    : new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(-Math.floor(seconds / length), unit);
}
