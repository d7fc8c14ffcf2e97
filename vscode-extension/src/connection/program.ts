/** Where the program `sould` is. Pure but for the question whether a file can be run, which is asked through `Files`. */
import * as path from "node:path";
import { l10n } from "vscode";

interface Files {
  /** Whether it is a file that this user may run. */
  isProgram(file: string): Promise<boolean>;
}

interface Surroundings {
  /** The user's setting, "" when there is none. */
  readonly setting: string;
  readonly home: string;
  /** PATH, as the environment has it. */
  readonly searchPath: string;
  /** The Python interpreter that the Python extension uses for this workspace. */
  readonly interpreter: string | undefined;
}

/** The program, or what to say to the user who has none. */
export type Found = { readonly program: string } | { readonly problem: string };

/**
 * Looks at the setting; then on PATH, where `uv tool` and `pipx` put programs, and beside the interpreter. A setting that names no
 * program is an error, not a reason to look further: whoever set it means that one.
 */
export async function findProgram(around: Surroundings, files: Files): Promise<Found> {
  if (around.setting !== "") {
    const program = expandHome(around.setting, around.home);
    if (!path.isAbsolute(program)) {
      return { problem: l10n.t('The setting sould.path is "{0}", which is no absolute path.', around.setting) };
    }
    if (await files.isProgram(program)) {
      return { program };
    }
    return { problem: l10n.t("The setting sould.path names {0}, which is no program that you can run.", program) };
  }
  for (const candidate of candidates(around)) {
    if (await files.isProgram(candidate)) {
      return { program: candidate };
    }
  }
  return {
    problem: l10n.t(
      "sould is not installed here, or was not found. Run the command “sould: Install”, or set sould.path.",
    ),
  };
}

function* candidates(around: Surroundings): Generator<string> {
  for (const directory of around.searchPath.split(path.delimiter)) {
    // A relative directory on PATH would run what a project has put there.
    if (path.isAbsolute(directory)) {
      yield path.join(directory, "sould");
    }
  }
  yield path.join(around.home, ".local", "bin", "sould");
  if (around.interpreter !== undefined && path.isAbsolute(around.interpreter)) {
    yield path.join(path.dirname(around.interpreter), "sould");
  }
}

function expandHome(setting: string, home: string): string {
  return setting === "~" || setting.startsWith("~/") ? path.join(home, setting.slice(1)) : setting;
}
