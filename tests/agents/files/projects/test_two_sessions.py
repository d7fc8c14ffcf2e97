"""Two sessions of one daemon and one file: they edit one after the other, nobody waits for another's question, and what one of them
wrote and nobody reviewed yet is not overwritten by the other unseen (D42)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.sessions.session import Session
from sould.agents.wire.messages import ApprovalRequest, CommandBegin, ContextNote, ToolResult, ToolReturn
from soultest.bench import Bench, Watcher, call, finish


def replace(old: str, new: str) -> str:
    return call("StrReplaceFile", path="a.txt", edit={"old": old, "new": new})


def shell(command: str) -> str:
    return call("Shell", command=command)


def told(watcher: Watcher) -> str:
    """What its model was told last of files."""
    return watcher.of(ContextNote)[-1].text


def result(watcher: Watcher) -> ToolReturn:
    """What its last call came to."""
    return watcher.of(ToolResult)[-1].return_value


async def hunks(bench: Bench) -> list[ReviewedHunk]:
    async with ProjectPort.opened(bench.host.projects, bench.project, bench.root, "reviewer") as port:
        return [hunk for each in await port.pending_now() for hunk in each.hunks]


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
            await port.review.decide(Order("reject", Selection(session_id=pair.first.id), "reviewer"))
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
        asking.session.turns.cancel(None)
        await turn


@asynccontextmanager
async def both(bench: Bench, first: str, second: str) -> AsyncGenerator[tuple[Watcher, Watcher, ProjectPort]]:
    """Two sessions in `full` whose agents have done this, one after the other, and a client of the project."""
    (bench.project / "a.txt").write_text("a\nb\nc\nd\n")
    bench.script(first, "text: done", "text: done")
    async with bench.running():
        watchers: list[Watcher] = []
        for script in (first, second):
            bench.script(script, "text: done", "text: done", "text: done", "text: done")
            watchers.append(Watcher(await bench.new("full")))
            await finish(watchers[-1].session, "Make it large")
        bench.script(*["text: done"] * 4)  # a changed file is played from its beginning: no command is run again
        async with ProjectPort.opened(bench.host.projects, bench.project, bench.root, "reviewer") as port:
            yield watchers[0], watchers[1], port


async def test_a_command_over_another_sessions_hunk_makes_it_one_of_both_and_both_are_told(bench: Bench) -> None:
    async with both(bench, replace("b", "B"), shell("sed -i s/B/BB/ a.txt")) as (first, second, port):
        [hunk] = await hunks(bench)
        assert (hunk.base, hunk.texts) == (("b\n",), ("BB\n",))
        assert hunk.sessions == {first.session.id, second.session.id}
        assert f"hunk {hunk.id} at line 2, by the session “Make it large”" in result(second).message
        await finish(first.session, "go on")
        assert "agents of other sessions" in told(first)
        assert "-B\n+BB" in told(first)
        for watcher in (first, second):
            outcome = await port.review.decide(Order("reject", Selection(session_id=watcher.session.id), "reviewer"))
            assert [each.why for each in outcome.left] == ["shared"]
        await port.review.decide(Order("reject", Selection((hunk.id,)), "reviewer"))
        assert (bench.project / "a.txt").read_text() == "a\nb\nc\nd\n"
        for watcher in (first, second):
            await finish(watcher.session, "go on")
            assert "rejected changes of yours" in told(watcher)


async def test_a_command_that_removes_another_sessions_hunk_says_so_and_it_is_back_when_that_is_rejected(
    bench: Bench,
) -> None:
    async with both(bench, replace("b", "B"), shell("rm a.txt")) as (first, second, port):
        assert "hunk 1 at line 2, by the session “Make it large”" in result(second).message
        await finish(first.session, "go on")
        assert "a.txt was deleted" in told(first)
        [deletion] = await hunks(bench)
        await port.review.decide(Order("reject", Selection((deletion.id,)), "reviewer"))
        assert (bench.project / "a.txt").read_text() == "a\nB\nc\nd\n"
        assert [(each.id, each.sessions) for each in await hunks(bench)] == [(1, {first.session.id})]


async def test_a_command_that_leaves_another_sessions_hunk_as_it_is_says_nothing_of_it(bench: Bench) -> None:
    async with both(bench, replace("b", "B"), shell("sed -i s/d/D/ a.txt")) as (_, second, _port):
        assert "session" not in result(second).message
        assert [each.texts for each in await hunks(bench)] == [("B\n",), ("D\n",)]


async def test_a_session_is_told_of_what_another_one_writes_into_a_file_it_has_read(bench: Bench) -> None:
    async with both(bench, call("ReadFile", path="a.txt"), replace("b", "B")) as (first, _, _port):
        await finish(first.session, "go on")
        assert "agents of other sessions" in told(first)
        assert "-b\n+B" in told(first)


async def test_a_reject_of_what_another_session_wrote_is_told_to_whoever_has_read_it(bench: Bench) -> None:
    async with both(bench, replace("b", "B"), call("ReadFile", path="a.txt")) as (_, second, port):
        await port.review.decide(Order("reject", Selection(), "reviewer"))
        await finish(second.session, "go on")
        assert "the user" in told(second)
        assert "-B\n+b" in told(second)


async def test_a_reject_that_is_taken_back_after_it_was_told_is_told_too(bench: Bench) -> None:
    async with both(bench, replace("b", "B"), "text: nothing") as (first, _, port):
        [hunk] = await hunks(bench)
        await port.review.decide(Order("reject", Selection((hunk.id,)), "reviewer"))
        await finish(first.session, "go on")
        await port.review.decide(Order("undo", Selection((hunk.id,)), "reviewer"))
        await finish(first.session, "go on")
        assert "-b\n+B" in told(first)
