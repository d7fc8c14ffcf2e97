"""Sessions whose daemon was killed in the middle of something (D16)."""

import asyncio
from pathlib import Path

from sould.agents.journal.log import JOURNAL, SessionLog
from sould.agents.journal.writer import JournalWriter
from sould.agents.sessions.turns.turns import Prompt, Turns
from sould.agents.soul.loop import Ending
from sould.agents.soul.timetravel.outcome import describe
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    ContextNote,
    FilesRestored,
    Notification,
    QuestionRequest,
    QuestionResponse,
    RequestClosed,
    StatusUpdate,
    SubagentEvent,
    TokenUsage,
    ToolResult,
    TurnBegin,
    TurnEnd,
)
from sould.agents.wire.notice import TO_REVIEW
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.crash import kill_when
from soultest.bench.looks import choose, messages_of, prompt_of
from soultest.streams import new_log


async def test_a_tool_that_was_running_is_closed_as_interrupted_and_never_run_again(bench: Bench) -> None:
    bench.script(call("Shell", command="echo ran >> ran; echo started; sleep 1000"), "text: next")
    session_id = kill_when(bench, "full", "ToolOutput")
    async with bench.running():
        session = await bench.open(session_id)
        replayed = [record.message for record in session.log.replay()]
        results = [message for message in replayed if isinstance(message, ToolResult)]
        ends = [message for message in replayed if isinstance(message, TurnEnd)]
        assert "may or may not have run" in results[0].return_value.message
        assert ends[0].stop_reason == "interrupted"
        (notice,) = [message for message in replayed if isinstance(message, Notification)]
        assert "`echo ran >> ran; echo started; sleep 1000`" in notice.body
        assert f"by it or by others: {bench.project / 'ran'}." in notice.body
        assert not session.turns.running
        assert (bench.project / "ran").read_text() == "ran\n"
        watcher = Watcher(session)
        bench.script("text: next")
        assert (await finish(session, "go on")).stop_reason == "finished"
        for _ in range(2):
            await finish(session, "/undo")
        said = describe(watcher.of(FilesRestored)[-1])
        assert "ran` (it changed while a command ran, and may be somebody else's work)" in said
        assert (bench.project / "ran").exists()


async def test_a_command_in_the_background_that_was_cut_off_is_told_once(bench: Bench) -> None:
    bench.script(call("Shell", command="echo x >> a.txt; sleep 1000", run_in_background=True), "text: begun")
    session_id = kill_when(bench, "full", "TurnEnd")
    for _ in range(2):
        async with bench.running():
            session = await bench.open(session_id)
            notices = [record.message for record in session.log.replay() if isinstance(record.message, Notification)]
            assert ["`echo x >> a.txt; sleep 1000`" in notice.body for notice in notices] == [True]
    async with bench.running():
        watcher = Watcher(await bench.open(session_id))
        bench.script("text: I see")
        await finish(watcher.session, "and?")
        assert "shell_1 (echo x >> a.txt; sleep 1000): lost." in "".join(note.text for note in watcher.of(ContextNote))


async def test_a_pending_approval_is_offered_again_and_its_turn_goes_on(bench: Bench) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: unused")
    session_id = kill_when(bench, "ask", "ApprovalRequest")
    bench.script("text: and so it ends")
    async with bench.running():
        session = await bench.open(session_id)
        watcher = Watcher(session)
        end = await watcher.wait_for(TurnEnd)
        (asked,) = {record.message.id for record in session.log.replay() if isinstance(record.message, ApprovalRequest)}
    assert end.stop_reason == "finished"
    assert (bench.project / "b.txt").read_text() == "x"
    assert asked


async def test_a_turn_that_goes_on_counts_what_it_took_before_the_daemon_was_killed(bench: Bench) -> None:
    used = "\nusage: input_other=100 output=10"
    bench.script(call("Glob", pattern="*") + used, call("WriteFile", path="b.txt", content="x") + used)
    session_id = kill_when(bench, "ask", "ApprovalRequest")
    bench.script("text: and so it ends" + used)
    async with bench.running():
        end = await Watcher(await bench.open(session_id)).wait_for(TurnEnd)
    assert end.usage == TokenUsage(input_other=300, output=30)


async def test_a_turn_that_goes_on_is_counted_without_reading_the_journal_again(
    tmp_path: Path, writer: JournalWriter
) -> None:
    used = StatusUpdate(token_usage=TokenUsage(output=10))
    log = await new_log(tmp_path, writer)
    for message in (
        TurnBegin(user_input="a", turn_id="first"),
        used,
        TurnEnd(turn_id="first"),
        TurnBegin(user_input="b", turn_id="t"),
        used,
    ):
        log.publish(message)
    log.publish(SubagentEvent(parent_tool_call_id="c", event=used))
    await log.aclose()
    log = await SessionLog.open(tmp_path, writer)
    turns = Turns(log, lambda: None)
    for _ in log.replay():
        (tmp_path / JOURNAL).unlink(missing_ok=True)

    async def work(_: Prompt) -> Ending:
        log.publish(used)
        return Ending("finished")

    async with asyncio.TaskGroup() as serving:
        serving.create_task(turns.serve(work))
        prompt = Prompt("", "c", turn_id="t", resumes=True)
        turns.submit(prompt)
        end = await prompt.outcome()
        await turns.close()
    assert end.usage == TokenUsage(output=30)
    await log.aclose()


