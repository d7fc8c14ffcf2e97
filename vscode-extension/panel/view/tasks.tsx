/** What goes on in the background: its state, the end of what it printed, and a button that stops it. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Session } from "../app/session";
import type { BackgroundTask } from "../../src/protocol/session";
import { counted, wordOf } from "../session/tasks";
import { screen } from "../session/terminal";
import { usePanel } from "./context";
import { Fold } from "./fold";
import { Icon, IconButton } from "./icons";

/** Lines of output that are shown. */
const LINES = 40;

export function Tasks({ session }: { readonly session: Session }): JSX.Element | null {
  const tasks = session.tasks.value;
  if (tasks.length === 0) {
    return null;
  }
  return (
    <section class="tasks" aria-label={l10n.t("Background tasks")}>
      <Fold
        title={
          <>
            <span class="plan-count">{l10n.t("In the background")}</span> {counted(tasks)}
          </>
        }
      >
        <ul>
          {tasks.toReversed().map((task) => (
            <Row key={task.id} task={task} session={session} />
          ))}
        </ul>
      </Fold>
    </section>
  );
}

function Row({ task, session }: { readonly task: BackgroundTask; readonly session: Session }): JSX.Element {
  const panel = usePanel();
  const [printed, print] = useState<string | undefined>(undefined);
  const name = task.description || task.id;
  const read = (): void => {
    void panel.attempt(async () => {
      print(await session.taskOutput(task));
    });
  };
  const stop = (): void => {
    void panel.attempt(async () => {
      await session.stopTask(task);
      panel.say(l10n.t("Stopped {0}.", name));
    });
  };
  return (
    <li>
      <div class="task">
        <span class="task-name" dir="auto">
          <Icon name={task.kind === "agent" ? "fork" : "terminal"} /> {name}
        </span>
        <span class={`task-state ${task.status}`} title={task.message}>
          {wordOf(task)}
        </span>
        <IconButton
          icon={printed === undefined ? "right" : "down"}
          label={l10n.t("Output of {0}", name)}
          pressed={printed !== undefined}
          onClick={() => {
            if (printed === undefined) {
              read();
            } else {
              print(undefined);
            }
          }}
        />
        {task.status === "running" && <IconButton icon="stop" label={l10n.t("Stop {0}", name)} onClick={stop} />}
      </div>
      {printed !== undefined && (
        <div class="task-output">
          {task.message !== "" && <p>{task.message}</p>}
          <pre tabIndex={0} dir="ltr" aria-label={l10n.t("What {0} printed", name)}>
            {printed === ""
              ? l10n.t("No output yet.")
              : screen(printed, LINES).spans.map((span, at) => (
                  <span key={at} class={span.classes}>
                    {span.text}
                  </span>
                ))}
          </pre>
          <button type="button" class="link" onClick={read}>
            {l10n.t("Read again")}
          </button>
        </div>
      )}
    </li>
  );
}
