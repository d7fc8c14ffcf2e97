"""A project's edit log, cut off or damaged anywhere: it opens as far as whole events go, and no answered decision is lost."""

import asyncio
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
from msgspec import Struct
from tests.agents.files.reviewing.reviewdesk import ReviewDesk
from tests.faults.test_full_disk import Disk, watched

from sould.agents.base.diskfile import digest_of
from sould.agents.base.workspace import WorkspaceError
from sould.agents.files.edits.editlog import EditLogFile
from sould.agents.files.edits.logkeeping import LOG
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.reviewstate import ReviewState
from sould.agents.files.edits.snapshot import SNAPSHOT, Snapshots
from sould.agents.files.reviewing.listing import ReviewedHunk
from soultest.daemon import count

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
NUMBERS = "".join(f"{n}\n" for n in range(12))


class Moment(Struct):
    """What was known when the log had so many bytes and nobody was waiting for an answer."""

    size: int
    state: ReviewState


class Past(Struct):
    """A project that was worked in."""

    desk: ReviewDesk
    log: Path
    moments: list[Moment]
    snapshots: list[bytes]

    def as_of(self, size: int) -> ReviewState:
        """What was known last, as long as the log had so many bytes."""
        return next(each.state for each in reversed(self.moments) if each.size <= size)


async def past(base: Path) -> Past:
    """Agents and the user write, the user decides; each answer is a moment. A snapshot is from the middle of it."""
    desk = ReviewDesk(base)
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n"))
    [log] = desk.state.glob("projects/*/edits.jsonl")
    made = Past(desk, log, [], [])

    async def note() -> None:
        log_id, project = await desk.projects.borrow(desk.root)
        made.moments.append(Moment(log.stat().st_size, project.review.state.copy()))
        await desk.projects.give_back(log_id)

    await note()
    desk.user("a.txt", desk.text("a.txt").replace("9\n", "nine, by the user\n"))
    [hunk] = await desk.hunks()
    await note()
    await desk.decide("reject", hunk.id, reason="no words")
    await note()
    await desk.decide("undo", hunk.id)
    await note()
    await desk.restart()
    made.snapshots.append(log.with_name(SNAPSHOT).read_bytes())
    await desk.agent("b.txt", "made\n", session="S2")
    await note()
    await desk.command({"b.txt": "made\n"}, {"c.txt": "made\nmore\n"}, turn="T3")
    await note()
    await desk.decide("keep", paths=["a.txt"])
    await note()
    await desk.agent("a.txt", None, turn="T4")
    await note()
    await desk.aclose()
    return made


@contextmanager
def opened(directory: Path, made: Past) -> Generator[Project]:
    """The project as a daemon finds it, before it looks at any file."""
    file = EditLogFile(directory / LOG)
    try:
        store = made.desk.projects.store
        yield Project(made.desk.root, file, Snapshots(directory, file, store), store)
    finally:
        file.close()


def copied(made: Past, place: Path, log: bytes, snapshot: bytes | None) -> Path:
    """Its log and snapshot, as they are given."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / LOG).write_bytes(log)
    if snapshot is not None:
        (place / SNAPSHOT).write_bytes(snapshot)
    return place


async def test_a_log_cut_off_at_any_byte_gives_all_that_was_answered_before(tmp_path: Path) -> None:
    made = await past(tmp_path)
    whole = made.log.read_bytes()
    moments = {each.size: each.state for each in made.moments}
    begin = min(moments)
    for size in range(len(whole), begin - 1, -count(1, 7)):
        for snapshot in (None, made.snapshots[0]):
            with opened(copied(made, tmp_path / "cut", whole[:size], snapshot), made) as project:
                known = made.as_of(size)
                found = project.review.state
                assert found.next_id >= known.next_id
                assert {**found.verdicts, **known.verdicts} == found.verdicts, size
    for size, state in moments.items():
        for snapshot in (None, made.snapshots[0]):
            with opened(copied(made, tmp_path / "cut", whole[:size] + b'{"type":"int', snapshot), made) as project:
                assert project.review.state == state, size


@pytest.mark.parametrize("with_snapshot", [False, True])
async def test_a_log_with_a_damaged_byte_opens(tmp_path: Path, with_snapshot: bool) -> None:
    made = await past(tmp_path)
    whole = made.log.read_bytes()
    for at in range(0, len(whole), count(1, 11)):
        for byte in (b"\n", b"9", b"\xff"):
            data = whole[:at] + byte + whole[at + 1 :]
            snapshot = made.snapshots[0] if with_snapshot else None
            with opened(copied(made, tmp_path / "damaged", data, snapshot), made) as project:
                for file in project.review.state.files.values():
                    assert file.text.base is not None


def run(base: Path, n: int | str, what: str) -> subprocess.CompletedProcess[str]:
    """See `killedreview`."""
    program = [sys.executable, str(Path(__file__).with_name("killedreview.py")), str(base), str(n), what]
    return subprocess.run(program, check=False, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT)


def limit(size: int) -> None:
    """How large a file of this process may become."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


