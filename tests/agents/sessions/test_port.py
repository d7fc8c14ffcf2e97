"""What a frontend may do with a session beside prompts: each operation's answer, and what everybody else sees of it."""

import asyncio

import pytest

from sould.agents.sessions.operations.travel import NothingToGoTo, Returned, WentBack
from sould.agents.sessions.port import SessionPort
from sould.agents.sessions.turns.operating import OperationCancelledError
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ContextReverted, Notification, TurnBegin
from sould.agents.wire.notice import TO_REVIEW
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.looks import messages_of


def write(path: str, content: str) -> str:
    return call("WriteFile", path=path, content=content)


async def worked(bench: Bench) -> Watcher:
    """One turn that changed a file."""
    bench.script(write("a.txt", "one\n"), "text: 1", "text: 2", "text: 3")
    watcher = Watcher(await bench.new("full"))
    await finish(watcher.session, "first")
    return watcher


async def test_going_back_and_returning_are_no_turns_and_everybody_is_told(bench: Bench) -> None:
    a = bench.project / "a.txt"
    async with bench.running():
        watcher = await worked(bench)
        port, turns = SessionPort(watcher.session), len(watcher.of(TurnBegin))
        assert port.travel.timeline().can_undo
        went = await port.travel.undo("me")
        assert isinstance(went, WentBack)
        assert [file.action for file in went.restored.files] == ["restored"]
        assert (a.read_text(), port.travel.timeline().can_redo) == ("hello\n", True)
        assert await port.travel.undo("me") == NothingToGoTo("nothing_to_undo")
        assert isinstance(await port.travel.redo("me"), Returned)
        assert a.read_text() == "one\n"
        assert await port.travel.redo("me") == NothingToGoTo("nothing_to_redo")
        assert await port.travel.rewind(99, "me") == NothingToGoTo("unknown_checkpoint")
        (first,) = port.travel.timeline().turns
        assert isinstance(await port.travel.rewind(first, "me"), WentBack)
    assert a.read_text() == "hello\n"
    assert len(watcher.of(TurnBegin)) == turns
    assert [told.title for told in watcher.of(Notification) if told.type != TO_REVIEW] == [
        "The last turn was undone.",
        "Returned.",
        f"Back at checkpoint {first}.",
    ]


async def test_an_operation_waits_for_the_running_turn_and_comes_before_the_prompts_that_wait(bench: Bench) -> None:
    bench.script(
        write("a.txt", "one\n"), call("Shell", command="until test -e go; do sleep 0.02; done"), "text: 1", "text: 2"
    )
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        port = SessionPort(watcher.session)
        running, waiting = port.turns.prompt("first", "me"), port.turns.prompt("second", "me")
        undo = asyncio.ensure_future(port.travel.undo("me"))
        (bench.project / "go").touch()
        await running.outcome()
        assert isinstance(await undo, WentBack)
        assert (bench.project / "a.txt").read_text() == "hello\n"
        await waiting.outcome()
    kinds = [type(message).__name__ for message in watcher.messages if isinstance(message, TurnBegin | ContextReverted)]
    assert kinds == ["TurnBegin", "ContextReverted", "TurnBegin"]


async def test_an_operation_that_waits_can_be_cancelled_and_does_nothing_then(bench: Bench) -> None:
    bench.script(write("a.txt", "one\n"), call("Shell", command="sleep 600"))
    async with bench.running():
        watcher = Watcher(await bench.new("full"))
        port = SessionPort(watcher.session)
        running = port.turns.prompt("first", "me")
        undo, other = asyncio.ensure_future(port.travel.undo("me")), asyncio.ensure_future(port.travel.undo("other"))
        await asyncio.sleep(0)
        port.turns.cancel("me")
        assert (await running.outcome()).stop_reason == "cancelled"
        with pytest.raises(OperationCancelledError):
            await undo
        assert isinstance(await other, WentBack)
        assert len(watcher.of(ContextReverted)) == 1


async def test_a_session_that_ends_refuses_what_waits(bench: Bench) -> None:
    bench.script(call("Shell", command="sleep 600"))
    async with bench.running():
        port = SessionPort(await bench.new("full"))
        port.turns.prompt("first", "me")
        undo = asyncio.ensure_future(port.travel.undo("me"))
        await asyncio.sleep(0)
    with pytest.raises(OperationCancelledError):
        await undo
    with pytest.raises(OperationCancelledError):
        await port.travel.redo("me")


async def test_a_fork_has_what_was_undone_between_turns_undone(bench: Bench) -> None:
    async with bench.running():
        session = (await worked(bench)).session
        await SessionPort(session).travel.undo("me")
        fork = await bench.host.fork(session.id, session.parts.services.workplace.opening)
        assert not messages_of(fork)


async def test_the_context_is_cleared_and_compacted_only_where_there_is_something_to_compact(bench: Bench) -> None:
    async with bench.running():
        watcher = await worked(bench)
        port = SessionPort(watcher.session)
        await finish(watcher.session, "/clear")
        assert not messages_of(watcher.session)
        await finish(watcher.session, "/compact")
        assert "There is nothing to compact yet." in watcher.of(TextPart)[-1].text
        undone = await port.travel.undo("me")
        assert isinstance(undone, WentBack)
        assert undone.undid == "clearing"
