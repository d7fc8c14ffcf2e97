/**
 * Whether there may be something to review before anybody asks: only then is the daemon started when a window opens.
 *
 * Looks at the records that sould keeps of projects (`projects/ID/project.json` below its state directory); starts nothing, reads no
 * more of them than which directory each is about, and is told by the system when there is another one.
 */
import { existsSync, statSync, watch, type FSWatcher } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import * as path from "node:path";
import * as z from "zod";

const record = z.object({ root: z.string() });

/** The directory with a record for each project. `environment`: as the daemon would have it. */
export function projectsDirectory(environment: NodeJS.ProcessEnv, home: string): string {
  const given = environment["XDG_STATE_HOME"] ?? "";
  const state = path.isAbsolute(given) ? given : path.join(home, ".local", "state");
  return path.join(state, "sould", "projects");
}

/** Whether agents have ever changed something in one of these directories, above or below it. */
export async function hasProject(projects: string, directories: readonly string[]): Promise<boolean> {
  const names = await readdir(projects).catch(() => []);
  for (const name of names) {
    const text = await readFile(path.join(projects, name, "project.json"), "utf8").catch(() => "");
    const root = parse(text);
    if (root !== undefined && directories.some((each) => isWithin(each, root) || isWithin(root, each))) {
      return true;
    }
  }
  return false;
}

/** Where the program is started: a directory that was deleted would be told as a program that is missing. */
export function startingIn(directories: readonly string[], home: string): string {
  return directories.find((each) => statSync(each, { throwIfNoEntry: false })?.isDirectory() === true) ?? home;
}

/**
 * Calls back whenever there may be a project more. Watches the nearest directory above while there is none. Where the system allows
 * no more watches, `failed` says so, and a new project is noticed when the user opens something of ours.
 */
export function watchProjects(
  projects: string,
  changed: () => void,
  failed: (words: string) => void,
): { dispose(): void } {
  let watcher: FSWatcher | undefined;
  let watched = "";
  const end = (problem: unknown): void => {
    watcher?.close();
    failed(`new projects are not noticed: ${String(problem)}`);
  };
  const begin = (): void => {
    const nearest = nearestDirectory(projects);
    if (nearest === watched) {
      return;
    }
    watcher?.close();
    watched = nearest;
    try {
      watcher = watch(nearest, { persistent: false }, () => {
        begin();
        changed();
      });
      watcher.on("error", end);
    } catch (problem) {
      end(problem);
    }
  };
  begin();
  return {
    dispose: () => {
      watcher?.close();
    },
  };
}

function nearestDirectory(directory: string): string {
  let nearest = directory;
  while (!existsSync(nearest) && path.dirname(nearest) !== nearest) {
    nearest = path.dirname(nearest);
  }
  return nearest;
}

function parse(text: string): string | undefined {
  try {
    return record.parse(JSON.parse(text)).root;
  } catch {
    return undefined;
  }
}

/** Whether a directory is another one, or below it. */
export function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith(path.sep) ? outer : outer + path.sep);
}
