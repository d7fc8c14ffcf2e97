/**
 * What is to be reviewed in the projects of this window, as the daemon said last. Pure; decides nothing.
 *
 * The daemon tells whole files, so what is told replaces what was known. News that come while a whole list is on its way are kept
 * until it is there: an older list must not hide them.
 */
import type { ChangeParams, ReviewChanged, ReviewList, ShownComment, ShownFile, ShownHunk } from "../protocol/review";
import { Emitter } from "../emitter";
import { after } from "./place";

/** One project. */
interface Project {
  readonly root: string;
  readonly files: ReadonlyMap<string, ShownFile>;
  readonly comments: readonly ShownComment[];
}

interface Known extends Project {
  files: Map<string, ShownFile>;
  comments: ShownComment[];
}

/** What of a notification could not be taken: the list is to be asked for again. */
type Missing = { everything: true } | { paths: string[] } | undefined;

export class ReviewModel {
  readonly #projects = new Map<string, Known>();
  readonly #held = new Map<string, ReviewChanged[]>();
  readonly #changed = new Emitter<ReadonlySet<string>>();
  /** Calls back with the paths of the files that changed. */
  readonly onDidChange = this.#changed.event;

  get projects(): Iterable<Project> {
    return this.#projects.values();
  }

  get files(): ShownFile[] {
    return [...this.#projects.values()].flatMap((project) => [...project.files.values()]);
  }

  get comments(): ShownComment[] {
    return [...this.#projects.values()].flatMap((project) => project.comments);
  }

  file(path: string): ShownFile | undefined {
    return this.#of(path)?.files.get(path);
  }

  /** The root of the project that has the file under review. */
  rootOf(path: string): string | undefined {
    return this.#of(path)?.root;
  }

  /** The hunk as it is now, by its number. */
  hunk(path: string, id: number): ShownHunk | undefined {
    return this.file(path)?.hunks.find((hunk) => hunk.id === id);
  }

  /** Take a whole list. */
  take(list: ReviewList): void {
    const before = this.#projects.get(list.root)?.files.keys() ?? [];
    const files = new Map(list.files.filter(isShown).map((file) => [file.path, file]));
    this.#projects.set(list.root, { root: list.root, files, comments: list.comments });
    const touched = new Set([...before, ...files.keys()]);
    this.#release(list.root, list.revision, touched);
    this.#changed.fire(touched);
  }

  /** Take some files of a list, those at `paths`: one that is not in it has nothing to be reviewed any more. */
  takeSome(list: ReviewList, paths: readonly string[]): void {
    const told = new Set(list.files.map((file) => file.path));
    const gone = paths.filter((path) => !told.has(path)).map((path) => nothing(path));
    const touched = new Set<string>();
    this.#put(list.root, [...list.files, ...gone], touched);
    this.#changed.fire(touched);
  }

  /** From now until `take`, or `giveUp`, news of the project are kept back. Those of a project that is not known are anyway. */
  expectList(root: string): void {
    this.#held.set(root, this.#held.get(root) ?? []);
  }

  /** The list that was expected does not come. */
  giveUp(root: string): void {
    const touched = new Set<string>();
    this.#release(root, 0, touched);
    this.#changed.fire(touched);
  }

  /** Take what changed; says what it does not say. */
  change(news: ReviewChanged): Missing {
    if (this.#held.has(news.root) || !this.#projects.has(news.root)) {
      this.#held.set(news.root, [...(this.#held.get(news.root) ?? []), news]);
      return undefined;
    }
    const touched = new Set<string>();
    this.#apply(news, touched);
    this.#changed.fire(touched);
    if (news.everything) {
      return { everything: true };
    }
    return news.others.length > 0 ? { paths: news.others } : undefined;
  }

  /**
   * The user types in a file, and the daemon has been told: its hunks move along, until it says where they are. Tells nobody: what an
   * editor shows beside lines moves with them.
   */
  typed(path: string, edits: readonly ChangeParams[]): void {
    const project = this.#of(path);
    const file = project?.files.get(path);
    if (project !== undefined && file !== undefined) {
      const moved = (hunk: ShownHunk): ShownHunk => edits.reduce(after, hunk);
      project.files.set(path, { ...file, hunks: file.hunks.map(moved), streaming: file.streaming.map(moved) });
    }
  }

  /**
   * An editor has loaded a file anew. The daemon may have told of it before, and what is shown beside lines was moved by the load: it
   * is to be shown once more.
   */
  loaded(path: string): void {
    if (this.file(path) !== undefined) {
      this.#changed.fire(new Set([path]));
    }
  }

  /** Nothing of these projects is shown any more. */
  forget(roots: Iterable<string>): void {
    const touched = new Set<string>();
    for (const root of roots) {
      for (const path of this.#projects.get(root)?.files.keys() ?? []) {
        touched.add(path);
      }
      this.#projects.delete(root);
      this.#held.delete(root);
    }
    this.#changed.fire(touched);
  }

  #release(root: string, since: number, touched: Set<string>): void {
    const held = this.#held.get(root) ?? [];
    this.#held.delete(root);
    for (const news of held.filter((each) => each.revision >= since)) {
      this.#apply(news, touched);
    }
  }

  #apply(news: ReviewChanged, touched: Set<string>): void {
    this.#put(news.root, news.files, touched);
    const project = this.#projects.get(news.root);
    if (project !== undefined && news.comments !== null) {
      for (const comment of [...project.comments, ...news.comments]) {
        touched.add(comment.path);
      }
      project.comments = news.comments;
    }
  }

  #put(root: string, files: readonly ShownFile[], touched: Set<string>): void {
    const project = this.#projects.get(root);
    if (project === undefined) {
      return;
    }
    for (const file of files) {
      touched.add(file.path);
      if (isShown(file)) {
        project.files.set(file.path, file);
      } else {
        project.files.delete(file.path);
      }
    }
  }

  #of(path: string): Known | undefined {
    for (const project of this.#projects.values()) {
      if (project.files.has(path)) {
        return project;
      }
    }
    return undefined;
  }
}

function isShown(file: ShownFile): boolean {
  return file.hunks.length > 0 || file.streaming.length > 0;
}

function nothing(path: string): ShownFile {
  return { path, exists: true, hunks: [], unsaved: false, unsavedIn: [], isNew: false, streaming: [] };
}