async def test_what_a_call_asked_before_the_question_that_is_offered_again_is_not_asked_again(bench: Bench) -> None:
    outside = bench.root / "outside.txt"
    outside.write_text("hello\n")
    bench.script(call("StrReplaceFile", path=str(outside), edit={"old": "hello", "new": "bye"}), "text: unused")
    async with bench.running():
        session = await bench.new("ask")
        watcher = Watcher(session, answer=None)
        session.turns.prompt("go", "watcher")
        read = await watcher.wait_for(ApprovalRequest)
        session.parts.attached.answer(ApprovalResponse(request_id=read.id, response="approve"), "watcher")
        edit = await watcher.wait_for(ApprovalRequest, lambda request: request.id != read.id)
    bench.script("text: done")
    async with bench.running():
        watcher = Watcher(await bench.open(session.id))
        assert (await watcher.wait_for(TurnEnd)).stop_reason == "finished"
    assert {request.id for request in watcher.of(ApprovalRequest)} <= {edit.id}
    assert not watcher.of(RequestClosed)
    assert outside.read_text() == "bye\n"


async def test_a_call_behind_one_that_waited_for_approval_has_not_run_and_follows_it(bench: Bench) -> None:
    bench.script(f"{call('WriteFile', path='b.txt', content='x')}\n{call('Shell', command='cp b.txt c.txt')}")
    session_id = kill_when(bench, "ask", "ApprovalRequest")
    bench.script("text: and so it ends")
    async with bench.running():
        session = await bench.open(session_id)
        watcher = Watcher(session)
        await watcher.wait_for(TurnEnd)
        replayed = [record.message for record in session.log.replay()]
    assert [message.return_value.is_error for message in replayed if isinstance(message, ToolResult)] == [False, False]
    assert (bench.project / "c.txt").read_text() == "x"
    told = [message.type for message in replayed if isinstance(message, Notification)]
    assert told == [TO_REVIEW], "nothing is said of a recovery"


async def test_an_approval_whose_file_changed_meanwhile_expires_and_is_no_denial(bench: Bench) -> None:
    bench.script(call("StrReplaceFile", path="a.txt", edit={"old": "hello", "new": "bye"}), "text: unused")
    session_id = kill_when(bench, "ask", "ApprovalRequest")
    (bench.project / "a.txt").write_text("hello, changed meanwhile\n")
    bench.script("text: I shall look again")
    async with bench.running():
        watcher = Watcher(await bench.open(session_id))
        end = await watcher.wait_for(TurnEnd)
        results = watcher.of(ToolResult)
    assert [closed.reason for closed in watcher.of(RequestClosed)] == ["expired"]
    assert "propose the action again" in results[0].return_value.message
    assert end.stop_reason == "finished"
    assert (bench.project / "a.txt").read_text() == "hello, changed meanwhile\n"


async def test_the_same_model_request_after_a_restart_without_the_context_file(bench: Bench) -> None:
    bench.script(call("ReadFile", path="a.txt"), "text: read it")
    async with bench.running():
        session = await bench.new()
        await finish(session, "go")
        before = tuple(messages_of(session)), prompt_of(session)
        directory = bench.state / "sessions" / session.id
    (directory / "context.jsonl").unlink()
    async with bench.running():
        again = await bench.open(session.id)
        assert (tuple(messages_of(again)), prompt_of(again)) == before


async def test_a_subagent_s_question_is_asked_again_and_all_above_it_goes_on(bench: Bench) -> None:
    agents = bench.config / "agents"
    agents.mkdir(parents=True)
    (agents / "boss.yaml").write_text("version: 1\nagent:\n  extend: default\n  subagents:\n    asker: asker.yaml\n")
    (agents / "asker.yaml").write_text("version: 1\nagent:\n  extend: default\n")
    questions = [{"question": "Which one?", "options": [{"label": "a"}, {"label": "b"}]}]
    bench.script(call("Agent", prompt="ask", subagent_type="asker"), call("AskUserQuestion", questions=questions))
    opening = bench.opening(capabilities=frozenset({"questions", "plan_mode"}))
    async with bench.running():
        session = await bench.host.new(opening)
        await choose(session, "agent", "boss")
        watcher = Watcher(session, answer=None)
        session.turns.prompt("go", "watcher")
        asked = await watcher.wait_for(QuestionRequest)
    bench.script("text: b it is", "text: done")
    async with bench.running():
        [carried] = await bench.host.inbox.all()
        assert carried.request == asked
        session = await bench.host.open(session.id, opening)
        watcher = Watcher(session)
        assert (await watcher.wait_for(QuestionRequest)).id == asked.id
        session.parts.attached.answer(QuestionResponse(request_id=asked.id, answers={"Which one?": "b"}), "watcher")
        assert (await watcher.wait_for(TurnEnd)).stop_reason == "finished"
        assert watcher.of(ToolResult)[-1].return_value.output == "b it is"
        assert not watcher.of(RequestClosed)
