/**
 * Installs the sould that this extension carries into a directory of the extension's own, where nothing else of the user's is touched.
 *
 * The wheel is in the .vsix; what it needs comes from the user's own package index, each file checked against the hash that the .vsix
 * has. An installation counts once it is whole: what was broken off is made anew. Knows no `vscode`.
 */
import { execFile } from "node:child_process";
import { access, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { l10n } from "vscode";

/** What there is to install from, and to. */
export interface Site {
  /** The directory of the extension with the wheel and `runtime.lock`. */
  readonly carried: string;
  /** The extension's own storage. */
  readonly storage: string;
  readonly version: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** Takes words about how far it is. */
type Progress = (words: string) => void;

const MOST_WORDS = 1_500;
const LONGEST = 15 * 60_000;
const READY = ".ready";
/** In this order: the newest is not always the one with the most wheels. */
const PYTHONS = ["python3", "python3.13", "python3.12", "python3.11", "python3.14", "python"];
const WANTED = "import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info[:2])";
const NO_PYTHON = l10n.t(
  "Neither uv nor a Python of version 3.11 or newer was found, which sould needs. Install one of them (on Debian and Ubuntu: apt install python3 python3-venv), and try again.",
);

/** The program, when it is installed and whole. */
export async function installed({ storage, version }: Pick<Site, "storage" | "version">): Promise<string | undefined> {
  const home = homeOf(storage, version);
  return (await exists(path.join(home, READY))) ? path.join(home, "bin", "sould") : undefined;
}

/** Installs it, and gives the program. Raises what to say to the user. */
export async function install(site: Site, progress: Progress, withdrawn: AbortSignal): Promise<string> {
  const home = homeOf(site.storage, site.version);
  const wheel = await wheelOf(site.carried);
  await mkdir(site.storage, { recursive: true });
  await rm(home, { recursive: true, force: true });
  const run = (program: string, ...given: string[]): Promise<void> => execute(program, given, site, withdrawn);
  const lock = path.join(site.carried, "runtime.lock");
  const python = path.join(home, "bin", "python");
  if (await works("uv", ["--version"], site)) {
    progress(l10n.t("making a Python environment with uv"));
    await run("uv", "venv", "--quiet", "--python", ">=3.11", home);
    progress(l10n.t("downloading what sould needs"));
    await run("uv", "pip", "install", "--quiet", "--python", python, "--require-hashes", "--no-deps", "-r", lock);
    progress(l10n.t("installing sould"));
    await run("uv", "pip", "install", "--quiet", "--python", python, "--no-deps", "--no-index", wheel);
  } else {
    progress(l10n.t("making a Python environment"));
    await run(await pythonOf(site), "-m", "venv", home);
    // The lock is complete, so nothing has to be worked out; and what is never used need not be compiled: a third of the time.
    const pip = [
      python,
      "-m",
      "pip",
      "--disable-pip-version-check",
      "install",
      "--quiet",
      "--no-deps",
      "--no-compile",
    ] as const;
    progress(l10n.t("downloading what sould needs"));
    await run(...pip, "--require-hashes", "-r", lock);
    progress(l10n.t("installing sould"));
    await run(...pip, "--no-index", wheel);
  }
  await writeFile(path.join(home, READY), "");
  return path.join(home, "bin", "sould");
}

/** A directory with nothing but the program in it, which can be on the PATH beside the user's own Python. */
export async function directoryWith(program: string, storage: string): Promise<string> {
  const directory = path.join(storage, "bin");
  const link = path.join(directory, "sould");
  if ((await readlink(link).catch(() => "")) !== program) {
    const made = `${link}.${process.pid}`;
    await mkdir(directory, { recursive: true });
    await rm(made, { force: true });
    await symlink(program, made);
    await rename(made, link); // in one step, for the other windows
  }
  return directory;
}

/** An environment cannot be moved, so each version has a place of its own. */
function homeOf(storage: string, version: string): string {
  return path.join(storage, `sould-${version}`);
}

async function wheelOf(carried: string): Promise<string> {
  const wheel = (await readdir(carried).catch(() => [])).find((name) => name.endsWith(".whl"));
  if (wheel === undefined) {
    throw new Error(
      l10n.t(
        "This build of the extension carries no sould. Install sould yourself, from its wheel: uv tool install, or pipx install, with the path of the wheel.",
      ),
    );
  }
  return path.join(carried, wheel);
}

async function pythonOf(site: Site): Promise<string> {
  for (const python of PYTHONS) {
    if (await works(python, ["-c", WANTED], site)) {
      return python;
    }
  }
  throw new Error(NO_PYTHON);
}

async function works(program: string, given: readonly string[], site: Site): Promise<boolean> {
  try {
    await promisify(execFile)(program, given, { env: site.environment, cwd: site.storage, timeout: 30_000 });
    return true;
  } catch {
    return false;
  }
}

async function execute(program: string, given: readonly string[], site: Site, withdrawn: AbortSignal): Promise<void> {
  const options = {
    env: site.environment,
    cwd: site.storage,
    timeout: LONGEST,
    signal: withdrawn,
    maxBuffer: 64 * 1024 * 1024,
  };
  try {
    await promisify(execFile)(program, [...given], options);
  } catch (problem) {
    withdrawn.throwIfAborted();
    const { stderr, message } = problem as Error & { stderr?: string };
    throw new Error(
      l10n.t(
        "sould could not be installed. {0} said: {1}",
        path.basename(program),
        (stderr?.trim() || message).slice(-MOST_WORDS),
      ),
      { cause: problem },
    );
  }
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}
