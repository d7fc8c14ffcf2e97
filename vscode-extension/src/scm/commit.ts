/**
 * Writes a commit message into the Source Control box: from what is staged, else from what the user has accepted, as the daemon words it.
 *
 * Nothing is committed or staged here.
 */
import * as vscode from "vscode";
import * as z from "zod";
import type { Daemon } from "../panel/router";
import { parse } from "../protocol/readers";
import { commitMessage } from "../protocol/session";

/** What of the git extension's API (version 1) is used. */
interface GitRepository {
  readonly rootUri: vscode.Uri;
  readonly inputBox: { value: string };
}

interface GitExtension {
  getAPI(version: 1): { readonly repositories: readonly GitRepository[] };
}

const listed = z.object({ sessions: z.array(z.object({ sessionId: z.string(), cwd: z.string() })) });
const opened = z.object({ sessionId: z.string() });

interface Known {
  readonly id: string;
  readonly cwd: string;
}

export class Committer {
  readonly #daemon: Daemon;
  /** The session that the user looked at last. */
  readonly #current: () => Known | undefined;
  /** The last message: as long as it stands alone, untouched, the next one takes its place. */
  #written = "";

  constructor(daemon: Daemon, current: () => Known | undefined) {
    this.#daemon = daemon;
    this.#current = current;
  }

  /** `given`: the source control whose title was clicked on. Raises what to say when there is nothing to write about. */
  async write(given: unknown): Promise<void> {
    const repository = await repositoryOf(given);
    const location = vscode.ProgressLocation.SourceControl;
    const asking = (): Promise<string> => this.#ask(repository.rootUri.fsPath);
    const message = await vscode.window.withProgress(
      { location, title: vscode.l10n.t("Writing a commit message") },
      asking,
    );
    // Read only now: what its user typed meanwhile stays, too.
    const { value } = repository.inputBox;
    const isTheirs = value.trim() !== "" && value !== this.#written;
    this.#written = message;
    repository.inputBox.value = isTheirs ? `${message.trimEnd()}\n\n${value}` : message;
  }

  async #ask(root: string): Promise<string> {
    await this.#daemon.connect();
    const known = await this.#session(root);
    const sessionId =
      known?.id ?? opened.parse(await this.#daemon.request("session/new", { cwd: root, mcpServers: [] })).sessionId;
    try {
      return parse(commitMessage, await this.#daemon.request("_sould/session/commit_message", { sessionId })).message;
    } finally {
      if (known === undefined) {
        // It held nothing but the question.
        await this.#daemon.request("session/delete", { sessionId }).catch(() => undefined);
      }
    }
  }

  /** The one whose edits are to be committed: that before the user, or the latest. Open in this window. */
  async #session(root: string): Promise<Known | undefined> {
    const current = this.#current();
    if (current !== undefined && isWithin(current.cwd, root)) {
      return current;
    }
    // Edits of a script's run are committed, too.
    const params = { cwd: root, _meta: { sould: { origin: "any" } } };
    const { sessions } = listed.parse(await this.#daemon.request("session/list", params));
    const [latest] = sessions;
    if (latest === undefined) {
      return undefined;
    }
    // It is not closed again: that would end a turn which nobody else shows.
    await this.#daemon.request("session/resume", { sessionId: latest.sessionId, cwd: latest.cwd, mcpServers: [] });
    return { id: latest.sessionId, cwd: latest.cwd };
  }
}

async function repositoryOf(given: unknown): Promise<GitRepository> {
  const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
  const api = (await extension?.activate())?.getAPI(1);
  const repositories = api?.repositories ?? [];
  const root = rootOf(given) ?? vscode.window.activeTextEditor?.document.uri.fsPath ?? "";
  const holding = repositories.filter((each) => isWithin(root, each.rootUri.fsPath));
  const found = holding.sort((a, b) => b.rootUri.fsPath.length - a.rootUri.fsPath.length)[0] ?? repositories[0];
  if (found === undefined) {
    throw new Error(vscode.l10n.t("There is no git repository in this window."));
  }
  return found;
}

function rootOf(given: unknown): string | undefined {
  return typeof given === "object" && given !== null && "rootUri" in given && given.rootUri instanceof vscode.Uri
    ? given.rootUri.fsPath
    : undefined;
}

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}/`);
}
