"""Side questions: answered without tools, and given up once."""

import asyncio
from pathlib import Path

import pytest

from sould.agents.wire.messages import BtwBegin, BtwEnd, ToolCall
from soultest.bench import Watcher, call, finish, make_bench

SHELL = call("Shell", command="touch b.txt")


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


async def test_of_an_answer_without_an_end_only_the_beginning_is_read(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[f"text: {'more ' * 100_000}"])
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        await finish(session, "/btw how much?")
        response = watcher.of(BtwEnd)[0].response or ""
    assert len(response) < 25_000
    assert response.startswith("more more ")
    assert response.endswith("…")


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
        question = session.turns.prompt("/btw hm?", "watcher")
        if end == "cancel":
            session.turns.cancel("watcher")
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
        assert "btw" in {command.name for command in session.commands.all()}
