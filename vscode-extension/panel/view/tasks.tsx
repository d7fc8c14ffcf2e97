/** What goes on in the background: its state, the end of what it printed, and a button that stops it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Session } from "../app/session";
import { counted, wordOf, type Task } from "../session/tasks";
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
    <section class="tasks" aria-label="Background tasks">
      <Fold
        title={
          <>
            <span class="plan-count">In the background</span> {counted(tasks)}
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

function Row({ task, session }: { readonly task: Task; readonly session: Session }): JSX.Element {
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
      panel.say(`Stopped ${name}.`);
    });
  };
  return (
    <li>
      <div class="task">
        <span class="task-name" dir="auto">
          <Icon name={task.kind === "agent" ? "fork" : "terminal"} /> {name}
        </span>
        <span class={`task-state ${task.state}`} title={task.message}>
          {wordOf(task)}
        </span>
        <IconButton
          icon={printed === undefined ? "right" : "down"}
          label={`Output of ${name}`}
          pressed={printed !== undefined}
          onClick={() => {
            if (printed === undefined) {
              read();
            } else {
              print(undefined);
            }
          }}
        />
        {task.state === "running" && <IconButton icon="stop" label={`Stop ${name}`} onClick={stop} />}
      </div>
      {printed !== undefined && (
        <div class="task-output">
          {task.message !== "" && <p>{task.message}</p>}
          <pre tabIndex={0} dir="ltr" aria-label={`What ${name} printed`}>
            {printed === ""
              ? "No output yet."
              : screen(printed, LINES).spans.map((span, at) => (
                  <span key={at} class={span.classes}>
                    {span.text}
                  </span>
                ))}
          </pre>
          <button type="button" class="link" onClick={read}>
            Read again
          </button>
        </div>
      )}
    </li>
  );
}
