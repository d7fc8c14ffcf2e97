/**
 * Which sould this window runs, and how the user comes by one: that of the setting, the one that is installed, or the one that the
 * extension carries and has installed for itself; of the last two the newer one, so that editors do not take turns with the daemon.
 */
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { usersEnvironment } from "../connection/environment";
import { findProgram, type Found } from "../connection/program";
import { directoryWith, install, installed } from "./install";
import { compareVersions } from "./versions";

const NOT_HERE = vscode.l10n.t(
  "sould runs on Linux and macOS. On Windows, open the folder in WSL: then it runs there, beside your files.",
);
const INSTALL = vscode.l10n.t("Install");
const SET_PATH = vscode.l10n.t("Set Its Path");

export class Setup {
  readonly #version: string;
  readonly #storage: string;
  readonly #carried: string;
  readonly #terminals: vscode.EnvironmentVariableCollection;

  constructor(extension: vscode.ExtensionContext, version: string) {
    this.#version = version;
    this.#storage = extension.globalStorageUri.fsPath;
    this.#terminals = extension.environmentVariableCollection;
    this.#terminals.description = vscode.l10n.t("The command `sould`, which this extension has installed");
    this.#carried = vscode.Uri.joinPath(extension.extensionUri, "carried").fsPath;
  }

  /** Looks for the program anew. */
  async find(): Promise<Found> {
    if (process.platform === "win32") {
      return { problem: NOT_HERE };
    }
    const setting = vscode.workspace.getConfiguration("sould").get<string>("path", "");
    const searchPath = process.env["PATH"] ?? "";
    // What a workspace has brought is not run before its user trusts it.
    const interpreter = vscode.workspace.isTrusted ? pythonInterpreter() : undefined;
    const around = { setting, home: homedir(), searchPath, interpreter: await interpreter };
    const found = await findProgram(around, { isProgram });
    const own = setting === "" ? await installed({ storage: this.#storage, version: this.#version }) : undefined;
    if (own === undefined || ("program" in found && !(await this.#isOlder(found.program)))) {
      this.#terminals.delete("PATH");
      return found;
    }
    // The user's own programs come first.
    this.#terminals.append("PATH", `:${await directoryWith(own, this.#storage)}`);
    return { program: own };
  }

  /** Installs the one that the extension carries, while the user sees how far it is and can end it. */
  async install(): Promise<void> {
    if (process.platform === "win32") {
      throw new Error(NOT_HERE);
    }
    const environment = usersEnvironment(process.env);
    const site = { carried: this.#carried, storage: this.#storage, version: this.#version, environment };
    const options = {
      location: vscode.ProgressLocation.Notification,
      title: vscode.l10n.t("Installing sould"),
      cancellable: true,
    };
    await vscode.window.withProgress(options, async (progress, token) => {
      const withdrawn = new AbortController();
      const listening = token.onCancellationRequested(() => {
        withdrawn.abort(new Error(vscode.l10n.t("sould was not installed: you ended it.")));
      });
      try {
        await install(
          site,
          (message) => {
            progress.report({ message });
          },
          withdrawn.signal,
        );
      } finally {
        listening.dispose();
      }
    });
  }

  /**
   * Says that there is none, and what can be done about it: the user has just asked for something that needs it. VS Code shows the same
   * notification once, where they see it.
   */
  async offer(problem: string): Promise<void> {
    const choices = process.platform === "win32" ? [] : [INSTALL, SET_PATH];
    const chosen = await vscode.window.showWarningMessage(problem, ...choices);
    if (chosen === INSTALL) {
      await vscode.commands.executeCommand("sould.install");
    } else if (chosen === SET_PATH) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "sould.path");
    }
  }

  async #isOlder(program: string): Promise<boolean> {
    try {
      const { stdout } = await promisify(execFile)(program, ["--version"], { timeout: 30_000 });
      return compareVersions(/\d+\.\d+\S*/.exec(stdout)?.[0] ?? "0", this.#version) < 0;
    } catch {
      return true;
    }
  }
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** What the Python extension runs, when there is one. Its API: https://www.npmjs.com/package/@vscode/python-extension. */
interface PythonExtension {
  readonly environments?: { getActiveEnvironmentPath(): { readonly path: string } };
}

async function pythonInterpreter(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  try {
    return (await extension?.activate())?.environments?.getActiveEnvironmentPath().path;
  } catch {
    return undefined;
  }
}
