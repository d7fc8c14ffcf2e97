"""Stories of projects with git, an editor and commands in which the review went wrong, as `test_whole_project` found them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.agents.files.reviewing.livedesk import LiveDesk

TEXT = "a\nb\nc\nd\n"
EDITED = "a\nB\nc\nd\n"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[LiveDesk]:
    desk = LiveDesk(tmp_path)
    desk.user("old.txt", TEXT)
    desk.commit()
    yield desk
    await desk.aclose()


async def test_who_follows_a_review_hears_where_a_file_is_when_its_rename_is_rejected(desk: LiveDesk) -> None:
    await desk.runs(lambda: _renamed(desk, EDITED), "T1", "S1")
    rename, hunk = await desk.hunks()

    await desk.decide("reject", rename.id)

    told = await desk.told()
    assert {Path(path).name: [each.id for each in hunks] for path, hunks in told.items()} == {"old.txt": [hunk.id]}


async def test_a_rejected_rename_keeps_nothing_that_the_commit_has_under_the_old_name(desk: LiveDesk) -> None:
    desk.user("old.txt", EDITED)
    await desk.runs(lambda: _renamed(desk, TEXT), "T1", "S1")
    rename, hunk = await desk.hunks()

    await desk.decide("reject", rename.id)

    assert [each.id for each in await desk.hunks()] == [hunk.id]
    await desk.decide("reject")
    assert desk.text("old.txt") == EDITED


async def test_a_line_of_the_agent_in_unsaved_text_stays_its_own_when_a_command_makes_the_file_a_binary(
    desk: LiveDesk,
) -> None:
    path = desk.root / "old.txt"
    await desk.review()
    desk.editor.type(path, TEXT + "mine\n")
    await desk.writes("old.txt", EDITED + "mine\n", "T1", "S1")
    [hunk] = await desk.hunks()

    await desk.runs(lambda: _made_binary(path), "T2", "S1")

    assert [(each.id, each.texts) for each in await desk.hunks()] == [(hunk.id, ("B\n",))]
    desk.editor.discard(path)
    assert [each.kind for each in await desk.hunks()] == ["content"]


async def test_a_hunk_of_a_file_that_became_a_binary_is_absent_until_its_text_is_back_whatever_git_does(
    desk: LiveDesk,
) -> None:
    path = desk.root / "old.txt"
    await desk.writes("old.txt", EDITED, "T1", "S1")
    [hunk] = await desk.hunks()
    _made_binary(path)
    assert await desk.states() == {hunk.id: "absent"}

    desk.git("stash", "-q")
    await desk.hunks()
    desk.git("stash", "pop", "-q")

    assert await desk.states() == {hunk.id: "absent"}
    path.write_text(EDITED)
    assert await desk.hunks() == [hunk]


async def test_an_undo_that_puts_a_directory_back_in_the_place_of_a_file_leaves_its_deletion_to_review(
    desk: LiveDesk,
) -> None:
    path = desk.root / "old.txt"
    await desk.runs(lambda: _made_directory(path), "T1", "S1")
    before = await desk.states()
    await desk.runs(lambda: _made_file(path), "T2", "S1")

    await desk.undo("T2")

    assert (path / "inside.txt").read_text() == "x\n"
    assert await desk.states() == before
    await desk.redo()
    assert path.read_text() == TEXT
    await desk.undo("T2", name="u2")
    await desk.decide("reject")
    assert path.read_text() == TEXT


def _renamed(desk: LiveDesk, text: str) -> None:
    path = desk.root / "old.txt"
    path.write_text(text)
    path.rename(desk.root / "new.txt")


def _made_binary(path: Path) -> None:
    path.write_bytes(b"\0")


def _made_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside.txt").write_text("x\n")


def _made_file(path: Path) -> None:
    (path / "inside.txt").unlink()
    path.rmdir()
    path.write_text(TEXT)