Act: TypeAlias = Callable[[ReviewDesk, Sequence[ReviewedHunk]], Awaitable[str]]
"""What somebody does with a project; what is said when it is refused."""


async def rejects_one(desk: ReviewDesk, hunks: Sequence[ReviewedHunk]) -> str:
    return "".join(each.message for each in (await desk.decide("reject", hunks[0].id)).left)


async def keeps_all(desk: ReviewDesk, hunks: Sequence[ReviewedHunk]) -> str:
    return "".join(each.message for each in (await desk.decide("keep", *(each.id for each in hunks))).left)


async def writes(desk: ReviewDesk, hunks: Sequence[ReviewedHunk]) -> str:
    try:
        await desk.agent("a.txt", desk.text("a.txt").replace("6\n", "six\n"), turn="T2")
    except (WorkspaceError, OSError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("act", [rejects_one, keeps_all, writes])
async def test_on_a_full_disk_what_is_refused_is_said_and_nothing_is_half_done(tmp_path: Path, act: Act) -> None:
    refused = 0
    with watched(Disk(lambda: limit(0), lambda: limit(resource.RLIM_INFINITY))) as disk:
        for n in range(1, 100):
            desk = ReviewDesk(tmp_path / str(n))
            desk.user("a.txt", NUMBERS)
            await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n").replace("9\n", "nine\n"))
            hunks = await desk.hunks()
            before = desk.text("a.txt")
            disk.take_away(n)
            said = await act(desk, hunks)
            count_of_writes = disk.writes
            disk.give_back()
            text, known = desk.text("a.txt"), await desk.hunks()

            await desk.restart()

            assert await desk.hunks() == known, (n, said)
            assert desk.text("a.txt") == text, (n, said)
            if said:
                assert (text, known) == (before, hunks), (n, said)
                refused += 1
            await desk.decide("reject")
            assert not await desk.hunks(), (n, said)
            await desk.aclose()
            if count_of_writes < n:
                break
        else:
            pytest.fail("it never came to an end")
    assert refused


async def test_a_daemon_that_is_killed_before_any_write_of_a_decision_has_made_it_or_not(tmp_path: Path) -> None:
    seen: set[str] = set()
    for n in range(1, 300, count(1, 3)):
        base = tmp_path / str(n)
        desk = ReviewDesk(base)
        desk.user("a.txt", NUMBERS)
        agents = NUMBERS.replace("3\n", "three\n").replace("9\n", "nine\n")
        await desk.agent("a.txt", agents)
        hunks = await desk.hunks()
        await desk.aclose()

        killed = await asyncio.to_thread(run, base, n, "reject")
        assert killed.returncode in (0, -signal.SIGKILL), killed.stderr
        [log] = (base / "state").glob("projects/*/edits.jsonl")
        logged = b'"by":"killed"' in log.read_bytes()
        was = desk.text("a.txt")

        again = ReviewDesk(base, base / "project")
        left = await again.hunks()

        if "answered" in killed.stdout or logged:
            assert (left, again.text("a.txt")) == ([], NUMBERS), n
        else:
            assert (left, again.text("a.txt")) == (hunks, agents), n
        seen.add("before" if not logged else "between" if was == agents else "after")
        assert not list(again.root.glob(".sould-*")), n
        await again.aclose()
        if "ended" in killed.stdout:
            break
    else:
        pytest.fail("it never came to an end")
    assert seen == {"before", "between", "after"}


LONG = f"not {NUMBERS * 1000}"


@contextmanager
def mounted(source: Path, path: Path) -> Generator[Path]:
    """`source` is mounted there, as containers mount single files."""
    source.write_bytes(path.read_bytes())
    subprocess.run(["mount", "--bind", str(source), str(path)], check=True)
    try:
        yield source
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@contextmanager
def linked(other: Path, path: Path) -> Generator[Path]:
    """`other` is another name of the file."""
    other.hardlink_to(path)
    yield other


InPlace: TypeAlias = Callable[[Path, Path], AbstractContextManager[Path]]
"""Why a file is written where it is: given another path, and its own; the other path that has its text, too."""
IN_PLACE = pytest.mark.parametrize("in_place", [linked, pytest.param(mounted, marks=pytest.mark.needs_root)])


@IN_PLACE
@pytest.mark.parametrize(
    ("text", "call", "left"),
    [
        ("short\n", "pwrite:1", "before"),
        ("short\n", "ftruncate:1", "torn"),
        (LONG, "pwrite:1", "before"),
        (LONG, "pwrite:2", "torn"),
        (LONG, "ftruncate:1", "after"),
        ("", "ftruncate:1", "before"),
    ],
)
async def test_a_daemon_that_is_killed_while_it_writes_in_place_has_made_the_edit_or_not(
    tmp_path: Path, in_place: InPlace, text: str, call: str, left: str
) -> None:
    desk = ReviewDesk(tmp_path)
    desk.user("a.txt", NUMBERS)
    with in_place(desk.root / "other", desk.root / "a.txt") as other:
        await desk.hunks()
        await desk.aclose()
        killed = await asyncio.to_thread(run, tmp_path, call, text)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert {NUMBERS: "before", text: "after"}.get(desk.text("a.txt"), "torn") == left

        again = ReviewDesk(tmp_path, desk.root)
        hunks = await again.hunks()

        assert other.read_text() == again.text("a.txt") == (text if left == "after" else NUMBERS)
        assert len(hunks) == (left == "after")
        assert sorted(os.listdir(again.root)) == ["a.txt", "other"]
        await again.aclose()


@IN_PLACE
@pytest.mark.parametrize("call", ["pwrite:1", "ftruncate:1"])
async def test_a_decision_that_was_cut_off_while_it_wrote_in_place_is_carried_out(
    tmp_path: Path, in_place: InPlace, call: str
) -> None:
    desk = ReviewDesk(tmp_path)
    desk.user("a.txt", NUMBERS)
    with in_place(desk.root / "other", desk.root / "a.txt") as other:
        agents = NUMBERS.replace("3\n", "three\n").replace("9\n", "nine\n")
        await desk.agent("a.txt", agents)
        await desk.aclose()
        killed = await asyncio.to_thread(run, tmp_path, call, "reject")
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert (desk.text("a.txt") == agents) == (call == "pwrite:1")
        assert desk.text("a.txt") != NUMBERS

        again = ReviewDesk(tmp_path, desk.root)

        assert not await again.hunks()
        assert other.read_text() == again.text("a.txt") == NUMBERS
        assert sorted(os.listdir(again.root)) == ["a.txt", "other"]
        await again.aclose()


async def test_what_was_written_since_a_write_in_place_was_cut_off_stays(tmp_path: Path) -> None:
    desk = ReviewDesk(tmp_path)
    desk.user("a.txt", NUMBERS)
    (desk.root / "same.txt").hardlink_to(desk.root / "a.txt")
    await desk.hunks()
    await desk.aclose()
    await asyncio.to_thread(run, tmp_path, "ftruncate:1", "short\n")
    (desk.root / "a.txt").write_text("the user's\n")

    again = ReviewDesk(tmp_path, desk.root)
    await again.hunks()

    assert again.text("a.txt") == again.text("same.txt") == "the user's\n"
    assert sorted(os.listdir(again.root)) == ["a.txt", "same.txt"]
    await again.aclose()


async def test_a_daemon_that_is_killed_while_old_edits_go_leaves_the_old_log_or_the_new_one(tmp_path: Path) -> None:
    seen: set[bool] = set()
    for n in range(1, 300, count(1, 3)):
        base = tmp_path / str(n)
        desk = ReviewDesk(base)
        desk.user("old.txt", NUMBERS)
        await desk.agent("old.txt", NUMBERS.replace("3\n", "three\n"), session="S2")
        await desk.decide("keep")
        await desk.agent("a.txt", "pending\n")
        hunks = await desk.hunks()
        await desk.aclose()
        shutil.rmtree(desk.state / "sessions" / "S2")

        killed = await asyncio.to_thread(run, base, n, "age")
        assert killed.returncode in (0, -signal.SIGKILL), killed.stderr

        [log] = desk.state.glob("projects/*/edits.jsonl")
        seen.add(b"old.txt" in log.read_bytes())
        for snapshot in (True, False):
            if not snapshot:
                log.with_name(SNAPSHOT).unlink(missing_ok=True)
            again = ReviewDesk(base, base / "project")
            assert await again.hunks() == hunks, n
            await again.aclose()
        assert desk.projects.store.get(digest_of(b"pending\n"))
        if "ended" in killed.stdout:
            break
    else:
        pytest.fail("it never came to an end")
    assert seen == {True, False}
