"""What the user does while a command of the agent runs: no bulk reject and no undo takes it, and nobody takes it for the agent's."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from tests.agents.files.reviewing.commanddesk import Desk, desk, shell
from tests.agents.files.reviewing.livedesk import LiveDesk

from sould.agents.base.diskfile import digest_of
from sould.agents.files.directories.tree import file_clock
from sould.agents.files.projects.authors import authors
from sould.agents.files.reviewing.answers import Outcome
from sould.agents.files.reviewing.buffers import Buffers
from sould.agents.files.reviewing.listing import Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.wire.messages import FilesRestored, ToolOutput
from soultest.bench import Bench, asked

End: TypeAlias = Callable[[], Coroutine[None, None, None]]
LONG: Final[dict[str, Any]] = {"review": {"certain_within": 0}}
"""Every command is a long one."""


@asynccontextmanager
async def while_it_runs(bench: Bench, work: str = "true", then: str = "true") -> AsyncGenerator[tuple[Desk, End]]:
    """In the block, a command of the agent has done its `work`, and waits for its `End`, when it does something more."""
    go = bench.root / "go"
    os.mkfifo(go)
    command = shell(f"{work}; echo ready; read go < {go}; {then}")
    async with desk(bench, command, "text: 1", "text: 2") as at, asyncio.TaskGroup() as group:
        running = group.create_task(at.turn())
        await at.prints("ready")

        async def end() -> None:
            await asyncio.to_thread(go.write_text, "go\n")
            await running

        yield at, end


def a_moment() -> None:
    """What is done to files from here on is of a later time."""
    now = file_clock()
    while file_clock() == now:
        pass


def saved_in_place(path: Path, text: str) -> None:
    path.write_text(text)


def saved_by_rename(path: Path, text: str) -> None:
    path.with_name("swap").write_text(text)
    path.with_name("swap").rename(path)


def files(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.iterdir()}


def named(outcome: Outcome) -> set[tuple[str, str]]:
    """What was left, and why."""
    return {(Path(each.path).name, each.why) for each in outcome.left}


@pytest.mark.parametrize("save", [saved_in_place, saved_by_rename])
async def test_what_the_user_did_beside_a_long_command_stays_and_is_named(
    bench: Bench, save: Callable[[Path, str], None]
) -> None:
    bench.settings = LONG
    for name in ("a.py", "moved.txt", "gone.txt"):
        (bench.project / name).write_text(f"{name}\n")
    async with while_it_runs(bench) as (at, end):
        save(bench.project / "a.py", "U\n")
        at.user("mine.txt", "mine\n")
        (bench.project / "moved.txt").rename(bench.project / "there.txt")
        (bench.project / "gone.txt").unlink()
        await end()
        before = files(bench.project)
        listed = {(Path(each.path).name, each.kind) for each in await at.pending()}
        assert listed == {("a.py", "text"), ("mine.txt", "text"), ("there.txt", "rename"), ("gone.txt", "delete")}

        outcome = await at.reject()

        assert not outcome.done
        assert named(outcome) == {(name, "unsure") for name in ("a.py", "mine.txt", "there.txt", "gone.txt")}
        assert all(each.message.startswith("changed while `true; echo ready; read go <") for each in outcome.left)
        await at.says("/undo")
        [undone] = at.watcher.of(FilesRestored)
        assert {each.action for each in undone.files} == {"conflict"}
        assert files(bench.project) == before
        await at.says("what now?")
        assert not any("rejected" in text for text in asked(at.watcher.session))
        await at.port.review.decide(Order("keep", Selection(), "test"))
        assert not await at.pending()
        assert files(bench.project) == before


async def test_what_changed_beside_a_long_command_is_rejected_by_number(bench: Bench) -> None:
    bench.settings = LONG
    async with desk(bench, shell("echo more >> a.txt; echo new > new.txt"), "text: 1") as at:
        await at.turn()
        said = "".join(output.text for output in at.watcher.of(ToolOutput))
        assert "Changed while it ran, which took long enough that the user may have done it" in said
        await at.reject(*[each.id for each in await at.pending()])
        assert files(bench.project) == {"a.txt": "hello\n"}


async def test_what_a_client_reported_beside_a_long_command_is_the_users(bench: Bench) -> None:
    bench.settings = LONG
    path = bench.project / "a.txt"
    async with while_it_runs(bench) as (at, end):
        at.port.documents.open(path)
        at.port.documents.change(path, "U\n")
        at.user("a.txt", "U\n")
        at.port.documents.save(path)
        at.port.documents.close(path)
        at.port.documents.open(bench.project / "mine.txt")
        at.port.documents.change(bench.project / "mine.txt", "mine\n")
        a_moment()
        at.user("mine.txt", "mine\n")  # the editor does not say that it saved it
        await end()
        assert not await at.pending()


async def test_what_the_command_made_of_text_that_a_client_saved_may_be_either(bench: Bench) -> None:
    path = bench.project / "a.txt"
    async with while_it_runs(bench, then="echo more >> a.txt") as (at, end):
        at.port.documents.open(path)
        at.port.documents.change(path, "U\n")
        at.user("a.txt", "U\n")
        at.port.documents.save(path)
        await end()
        assert named(await at.reject()) == {("a.txt", "unsure")}
        assert at.text("a.txt") == "U\nmore\n"


async def test_a_formatter_over_files_open_in_an_editor_that_loads_them_again_is_the_agents(bench: Bench) -> None:
    async with while_it_runs(bench, "echo formatted > a.txt") as (at, end):
        at.port.documents.open(bench.project / "a.txt")
        await end()
        at.port.documents.open(bench.project / "a.txt")
        assert not (await at.reject()).left
        assert at.text("a.txt") == "hello\n"


def test_a_text_that_a_client_had_before_the_disk_is_its_users() -> None:
    buffers, path, since = Buffers(), Path("/a.txt"), time.monotonic()
    earlier = file_clock() - 1
    buffers.changed("an editor", path, "U\n")
    later = file_clock() + 1
    assert buffers.said(path, digest_of(b"U\n"), later, since) == "this"
    assert buffers.said(path, digest_of(b"U\n"), earlier, since) == "nothing"
    assert buffers.said(path, digest_of(b"other\n"), later, since) == "other"


async def test_what_is_found_while_a_short_command_runs_is_sure_when_it_has_ended(bench: Bench) -> None:
    async with while_it_runs(bench, "echo more >> a.txt; echo new > new.txt") as (at, end):
        assert all(each.unsure for each in await at.pending())
        assert named(await at.reject()) == {("a.txt", "unsure"), ("new.txt", "unsure")}
        await end()
        assert not any(each.unsure for each in await at.pending())
        await at.says("/undo")
        assert files(bench.project) == {"a.txt": "hello\n"}


async def test_what_is_sure_when_a_short_command_has_ended_is_so_after_a_restart(tmp_path: Path) -> None:
    async with aclosing(LiveDesk(tmp_path)) as at:
        at.user("a.txt", "hello\n")

        def work() -> None:
            at.user("a.txt", "hello\nmore\n")
            looked = asyncio.run_coroutine_threadsafe(at.hunks(), loop)
            assert [each.unsure for each in looked.result()] == [True]

        loop = asyncio.get_running_loop()
        await at.runs(work, "T1", "S1")
        await at.killed(len)
        assert [each.unsure for each in await at.hunks()] == [False]
        assert [each.action for each in await at.undo("T1")] == ["restored"]
        assert at.text("a.txt") == "hello\n"


async def test_a_file_that_may_be_the_users_and_that_an_agent_deletes_comes_back(tmp_path: Path) -> None:
    async with aclosing(LiveDesk(tmp_path)) as at:
        at.certain_within = 0.0
        await at.runs(lambda: at.user("mine.txt", "mine\n"), "T1", "S1")
        assert await at.writes("mine.txt", None, "T2", "S1")
        outcome = await at.decide("reject")
        assert at.text("mine.txt") == "mine\n"
        assert named(outcome) == {("mine.txt", "unsure")}


async def test_what_the_user_wrote_before_a_long_command_is_the_users(tmp_path: Path) -> None:
    async with aclosing(LiveDesk(tmp_path)) as at:
        at.certain_within = 0.0
        at.user("a.txt", "1\n2\n3\n")
        assert await at.writes("a.txt", "1\ntwo\n3\n", "T1", "S1")
        at.user("a.txt", "1\ntwo\n3\nmine\n")
        await at.runs(lambda: at.user("a.txt", "one\ntwo\n3\nmine\n"), "T2", "S1")
        assert [(each.texts, each.unsure) for each in await at.hunks()] == [(("one\n",), True), (("two\n",), False)]
        await at.decide("reject")
        assert at.text("a.txt") == "one\n2\n3\nmine\n"


async def test_what_changed_beside_a_long_command_counts_as_the_agents_where_trust_is_asked_about(
    tmp_path: Path,
) -> None:
    async with aclosing(LiveDesk(tmp_path)) as at:
        at.certain_within = 0.0
        hooks = at.root / ".sould" / "hooks.toml"
        await at.runs(lambda: at.user(".sould/hooks.toml", "evil\n"), "T1", "S1")
        found = authors(at.state / "sessions", {hooks: digest_of(b"evil\n")})
        assert found[hooks].session_id == "S1"
