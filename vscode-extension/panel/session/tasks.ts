/** What goes on beside the turns of a session: commands and subagents in the background. Pure. */
import * as l10n from "@vscode/l10n";
import { list, object, oneOf, text } from "./read";

const STATES = ["completed", "failed", "lost", "running", "stopped", "timed_out"] as const;

export interface Task {
  readonly id: string;
  readonly kind: "agent" | "shell";
  readonly description: string;
  readonly state: (typeof STATES)[number];
  /** How it ended. */
  readonly message: string;
}

export function readTasks(raw: unknown): readonly Task[] {
  return list(object(raw)["tasks"])
    .map(object)
    .map((task) => ({
      id: text(task["id"]),
      kind: oneOf(task["kind"], ["agent", "shell"] as const, "shell"),
      description: text(task["description"]),
      state: oneOf(task["status"], STATES, "lost"),
      message: text(task["message"]),
    }));
}

const WORDS: Readonly<Record<Task["state"], string>> = {
  running: l10n.t("running"),
  completed: l10n.t("done"),
  failed: l10n.t("failed"),
  lost: l10n.t("lost with an earlier sould"),
  stopped: l10n.t("stopped"),
  timed_out: l10n.t("timed out"),
};

export function wordOf(task: Task): string {
  return WORDS[task.state];
}

/** Such as "1 running, 2 ended". */
export function counted(tasks: readonly Task[]): string {
  const running = tasks.filter((task) => task.state === "running").length;
  const ended = tasks.length - running;
  return [running > 0 ? l10n.t("{0} running", running) : "", ended > 0 ? l10n.t("{0} ended", ended) : ""]
    .filter(Boolean)
    .join(", ");
}
