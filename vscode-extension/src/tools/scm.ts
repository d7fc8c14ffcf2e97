/** What differs from what git has, by VS Code's own git; and from what the user accepted, by the review: `scm`. */
import * as vscode from "vscode";
import type { CallResult } from "../protocol/editor";
import type { ReviewModel } from "../review/model";
import { patchOf, statusOf } from "../review/wording";
import { type Call, ToolError } from "./call";

/** Of the API of VS Code's git extension (extensions/git/src/api/git.d.ts), what is used. */
interface GitExtension {
  getAPI(version: 1): { getRepository(uri: vscode.Uri): Repository | null };
}

interface Repository {
  readonly state: {
    readonly HEAD: { readonly name?: string } | undefined;
    readonly indexChanges: readonly Change[];
    readonly workingTreeChanges: readonly Change[];
    readonly mergeChanges: readonly Change[];
    readonly untrackedChanges: readonly Change[];
  };
  status(): Promise<void>;
  diffWithHEAD(path: string): Promise<string>;
  diffIndexWithHEAD(path: string): Promise<string>;
}

interface Change {
  readonly uri: vscode.Uri;
  readonly status: number;
}

/** git's letters, by the numbers of the extension's `Status`. */
const LETTERS = ["M", "A", "D", "R", "C", "M", "D", "?", "!", "A", "R", "T"];
const CONFLICT = "U";
const LONGEST_PATCH = 20_000;
/** Characters of all patches; of the files behind that only the names are told. */
const MOST_PATCHED = 100_000;

interface Differs {
  readonly file: string;
  readonly status: string;
  readonly patch: string;
}

export async function scm(call: Call, model: ReviewModel): Promise<CallResult> {
  const limit = call.number("limit", 100);
  if (call.text("scope") === "base") {
    const files = model.files
      .filter((file) => file.path.startsWith(`${call.root}/`) && file.hunks.length > 0)
      .slice(0, limit);
    return {
      data: {
        files: files.map((file): Differs => ({ file: file.path, status: statusOf(file), patch: clip(patchOf(file)) })),
      },
    };
  }
  const repository = await repositoryOf(call);
  await repository.status();
  const staged = call.text("scope") === "staged";
  const { HEAD, indexChanges, mergeChanges, workingTreeChanges, untrackedChanges } = repository.state;
  const changes = staged
    ? indexChanges
    : [...mergeChanges, ...workingTreeChanges, ...untrackedChanges, ...indexChanges];
  const files = new Map<string, Change>();
  for (const change of changes) {
    const file = call.path(change.uri);
    if (file?.startsWith(`${call.root}/`) === true && !files.has(file)) {
      files.set(file, change);
    }
  }
  const differing: Differs[] = [];
  let left = MOST_PATCHED;
  for (const [file, { uri, status }] of [...files].slice(0, limit)) {
    const isWanted = left > 0 && !call.signal.aborted;
    const made = isWanted
      ? await (staged ? repository.diffIndexWithHEAD(uri.fsPath) : repository.diffWithHEAD(uri.fsPath)).catch(() => "")
      : "";
    const patch = clip(made);
    left -= patch.length;
    differing.push({ file, status: LETTERS[status] ?? CONFLICT, patch });
  }
  return { data: { files: differing, branch: HEAD?.name ?? "" } };
}

async function repositoryOf(call: Call): Promise<Repository> {
  const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
  const git = await extension?.activate();
  const repository = git?.getAPI(1).getRepository(call.places.uriOf(call.root));
  if (repository === null || repository === undefined) {
    throw new ToolError("not_supported", "VS Code has no git repository open here.");
  }
  return repository;
}

function clip(patch: string): string {
  return patch.length > LONGEST_PATCH ? `${patch.slice(0, LONGEST_PATCH)}\n[...]` : patch;
}
