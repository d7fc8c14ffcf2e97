"""The log of a project that was moved, or that an earlier version wrote; and what a large file costs."""

import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from tests.agents.files.reviewing.reviewdesk import ReviewDesk

from sould.agents.files.edits.snapshot import SNAPSHOT

NUMBERS = "".join(f"{n}\n" for n in range(12))


def keep_snapshot(_: Path) -> None:
    pass


def remove_snapshot(log: Path) -> None:
    log.with_name(SNAPSHOT).unlink()


@pytest.mark.parametrize("snapshot", [keep_snapshot, remove_snapshot])
async def test_hunks_go_along_with_a_project_that_is_moved(
    desk: ReviewDesk, tmp_path: Path, snapshot: Callable[[Path], None]
) -> None:
    desk.user("a.txt", NUMBERS)
    desk.user("old.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n").replace("9\n", "nine\n"))
    await desk.command({"old.txt": NUMBERS, "new.txt": None}, {"old.txt": None, "new.txt": NUMBERS})
    first, second, rename = await desk.hunks()
    await desk.decide("reject", first.id)
    await desk.aclose()
    snapshot(desk.log)

    now = desk.root.rename(tmp_path / "moved")
    moved = ReviewDesk(tmp_path, now)

    again = await moved.hunks()
    assert [(each.id, each.path) for each in again] == [
        (second.id, str(now / "a.txt")),
        (rename.id, str(now / "new.txt")),
    ]
    assert (again[1].before, again[1].after) == (str(now / "old.txt"), str(now / "new.txt"))
    [left] = (await moved.decide("reject", first.id)).left
    assert left.why == "already_decided"
    await moved.decide("reject")
    assert moved.text("a.txt") == moved.text("old.txt") == NUMBERS
    assert not (now / "new.txt").exists()
    await moved.aclose()


async def test_a_decision_that_waits_is_carried_out_where_the_project_is_by_then(
    desk: ReviewDesk, tmp_path: Path
) -> None:
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n"))
    [hunk] = await desk.hunks()
    review = await desk.review()
    review.step_begins("S1")
    outcome = await desk.decide("reject", hunk.id)
    assert outcome.done[0].waits
    await desk.aclose()

    now = desk.root.rename(tmp_path / "moved")
    moved = ReviewDesk(tmp_path, now)

    assert not await moved.hunks()
    assert moved.text("a.txt") == NUMBERS
    await moved.aclose()


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("left", [None, NUMBERS.replace("3\n", "three\n")])
async def test_a_reject_that_was_written_when_the_daemon_was_killed_is_done_for_the_next_one(
    desk: ReviewDesk, left: str | None, *, torn: bool
) -> None:
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", left)
    [hunk] = await desk.hunks()
    await desk.decide("reject", hunk.id)
    await desk.aclose()
    cut_off_its_last_settled(desk, torn=torn)

    await desk.restart()

    assert not await desk.hunks(absent=True)
    assert desk.text("a.txt") == NUMBERS
    await desk.decide("undo", hunk.id)
    assert [each.id for each in await desk.hunks()] == [hunk.id]


def cut_off_its_last_settled(desk: ReviewDesk, *, torn: bool = False) -> None:
    """As a daemon leaves its log that is killed when it has done what it decided, and before it says so."""
    log = desk.log
    *lines, settled = log.read_bytes().splitlines(keepends=True)
    assert b'"type":"settled"' in settled
    log.write_bytes(b"".join(lines) + (settled[:20] if torn else b""))


@pytest.mark.parametrize("verdict", ["reject", "undo"])
async def test_permissions_that_were_decided_about_when_the_daemon_was_killed_are_so_for_the_next_one(
    desk: ReviewDesk, verdict: Literal["reject", "undo"]
) -> None:
    desk.user("run.sh", NUMBERS)
    path = desk.root / "run.sh"
    await desk.makes_executable("run.sh")
    [hunk] = await desk.hunks()
    if verdict == "undo":
        await desk.decide("reject", hunk.id)
    await desk.decide(verdict, hunk.id)
    await desk.aclose()
    cut_off_its_last_settled(desk)

    await desk.restart()

    states = {each.id: each.state for each in await desk.hunks(absent=True)}
    assert states == ({} if verdict == "reject" else {hunk.id: "pending"})
    assert bool(path.stat().st_mode & 0o100) == (verdict == "undo")
    await desk.decide("undo" if verdict == "reject" else "reject", hunk.id)
    assert bool(path.stat().st_mode & 0o100) == (verdict == "reject")


async def test_edits_that_an_earlier_version_logged_are_not_pending_and_can_be_undone(desk: ReviewDesk) -> None:
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n"))
    await desk.aclose()
    log = desk.log
    remove_snapshot(log)
    log.write_text("".join(as_before(line) for line in log.read_text().splitlines()))

    await desk.restart()

    assert not await desk.hunks()
    session = await desk.session()
    [(first, *_)] = session.projects.edits.values()
    assert (await session.projects.content(first.before or "")).decode() == NUMBERS
    await desk.agent("a.txt", desk.text("a.txt").replace("9\n", "nine\n"))
    [hunk] = await desk.hunks()
    assert hunk.texts == ("nine\n",)


def as_before(line: str) -> str:
    """The event as versions without a review wrote it."""
    known = ("type", "n", "path", "before", "after", "before_mode", "after_mode", "session_id", "turn_id", "call_id")
    event = json.loads(line)
    kept = {key: each for key, each in event.items() if key in (*known, "timestamp", "written", "root")}
    return json.dumps(kept, separators=(",", ":")) + "\n"


@pytest.mark.long
async def test_a_file_of_200_000_lines_is_edited_listed_and_decided_about(
    desk: ReviewDesk, record_property: Callable[[str, object], None]
) -> None:
    lines = [f"line {n} of a file that a program made\n" for n in range(200_000)]
    desk.user("large.txt", "".join(lines))
    changed = [f"changed {n}\n" if n % 4000 == 17 else line for n, line in enumerate(lines)]

    used = cpu()

    def note(what: str) -> None:
        nonlocal used
        record_property(f"{what}, CPU ms", round((cpu() - used) * 1000))
        used = cpu()

    await desk.agent("large.txt", "".join(changed))
    note("edit of 50 places")
    hunks = await desk.hunks()
    note("list")
    await desk.decide("keep", hunks[0].id)
    note("keep")
    await desk.decide("reject", hunks[1].id)
    note("reject")
    await desk.decide("reject")
    note("reject of 48")
    await desk.restart()
    note("restart")

    assert len(hunks) == 50
    assert not await desk.hunks()
    assert desk.text("large.txt") == "".join([*lines[:17], changed[17], *lines[18:]])


def cpu() -> float:
    """Seconds that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
