"""What is settled and old goes from the logs (D39), unless something pending or a session's rewind needs it."""

import os
import shutil
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.agents.files.reviewing.reviewdesk import ReviewDesk

from sould.agents.base.diskfile import digest_of
from sould.agents.files.edits.blobs import BlobMissingError
from sould.agents.files.edits.editlog import Decided, EditLogFile, Intent, UserChanged
from sould.agents.files.edits.snapshot import SNAPSHOT
from sould.agents.files.projects.housekeeping import AT_REST, DAY, clear, seconds_until_next, sweep_blobs

NUMBERS = "".join(f"{n}\n" for n in range(12))
LATER = 40 * 24 * 3600.0


def prune(desk: ReviewDesk, session: str) -> None:
    shutil.rmtree(desk.state / "sessions" / session)


async def clear_after(desk: ReviewDesk, seconds: float) -> None:
    """What the daemon does so long after now."""
    await clear(desk.projects, time.time() + seconds)


async def restart_with_the_log_alone(desk: ReviewDesk) -> None:
    await desk.aclose()
    desk.log.with_name(SNAPSHOT).unlink(missing_ok=True)
    await desk.restart()


async def test_settled_edits_of_a_pruned_session_go_with_what_they_held(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a secret plan\n")
    await desk.agent("a.txt", "another plan\n", session="S2")
    await desk.decide("keep")
    await desk.agent("b.txt", "pending\n")
    await desk.aclose()
    prune(desk, "S2")

    await clear_after(desk, LATER)

    assert b"a.txt" not in desk.log.read_bytes()
    with pytest.raises(BlobMissingError):
        desk.projects.store.get(digest_of(b"a secret plan\n"))
    assert desk.projects.store.get(digest_of(b"pending\n")) == b"pending\n"
    assert desk.text("a.txt") == "another plan\n"


async def made_older(desk: ReviewDesk, name: str, days: float) -> None:
    """What happened to a file was so long ago, as the log says, and so are the contents in the store, as the disk says."""
    seconds = days * DAY
    await desk.aclose()
    file = EditLogFile(desk.log)
    events = [event for _, event in file.events()]
    path = str(desk.root / name)
    file.rewrite(
        replace(event, timestamp=event.timestamp - seconds)
        if isinstance(event, Intent | Decided | UserChanged) and event.path == path
        else event
        for event in events
    )
    file.close()
    desk.log.with_name(SNAPSHOT).unlink(missing_ok=True)
    digests = {each for event in events if isinstance(event, Intent) and event.path == path for each in event.refs}
    for digest in filter(None, digests):
        [blob] = desk.state.glob(f"blobs/{digest[:2]}/{digest[2:]}")
        os.utime(blob, (blob.stat().st_atime - seconds, blob.stat().st_mtime - seconds))


async def test_what_is_a_month_old_goes_today_by_the_times_in_the_log_and_on_disk(desk: ReviewDesk) -> None:
    for name in ("old", "young", "pending"):
        desk.user(name, f"{name} before\n")
        await desk.agent(name, f"{name} after\n", f"turn of {name}", session="S2")
    await desk.decide("keep", paths=("old", "young"))
    await made_older(desk, "old", 30.1)
    await made_older(desk, "young", 29.9)
    await made_older(desk, "pending", 300)
    prune(desk, "S2")
    await desk.restart()
    assert [each.path for each in await desk.hunks()] == [str(desk.root / "pending")]

    await clear(desk.projects, time.time())

    log = desk.log.read_text()
    assert [f"/{name}" in log for name in ("old", "young", "pending")] == [False, True, True]
    for name, is_there in (("old", False), ("young", True), ("pending", True)):
        with nullcontext() if is_there else pytest.raises(BlobMissingError):
            desk.projects.store.get(digest_of(f"{name} before\n".encode()))
    [hunk] = await desk.hunks()
    await desk.decide("reject", hunk.id)
    assert [desk.text(name) for name in ("old", "pending")] == ["old after\n", "pending before\n"]


def test_a_daemon_clears_once_a_day_and_not_at_its_start() -> None:
    now = time.time()
    assert seconds_until_next(0, now) == AT_REST
    assert seconds_until_next(now - 2 * DAY, now) == AT_REST
    assert seconds_until_next(now - DAY / 2, now) == DAY / 2
    assert seconds_until_next(now + 1000 * DAY, now) == DAY


async def test_nothing_goes_before_it_is_old(desk: ReviewDesk) -> None:
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n"))
    await desk.decide("keep")
    await desk.aclose()
    prune(desk, "S1")
    before = desk.log.read_bytes()

    await clear_after(desk, 20 * 24 * 3600.0)

    assert desk.log.read_bytes() == before
    assert desk.projects.store.get(digest_of(NUMBERS.encode())) == NUMBERS.encode()


async def test_what_is_pending_outlives_its_session_and_every_age(desk: ReviewDesk) -> None:
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n"))
    await desk.decide("keep")
    await desk.agent("a.txt", desk.text("a.txt").replace("9\n", "nine\n"), turn="T2")
    await desk.agent("old.txt", "kept\n", turn="T3")
    await desk.decide("keep", paths=["old.txt"])
    pending = await desk.hunks()
    await desk.aclose()
    prune(desk, "S1")

    await clear_after(desk, LATER)
    await restart_with_the_log_alone(desk)
    await desk.agent("c.txt", "new\n")

    assert b"old.txt" not in desk.log.read_bytes()
    again = await desk.hunks()
    assert again[: len(pending)] == pending
    assert again[-1].id > max(each.id for each in pending) + 1, "no id is used again"
    await desk.decide("reject", pending[0].id)
    assert desk.text("a.txt") == NUMBERS.replace("3\n", "three\n")


async def test_what_a_session_can_rewind_stays_as_long_as_the_session(desk: ReviewDesk) -> None:
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n"))
    await desk.decide("keep")
    await desk.aclose()

    await clear_after(desk, LATER)
    await restart_with_the_log_alone(desk)

    session = await desk.session()
    [(first, *_)] = session.projects.edits.values()
    assert (await session.projects.content(first.before or "")).decode() == NUMBERS


async def test_rejected_text_can_be_taken_back_until_it_is_old(desk: ReviewDesk) -> None:
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n"))
    [hunk] = await desk.hunks()
    await desk.decide("reject", hunk.id)
    await desk.agent("a.txt", NUMBERS.replace("9\n", "nine\n"), turn="T2")
    await desk.aclose()
    prune(desk, "S1")

    await clear_after(desk, 20 * 24 * 3600.0)
    await restart_with_the_log_alone(desk)
    assert (await desk.decide("undo", hunk.id)).done
    await desk.decide("reject", hunk.id)
    await clear_after(desk, LATER)
    await restart_with_the_log_alone(desk)

    assert not (await desk.decide("undo", hunk.id)).done
    assert "nine" in desk.text("a.txt")


async def test_a_log_is_rewritten_while_its_project_is_open_and_stays_held(desk: ReviewDesk) -> None:
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n"), session="S2")
    await desk.decide("keep")
    await desk.agent("b.txt", "pending\n")
    prune(desk, "S2")

    await clear_after(desk, LATER)
    with pytest.raises(BlockingIOError):
        EditLogFile(desk.log)
    await desk.agent("c.txt", "after\n")
    pending = await desk.hunks()
    await restart_with_the_log_alone(desk)

    assert b"a.txt" not in desk.log.read_bytes()
    assert await desk.hunks() == pending
    assert [Path(each.path).name for each in pending] == ["b.txt", "c.txt"]


async def test_what_a_killed_daemon_left_of_a_rewritten_log_is_of_no_use(desk: ReviewDesk) -> None:
    await desk.agent("a.txt", "pending\n")
    pending = await desk.hunks()
    log = desk.log
    await desk.aclose()
    left = log.with_name("edits.jsonl.new")
    left.write_bytes(log.read_bytes()[:100])

    await restart_with_the_log_alone(desk)
    assert await desk.hunks() == pending
    await clear_after(desk, LATER)
    assert not left.exists()
    assert await desk.hunks() == pending


def test_a_content_that_is_put_again_stays(tmp_path: Path) -> None:
    desk = ReviewDesk(tmp_path)
    store = desk.projects.store
    gone, again = store.put(b"gone"), store.put(b"again")
    for path in (desk.state / "blobs").glob("*/*"):
        os.utime(path, (0, 0))
    store.put(b"again")

    assert sweep_blobs(desk.state) == 1
    assert store.get(again) == b"again"
    with pytest.raises(BlobMissingError):
        store.get(gone)
