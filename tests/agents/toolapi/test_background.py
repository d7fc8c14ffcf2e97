"""Background tasks: begun by Shell and Agent, looked at, ended, told to the model and the editor."""

import json
import re

from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ApprovalRequest, ContextNote, Notification, ToolResult
from soultest.bench import Bench, Watcher, call, finish
from soultest.daemon import until

WAIT = "while [ ! -e go ]; do sleep 0.01; done; "


def results(watcher: Watcher) -> list[str]:
    return [f"{r.return_value.message}|{r.return_value.output}" for r in watcher.of(ToolResult)]


def task_of(watcher: Watcher) -> str:
    found = re.search(r"(?:shell|agent)_\d+", results(watcher)[0])
    assert found
    return found[0]


async def test_a_command_goes_on_after_its_call_and_its_end_is_told_to_editor_and_model(bench: Bench) -> None:
    bench.script(
        call("Shell", command=f"{WAIT}echo built", run_in_background=True, description="Build"),
        "text: begun",
        call("TaskOutput", task_id="shell_1"),
        "text: done",
        "text: ok",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "build")
        assert "in the background" in watcher.of(ApprovalRequest)[0].description
        task = task_of(watcher)
        (bench.project / "go").touch()
        told = await watcher.wait_for(Notification, lambda notice: notice.category == "task")
        assert (told.type, told.source_id, told.title) == ("task.completed", task, "Background task completed: Build")
        await finish(watcher.session, "and?")
        await finish(watcher.session, "and now?")
    notes = [note.text for note in watcher.of(ContextNote)]
    assert len(notes) == 1
    assert f"{task} (Build): completed. Exit code 0." in notes[0]
    assert results(watcher)[-1].endswith("|built\n")


