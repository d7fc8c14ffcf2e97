"""A full disk for every write of a turn: from the n-th on the disk takes nothing more, until there is room again.

The kernel itself refuses. A test sees where Python calls into the system, counts what is written to files there, and at the
n-th write takes the room away; nothing of the product is replaced.
"""

import io
import posix
import resource
import sqlite3
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import pytest

from sould.agents.base.errors import JournalFullError
from sould.agents.sessions.settings.state import load_state
from sould.agents.wire.messages import SessionChanged, ToolResult, TurnEnd
from soultest.bench import Bench, Watcher, call, finish, make_bench
from soultest.bench.looks import choose, messages_of
from soultest.daemon import count
from soultest.disks import mounted

TURN = (
    call("SetTodoList", todos=[{"title": "look", "status": "in_progress"}]),
    call("WriteFile", path="made.txt", content="made"),
    call("Shell", command="seq 20000; echo x > by_command.txt"),
    "text: all done",
)


class Disk:
    """Has room until the `n`-th write of this process since `take_away`."""

    def __init__(self, fill: Callable[[], None], empty: Callable[[], None], *, makes: tuple[str, ...] = ()) -> None:
        """`makes`: calls that need room, too, besides those that write."""
        self.writes = 0
        self._counted = ("write", "pwrite", *makes)
        self._fill = fill
        self._empty = empty
        self._last = 0

    def take_away(self, n: int) -> None:
        """From the n-th write on there is no room."""
        self.writes, self._last = 0, n

    def give_back(self) -> None:
        """There is room."""
        self._last = 0
        self._empty()

    def see(self, _: FrameType, event: str, called: object) -> None:
        """For `sys.setprofile`: every call into the system, just before it."""
        if event == "c_call" and self._last and self._writes(called):
            self.writes += 1
            if self.writes == self._last:
                self._fill()

    def _writes(self, called: object) -> bool:
        owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
        if isinstance(owner, sqlite3.Connection):
            return name == "execute"
        return (owner is posix and name in self._counted) or (isinstance(owner, io.BufferedWriter) and name == "write")


@contextmanager
def watched(disk: Disk) -> Generator[Disk]:
    """`disk` sees this thread, and those that begin."""
    threading.setprofile(disk.see)
    sys.setprofile(disk.see)
    try:
        yield disk
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        disk.give_back()


def _limit(size: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


@pytest.fixture
def quota() -> Iterator[Disk]:
    """No file grows any more, wherever it is: every write fails, even of a byte."""
    with watched(Disk(lambda: _limit(0), lambda: _limit(resource.RLIM_INFINITY))) as disk:
        yield disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Disk]:
    """The state directory on a file system without a free block: nothing is made, a file grows to the end of its last block."""
    state, ballast = tmp_path / "state", tmp_path / "state" / "ballast"
    state.mkdir()

    def fill() -> None:
        with ballast.open("wb", buffering=0) as file:
            for size in (1 << 20, 4096):
                with suppress(OSError):
                    while file.write(bytes(size)):
                        pass

    full = Disk(fill, lambda: ballast.unlink(missing_ok=True), makes=("open", "mkdir", "replace"))
    with mounted(state, "32m"), watched(full) as disk:
        yield disk


async def _at_every_write(bench: Bench, disk: Disk, step: int) -> dict[str, list[object]]:
    """A session for each n: a turn, one that the disk cuts off at its n-th write, and one with room again.

    What each session had said by then.
    """
    said: dict[str, list[object]] = {}
    cut_off = 0
    other = Watcher(await bench.new("full"))
    await finish(other.session, "begin")
    seen = len(other.records)
    for n in range(1, 1000, step):
        for name in ("made.txt", "by_command.txt"):
            (bench.project / name).unlink(missing_ok=True)
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "one")
        disk.take_away(n)
        end = await finish(watcher.session, "two")
        writes = disk.writes
        disk.give_back()
        _assert_honest(n, end, watcher, bench.project)
        after = await finish(watcher.session, "three")
        assert (after.stop_reason, after.error) == ("finished", None), n
        todos = [each.title for each in load_state(watcher.session.parts.services.directory).todos]
        assert todos == ["look"] or not _listed(watcher), n
        said[watcher.session.id] = list(messages_of(watcher.session))
        cut_off += end.error is not None
        if writes < n:
            break
    assert cut_off, "no write was cut off"
    assert len(other.records) == seen, "another session hears nothing of it"
    assert (await finish(other.session, "go on")).error is None
    return said


def _assert_honest(n: int, end: TurnEnd, watcher: Watcher, project: Path) -> None:
    assert end.error is None or end.error.kind == "disk_full", (n, end)
    assert end.error is None or "the disk is full" in end.error.message.lower(), (n, end)
    made = project / "made.txt"
    assert not made.exists() or made.read_text() == "made", "a file is whole or is not there"
    for result in watcher.of(ToolResult):
        message = result.return_value.message
        assert "failed inside" not in message, (n, message)


def _listed(watcher: Watcher) -> bool:
    """The task list was taken."""
    return any(not result.return_value.is_error for result in watcher.of(ToolResult)[:1])


async def test_no_write_of_a_turn_that_fails_is_taken_for_a_bug_or_loses_what_was_said(
    quota: Disk, tmp_path: Path
) -> None:
    bench = make_bench(tmp_path, {}, ["text: one", *TURN, "text: three"])
    await _keeps_all(bench, quota, count(1, 3))


@pytest.mark.needs_root
async def test_nor_where_the_disk_itself_is_full(small_disk: Disk, tmp_path: Path) -> None:
    bench = make_bench(tmp_path, {}, ["text: one", *TURN, "text: three"])
    await _keeps_all(bench, small_disk, count(1, 12))


async def _keeps_all(bench: Bench, disk: Disk, step: int) -> None:
    async with bench.running():
        said = await _at_every_write(bench, disk, step)
    async with bench.running():
        for session_id, messages in said.items():
            session = await bench.open(session_id)
            assert list(messages_of(session)) == messages
            await bench.host.stored.delete(session_id)


async def test_a_choice_on_a_full_disk_holds_is_shown_and_is_kept_once_there_is_room(
    quota: Disk, tmp_path: Path
) -> None:
    bench = make_bench(tmp_path, {}, ["text: one", "text: two"])
    async with bench.running():
        watcher = Watcher(await bench.new())
        session = watcher.session
        await finish(session, "one")
        quota.take_away(1)
        with pytest.raises(JournalFullError, match="disk is full"):
            await choose(session, "mode", "review", "watcher")
        quota.give_back()
        assert session.parts.services.permission.modes.mode == "review"
        assert (watcher.of(SessionChanged)[-1].options or {})["mode"] == "review"
        await finish(session, "two")
        assert load_state(session.parts.services.directory).mode == "review"
