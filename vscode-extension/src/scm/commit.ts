/**
 * Writes a commit message into the Source Control box, from what is staged; else from what the user has kept.
 *
 * What is pending is no part of it: of a file under review the text counts that the user accepted. Nothing is committed or staged here.
 */
import * as vscode from "vscode";
import type { Places } from "../editor/places";
import type { Review } from "../editor/review";
import type { Asides } from "../panel/aside";
import type { ReviewModel } from "../review/model";
import { askingFor, patchOf, readMessage, tellable, type Changed } from "./message";

/** What of the git extension's API (version 1) is used. */
interface GitRepository {
  readonly rootUri: vscode.Uri;
  readonly inputBox: { value: string };
  readonly state: {
    readonly indexChanges: readonly unknown[];
    readonly workingTreeChanges: readonly { readonly uri: vscode.Uri }[];
    readonly untrackedChanges?: readonly { readonly uri: vscode.Uri }[];
  };
  diff(cached?: boolean): Promise<string>;
  show(ref: string, path: string): Promise<string>;
  log(options: { maxEntries: number }): Promise<readonly { readonly message: string }[]>;
}

interface GitExtension {
  getAPI(version: 1): { readonly repositories: readonly GitRepository[] };
}

const MOST_FILES = 200;
const MOST_SUBJECTS = 8;

export class Committer {
  readonly #asides: Asides;
  readonly #review: Review;
  readonly #model: ReviewModel;
  readonly #places: Places;

  constructor(asides: Asides, review: Review, model: ReviewModel, places: Places) {
    this.#asides = asides;
    this.#review = review;
    this.#model = model;
    this.#places = places;
  }

  /** `given`: the source control whose title was clicked on. Raises what to say when there is nothing to write about. */
  async write(given: unknown): Promise<void> {
    const repository = await repositoryOf(given);
    const location = vscode.ProgressLocation.SourceControl;
    const message = await vscode.window.withProgress({ location, title: "Writing a commit message" }, () => this.#ask(repository));
    repository.inputBox.value = message;
  }

  async #ask(repository: GitRepository): Promise<string> {
    const staged = repository.state.indexChanges.length > 0;
    const patch = staged ? tellable(await repository.diff(true)) : patchOf(await this.#kept(repository));
    if (patch.trim() === "") {
      throw new Error("There is nothing to write about: nothing is staged, and no change is kept.");
    }
    const commits = await repository.log({ maxEntries: MOST_SUBJECTS }).catch(() => []);
    const subjects = commits.map((each) => each.message.split("\n")[0] ?? "");
    const answer = await this.#asides.ask(repository.rootUri.fsPath, askingFor(patch, subjects));
    const message = readMessage(answer);
    if (message === undefined) {
      throw new Error(answer.trim() || "The model answered nothing.");
    }
    return message;
  }

  async #kept(repository: GitRepository): Promise<Changed[]> {
    const { workingTreeChanges, untrackedChanges = [] } = repository.state;
    const uris = [...workingTreeChanges, ...untrackedChanges].map((each) => each.uri).slice(0, MOST_FILES);
    return await Promise.all(uris.map((uri) => this.#changed(repository, uri)));
  }

  async #changed(repository: GitRepository, uri: vscode.Uri): Promise<Changed> {
    const before = await repository.show("HEAD", uri.fsPath).catch(() => undefined);
    const path = uri.fsPath.slice(repository.rootUri.fsPath.length + 1);
    const file = this.#places.pathOf(uri);
    if (file !== undefined && this.#model.file(file) !== undefined) {
      return { path, before, after: (await this.#review.base(file)) ?? undefined };
    }
    return { path, before, after: await textOf(uri) };
  }
}

/** What is saved: only that would be committed. */
async function textOf(uri: vscode.Uri): Promise<string | undefined> {
  try {
    const bytes = await vscode.workspace.fs.readFile(uri);
    return bytes.includes(0) ? "(a file that is no text)" : new TextDecoder().decode(bytes);
  } catch {
    return undefined;
  }
}

async function repositoryOf(given: unknown): Promise<GitRepository> {
  const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
  const api = (await extension?.activate())?.getAPI(1);
  const repositories = api?.repositories ?? [];
  const root = rootOf(given) ?? vscode.window.activeTextEditor?.document.uri.fsPath ?? "";
  const holding = repositories.filter((each) => root === each.rootUri.fsPath || root.startsWith(`${each.rootUri.fsPath}/`));
  const found = holding.sort((a, b) => b.rootUri.fsPath.length - a.rootUri.fsPath.length)[0] ?? repositories[0];
  if (found === undefined) {
    throw new Error("There is no git repository in this window.");
  }
  return found;
}

function rootOf(given: unknown): string | undefined {
  return typeof given === "object" && given !== null && "rootUri" in given && given.rootUri instanceof vscode.Uri ? given.rootUri.fsPath : undefined;
}
