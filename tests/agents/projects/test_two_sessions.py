"""Two sessions of one daemon and one file: they edit one after the other, nobody waits for another's question, and what one of them
wrote and nobody reviewed yet is not overwritten by the other unseen (D42)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from sould.agents.projects.port import ProjectPort
from sould.agents.reviewing.listing import ReviewedHunk, Selection
from sould.agents.reviewing.review import Order
from sould.agents.sessions.session import Session
from sould.agents.wire.messages import ApprovalRequest, CommandBegin, ToolResult, ToolReturn
from soultest.bench import Bench, Watcher, call, finish


def replace(old: str, new: str) -> str:
    return call("StrReplaceFile", path="a.txt", edit={"old": old, "new": new})


def result(watcher: Watcher) -> ToolReturn:
    """What its last call came to."""
    return watcher.of(ToolResult)[-1].return_value


async def hunks(bench: Bench) -> list[ReviewedHunk]:
    async with ProjectPort.opened(bench.host.projects, bench.project, bench.root, "reviewer") as port:
        return [hunk for each in await port.review() for hunk in each.hunks]


class Program(Watcher):
    """A client that cannot be asked."""

    speaks_for_user = False


class Pair:
    """Case 4: the first session changed line 2 of the file; the second one is about to change it, too."""

    def __init__(self, bench: Bench, first: Session) -> None:
        self.bench = bench
        self.first = first

    @classmethod
    @asynccontextmanager
    async def working(cls, bench: Bench, mode: str = "review") -> AsyncGenerator["Pair"]:
        (bench.project / "a.txt").write_text("a\nb\nc\nd\n")
        bench.script(replace("b", "B"), "text: done", "text: done")
        async with bench.running():
            first = await bench.new(mode)
            await finish(first, "Make it large")
            yield cls(bench, first)

    async def second(self, *scripts: str, mode: str = "review") -> Session:
        """Another session, whose model says this."""
        self.bench.script(*scripts, "text: done")
        return await self.bench.new(mode)

    @property
    def text(self) -> str:
        return (self.bench.project / "a.txt").read_text()


async def test_a_write_beside_another_sessions_hunk_goes_ahead_and_names_it(bench: Bench) -> None:
    async with Pair.working(bench) as pair:
        watcher = Watcher(await pair.second(replace("d", "D")))
        await finish(watcher.session, "go")
        assert not watcher.of(ApprovalRequest)
        assert "“Make it large”" in result(watcher).message
        assert "line 2" in result(watcher).message
        assert [hunk.texts for hunk in await hunks(bench)] == [("B\n",), ("D\n",)]
        async with ProjectPort.opened(bench.host.projects, bench.project, bench.root, "reviewer") as port:
            await port.decide(Order("reject", Selection(session_id=pair.first.id), "reviewer"))
        assert pair.text == "a\nb\nc\nD\n"


async def test_a_write_over_another_sessions_hunk_is_asked_about_once(bench: Bench) -> None:
    async with Pair.working(bench) as pair:
        first, *_ = await hunks(bench)
        watcher = Watcher(await pair.second(replace("B", "BB"), replace("BB", "BBB")))
        await finish(watcher.session, "go")
        [asked] = watcher.of(ApprovalRequest)
        assert "“Make it large”" in asked.description
        assert f"hunk {first.id} at line 2" in asked.description
        assert pair.text == "a\nBBB\nc\nd\n"
        [hunk] = await hunks(bench)
        assert (hunk.id, hunk.sessions) == (first.id, {pair.first.id, watcher.session.id})


async def test_a_write_over_another_sessions_hunk_that_is_refused_changes_nothing(bench: Bench) -> None:
    async with Pair.working(bench, "full") as pair:
        watcher = Watcher(await pair.second(replace("B", "BB"), mode="full"), answer="reject", feedback="not that one")
        await finish(watcher.session, "go")
        assert result(watcher).is_error
        assert pair.text == "a\nB\nc\nd\n"


async def test_without_anybody_to_ask_it_is_an_error_that_says_the_same(bench: Bench) -> None:
    async with Pair.working(bench) as pair:
        watcher = Program(await pair.second(replace("B", "BB")))
        await finish(watcher.session, "go")
        assert not watcher.of(ApprovalRequest)
        assert result(watcher).is_error
        assert "“Make it large”" in result(watcher).message
        assert "at line 2" in result(watcher).message
        assert pair.text == "a\nB\nc\nd\n"


async def test_while_the_other_sessions_turn_runs_any_write_to_its_file_is_asked_about(bench: Bench) -> None:
    (bench.project / "a.txt").write_text("a\nb\nc\nd\n")
    bench.script(replace("b", "B"), call("Shell", command="while [ ! -e ended ]; do sleep 0.05; done"), "text: done")
    async with bench.running():
        first = Watcher(await bench.new("full"))
        turn = asyncio.create_task(finish(first.session, "Make it large"))
        await first.wait_for(CommandBegin)
        bench.script(replace("d", "D"), replace("c", "C"), "text: done")
        second = Watcher(await bench.new("full"))
        await finish(second.session, "go")
        (bench.project / "ended").touch()
        await turn
    [asked] = second.of(ApprovalRequest)
    assert "at line 2" in asked.description
    assert (bench.project / "a.txt").read_text() == "a\nB\nC\nD\n"


async def test_a_question_of_one_session_holds_up_no_edit_of_another(bench: Bench) -> None:
    path = bench.project / "a.txt"
    path.write_text("line 0;\nline 1;\n")
    edits = [replace(f"line {n};", f"LINE {n};") for n in range(2)]
    bench.script(*edits, "text: done", "text: done")
    async with bench.running():
        asking = Watcher(await bench.new("ask"), answer=None)
        turn = asyncio.create_task(finish(asking.session, "go"))
        await asking.wait_for(ApprovalRequest)
        await finish(await bench.new("review"), "go")
        assert path.read_text() in ("LINE 0;\nline 1;\n", "line 0;\nLINE 1;\n", "LINE 0;\nLINE 1;\n")
        asking.session.cancel(None)
        await turn
