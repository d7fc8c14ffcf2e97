/** What goes on beside the turns of a session: commands and subagents in the background. Pure. */
import * as l10n from "@vscode/l10n";
import { backgroundTasks, type BackgroundTask } from "../../src/protocol/session";

export function readTasks(raw: unknown): readonly BackgroundTask[] {
  return backgroundTasks(raw)?.tasks ?? [];
}

const WORDS: Readonly<Record<BackgroundTask["status"], string>> = {
  running: l10n.t("running"),
  completed: l10n.t("done"),
  failed: l10n.t("failed"),
  lost: l10n.t("lost with an earlier sould"),
  stopped: l10n.t("stopped"),
  timed_out: l10n.t("timed out"),
};

export function wordOf(task: BackgroundTask): string {
  return WORDS[task.status];
}

/** Such as "1 running, 2 ended". */
export function counted(tasks: readonly BackgroundTask[]): string {
  const running = tasks.filter((task) => task.status === "running").length;
  const ended = tasks.length - running;
  return [running > 0 ? l10n.t("{0} running", running) : "", ended > 0 ? l10n.t("{0} ended", ended) : ""]
    .filter(Boolean)
    .join(", ");
}
