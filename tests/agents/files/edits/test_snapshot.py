"""The snapshot beside an edit log is a cache: with it or without it, as it was or damaged, a project opens as the same."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agents.files.reviewing.reviewdesk import ReviewDesk

from sould.agents.base.diskfile import digest_of
from sould.agents.files.edits.editlog import EditLogFile, Intent
from sould.agents.files.edits.logkeeping import UNKEPT_BYTES
from sould.agents.files.edits.snapshot import SNAPSHOT, Snapshots
from sould.agents.files.projects.projects import Projects
from sould.agents.files.reviewing.listing import ReviewedHunk

NUMBERS = "".join(f"{n}\n" for n in range(40))


def snapshot_of(desk: ReviewDesk) -> Path:
    return desk.log.with_name(SNAPSHOT)


def remove(path: Path) -> None:
    path.unlink()


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def leave(path: Path) -> None:
    assert path.exists()


async def history(desk: ReviewDesk) -> list[ReviewedHunk]:
    """Edits of two sessions, what the user did, decisions; what is pending after it."""
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n"))
    await desk.agent("new.txt", "made\n", session="S2")
    desk.user("a.txt", desk.text("a.txt").replace("20\n", "twenty, by the user\n"))
    first, *_ = await desk.hunks()
    await desk.decide("keep", first.id)
    await desk.agent("a.txt", desk.text("a.txt").replace("30\n", "thirty\n"), turn="T2")
    await desk.command({"b.txt": NUMBERS}, {"b.txt": NUMBERS.replace("7\n", "seven\n")}, turn="T2")
    return await desk.hunks()


@pytest.mark.parametrize("harm", [leave, remove, tear, damage])
async def test_a_project_opens_as_it_was_whatever_became_of_the_snapshot(
    desk: ReviewDesk, harm: Callable[[Path], None]
) -> None:
    pending = await history(desk)
    edits = (await desk.session()).projects.edits
    await desk.aclose()
    harm(snapshot_of(desk))

    await desk.restart()

    assert await desk.hunks() == pending
    assert (await desk.session()).projects.edits.keys() == edits.keys()
    await desk.decide("reject")
    assert desk.text("b.txt") == NUMBERS
    assert "three" in desk.text("a.txt")
    assert "thirty" not in desk.text("a.txt")


async def test_what_the_log_has_behind_the_snapshot_counts(desk: ReviewDesk) -> None:
    await history(desk)
    await desk.aclose()
    old = snapshot_of(desk).read_bytes()
    await desk.restart()
    await desk.agent("c.txt", "later\n")
    pending = await desk.hunks()
    await desk.aclose()
    snapshot_of(desk).write_bytes(old)

    await desk.restart()

    assert await desk.hunks() == pending
    await desk.decide("keep")
    await desk.restart()
    assert not await desk.hunks()


async def test_a_snapshot_of_another_log_is_not_believed(desk: ReviewDesk) -> None:
    await history(desk)
    await desk.aclose()
    snapshot = snapshot_of(desk)
    log = snapshot.with_name("edits.jsonl")
    whole = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(whole[:4]))  # as after a backup was put back

    await desk.restart()
    fewer = await desk.hunks()
    await desk.aclose()
    snapshot.unlink()
    await desk.restart()

    assert fewer == await desk.hunks()
    assert fewer


async def test_a_daemon_that_is_killed_leaves_little_behind_its_snapshot(desk: ReviewDesk, tmp_path: Path) -> None:
    desk.user("a.txt", NUMBERS)
    await desk.agent("a.txt", NUMBERS.replace("3\n", "three\n"))
    log = snapshot_of(desk).with_name("edits.jsonl")
    n = 0
    while log.stat().st_size < 2 * UNKEPT_BYTES:
        n += 1
        await desk.agent("a.txt", NUMBERS.replace("3\n", f"{n}\n"))
    pending = await desk.hunks()

    killed = tmp_path / "killed"  # what is on the disk at this moment
    shutil.copytree(desk.state, killed)
    file = EditLogFile(killed / log.relative_to(desk.state))
    snapshot = Snapshots(killed / log.parent.relative_to(desk.state), file, desk.projects.store).read()
    behind = file.size - (snapshot.size if snapshot is not None else 0)
    file.close()
    projects = Projects(killed)
    log_id, project = await projects.borrow(desk.root)
    again = [hunk for each in projects.review(project).pending() for hunk in each.hunks]
    await projects.give_back(log_id)

    assert behind < 1.5 * UNKEPT_BYTES
    assert again == pending


async def test_hunks_in_a_file_of_secrets_are_in_no_snapshot_and_last_as_long_as_the_daemon(desk: ReviewDesk) -> None:
    path = desk.root / ".env"
    text = b"TOKEN=hidden\n"
    intent = Intent(
        n=0,
        path=str(path),
        before=None,
        after=digest_of(text),
        session_id="S1",
        turn_id="T1",
        call_id="C1",
        timestamp=1.0,
        secret=True,
    )
    log_id, project = await desk.projects.borrow(desk.root)
    await project.settle(await project.announce(intent, None, text), written=True)
    await desk.projects.give_back(log_id)

    assert b"hidden" not in b"".join(each.read_bytes() for each in desk.state.rglob("*") if each.is_file())
    assert await paths_of(desk.projects, desk.root) == [str(path)]
    assert await paths_of(Projects(desk.state), desk.root) == []


async def paths_of(projects: Projects, root: Path) -> list[str]:
    """The files of a project in which something is pending."""
    log_id, project = await projects.borrow(root)
    found = [each.path for each in projects.review(project).pending()]
    await projects.give_back(log_id)
    return found
