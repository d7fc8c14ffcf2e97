"""Side questions: answered beside a turn, without tools, and never remembered by the model."""

import asyncio
from pathlib import Path

import pytest

from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, BtwBegin, BtwEnd, ToolCall, TurnBegin, TurnEnd
from soultest.bench import Watcher, call, finish, make_bench

SHELL = call("Shell", command="touch b.txt")


async def test_a_side_question_is_answered_while_a_turn_waits_and_is_not_remembered(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[SHELL, "text: because of the disk", "text: done"])
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session, answer=None)
        prompt = session.prompt("go", "watcher")
        request = await watcher.wait_for(ApprovalRequest)
        end = await asyncio.wait_for(finish(session, "/btw why so slow?"), 10)
        assert end.stop_reason == "finished"
        assert session.running
        assert watcher.of(BtwBegin)[0].question == "why so slow?"
        assert watcher.of(BtwBegin)[0].client_id == "watcher"
        answer = watcher.of(BtwEnd)[0]
        assert (answer.id, answer.response) == (watcher.of(BtwBegin)[0].id, "because of the disk")
        session.answer(ApprovalResponse(request_id=request.id, response="approve"), "watcher")
        await prompt.outcome()
        assert len(watcher.of(TurnBegin)) == len(watcher.of(TurnEnd)) == 1
        remembered = repr(session.log.context.messages)
        assert "why so slow" not in remembered
        assert "because of the disk" not in remembered
    assert (bench.project / "b.txt").exists()


async def test_a_side_question_runs_no_tool_and_gets_two_tries(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[SHELL, "text: without tools, then", SHELL, SHELL, "text: next"])
    async with bench.running():
        session = await bench.new("full")
        watcher = Watcher(session)
        await finish(session, "/btw first")
        await finish(session, "/btw second")
        first, second = watcher.of(BtwEnd)
        assert first.response == "without tools, then"
        assert second.response is None
        assert second.error is not None
        assert not watcher.of(ToolCall)
    assert not (bench.project / "b.txt").exists()


async def test_a_model_that_fails_is_the_answer_s_error(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        assert (await finish(session, "/btw anyone?")).stop_reason == "finished"
        assert watcher.of(BtwEnd)[0].error


@pytest.mark.parametrize("end", ["cancel", "close"])
async def test_a_question_given_up_ends_once(tmp_path: Path, end: str) -> None:
    bench = make_bench(tmp_path, scripts=["text: never asked for"])
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        question = session.prompt("/btw hm?", "watcher")
        if end == "cancel":
            session.cancel("watcher")
        else:
            await session.aclose()
        outcome = await asyncio.wait_for(question.outcome(), 10)
        assert outcome.stop_reason in ("cancelled", "finished", "interrupted")
        assert len(watcher.of(BtwBegin)) == len(watcher.of(BtwEnd))


async def test_btw_alone_says_what_it_is_for(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        await finish(session, "/btw")
        assert not watcher.of(BtwBegin)
        assert "btw" in {command.name for command in session.commands()}