async def test_waiting_for_a_task_blocks_until_it_ends(bench: Bench) -> None:
    bench.script(
        call("Shell", command="echo one; exit 3", run_in_background=True),
        "text: begun",
        call("TaskOutput", task_id="shell_1", block=True),
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        await finish(watcher.session, "wait")
    assert "failed" in results(watcher)[-1]
    assert results(watcher)[-1].endswith("|one\n")


async def test_a_task_is_stopped_with_everything_it_started(bench: Bench) -> None:
    bench.script(
        call("Shell", command="echo $$ > pid; sleep 600", run_in_background=True),
        "text: begun",
        call("TaskList"),
        call("TaskStop", task_id="shell_1", reason="enough"),
        call("TaskList"),
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        await finish(watcher.session, "stop")
    listed, stopped, after = results(watcher)[1:]
    assert "running" in listed
    assert "stopped" in stopped
    assert "enough" in stopped
    assert after.startswith("No task runs.")


async def test_what_a_task_had_printed_and_nobody_had_read_is_kept_when_it_is_stopped(bench: Bench) -> None:
    bench.script(
        call("Shell", command=f"{WAIT}echo late; touch printed; sleep 600", run_in_background=True), "text: begun"
    )
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        (bench.project / "go").touch()
        until((bench.project / "printed").exists)  # nothing else runs in this loop meanwhile, so nobody reads
        await watcher.session.parts.work.tasks.stop("shell_1", "enough")
        printed, _ = watcher.session.parts.work.tasks.output("shell_1")
    assert printed == "late\n"


async def test_the_user_stops_a_task_by_command(bench: Bench) -> None:
    bench.script(call("Shell", command="sleep 600", run_in_background=True, description="Serve"), "text: begun")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        await finish(watcher.session, "/tasks stop shell_1")
        await finish(watcher.session, "/tasks stop shell_7")
        assert watcher.session.parts.work.tasks.running == 0
    said = [part.text for part in watcher.of(TextPart)]
    assert "`shell_1` stopped: Serve" in said
    assert "There is no task 'shell_7'; there are: shell_1." in said


async def test_what_has_no_room_in_the_background_is_refused_before_anybody_is_asked(bench: Bench) -> None:
    bench.settings["background"] = {"max_running_tasks": 1}
    bench.script(*[call("Shell", command="sleep 600", run_in_background=True)] * 2, "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new("ask"))
        await finish(watcher.session, "go")
    assert "1 background tasks are already running" in results(watcher)[1]
    assert len(watcher.of(ApprovalRequest)) == 1


async def test_no_more_than_four_run(bench: Bench) -> None:
    begin = "\n".join(
        call("Shell", command="sleep 600", run_in_background=True, description=str(n)).replace(
            '"id": "1"', f'"id": "{n}"'
        )
        for n in range(5)
    )
    bench.script(begin, "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert watcher.session.parts.work.tasks.running == 4
    assert sum("4 background tasks are already running" in result for result in results(watcher)) == 1


async def test_a_long_timeout_needs_the_background(bench: Bench) -> None:
    bench.script(call("Shell", command="true", timeout=301), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
    assert "needs `run_in_background`" in results(watcher)[0]


async def test_a_task_that_takes_too_long_is_ended(bench: Bench) -> None:
    bench.script(call("Shell", command="sleep 600", run_in_background=True, timeout=1), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        told = await watcher.wait_for(Notification, lambda notice: notice.category == "task")
    assert told.type == "task.timed_out"


async def test_tasks_end_with_the_session_and_the_model_is_told_after_a_restart(bench: Bench) -> None:
    bench.script(call("Shell", command="sleep 600", run_in_background=True), "text: begun")
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        task = task_of(watcher)
    bench.script("text: I see")
    async with bench.running():
        again = Watcher(await bench.open(watcher.session.id))
        await finish(again.session, "how is it?")
    assert f"{task} (sleep 600): stopped. The session was closed." in again.of(ContextNote)[-1].text


async def test_a_task_whose_daemon_was_killed_is_lost_and_said_to_be(bench: Bench) -> None:
    async with bench.running():
        session = await bench.new()
        record = {"id": "shell_7", "kind": "shell", "description": "Build", "started": 1.0}
        (directory,) = bench.state.glob(f"sessions/{session.id}")
    (directory / "tasks.json").write_text(json.dumps([record]))
    bench.script("text: I see")
    async with bench.running():
        again = Watcher(await bench.open(session.id))
        await finish(again.session, "how is it?")
    assert "shell_7 (Build): lost." in again.of(ContextNote)[-1].text


async def test_a_session_stays_while_a_task_runs(bench: Bench) -> None:
    bench.script(call("Shell", command=WAIT, run_in_background=True), "text: begun")
    async with bench.running() as host:
        watcher = Watcher(await bench.new("full"))
        session = watcher.session
        await finish(session, "go")
        await host.detach(session.id, "watcher")
        assert not session.unused
        (bench.project / "go").touch()
        await session.closed.wait()


async def test_a_subagent_works_in_the_background(bench: Bench) -> None:
    bench.script(
        call("Agent", description="Look", prompt="x", run_in_background=True),
        call("Shell", command=f"{WAIT}echo hi"),
        "text: report",
        "text: x",
    )
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        (bench.project / "go").touch()
        told = await watcher.wait_for(Notification, lambda notice: notice.category == "task")
        assert told.type == "task.completed"
        text, _ = watcher.session.parts.work.tasks.output(told.source_id)
    assert text in {"report", "x"}
    assert task_of(watcher).startswith("agent_")
    assert watcher.of(TextPart)


async def test_a_background_agents_question_says_so(bench: Bench) -> None:
    bench.script(
        call("Agent", description="Look", prompt="x", run_in_background=True),
        *[call("Shell", command="touch made")] * 2,
        *["text: ok"] * 3,
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
        await watcher.wait_for(Notification, lambda notice: notice.category == "task")
    assert "background_agent" in {asked.source_kind for asked in watcher.of(ApprovalRequest)}


async def test_an_unknown_task_names_those_there_are(bench: Bench) -> None:
    bench.script(call("TaskOutput", task_id="shell_1"), call("TaskStop", task_id="../x"), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    assert all("there are: none" in result for result in results(watcher))
