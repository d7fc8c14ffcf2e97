"""A directory in the place of a file, and the other way round: what went and what came are both listed, and both come back."""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.agents.files.reviewing.livedesk import LiveDesk

from sould.agents.files.reviewing.answers import Outcome


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[LiveDesk]:
    async with aclosing(LiveDesk(tmp_path)) as at:
        at.user("F", "precious\n")
        at.user("E/a", "x\n")
        yield at


def a_directory_for_a_file(at: LiveDesk) -> None:
    (at.root / "F").unlink()
    at.user("F/q", "q\n")


def a_file_for_a_directory(at: LiveDesk) -> None:
    shutil.rmtree(at.root / "E")
    at.user("E", "q\n")


def both(at: LiveDesk) -> None:
    a_directory_for_a_file(at)
    a_file_for_a_directory(at)


def an_empty_directory(at: LiveDesk) -> None:
    (at.root / "F").unlink()
    (at.root / "F").mkdir()


def a_directory_for_a_link_and_for_bytes(at: LiveDesk) -> None:
    for name in ("link", "bytes"):
        (at.root / name).unlink()
        at.user(f"{name}/deep/q", "q\n")


def the_file_moves_into_it(at: LiveDesk) -> None:
    (at.root / "F").rename(at.root / "aside")
    (at.root / "F").mkdir()
    (at.root / "aside").rename(at.root / "F" / "main")


def tree(at: LiveDesk) -> dict[str, object]:
    found = (path for path in at.root.rglob("*") if ".git" not in path.parts and path.name != "a.txt")
    return {
        str(path.relative_to(at.root)): path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in found
    }


async def listed(at: LiveDesk) -> set[tuple[str, str]]:
    return {(str(Path(each.path).relative_to(at.root)), each.kind) for each in await at.hunks()}


def conflicts(outcome: Outcome) -> list[tuple[str, str]]:
    return [(each.why, Path(each.path).name) for each in outcome.left]


@pytest.mark.parametrize(
    ("work", "halves"),
    [
        (a_directory_for_a_file, {("F", "delete"), ("F/q", "text")}),
        (a_file_for_a_directory, {("E/a", "delete"), ("E", "text")}),
        (both, {("F", "delete"), ("F/q", "text"), ("E/a", "delete"), ("E", "text")}),
        (an_empty_directory, {("F", "delete")}),
        (the_file_moves_into_it, {("F", "delete"), ("F/main", "text")}),
        (
            a_directory_for_a_link_and_for_bytes,
            {("link", "delete"), ("link/deep/q", "text"), ("bytes", "delete"), ("bytes/deep/q", "text")},
        ),
    ],
)
@pytest.mark.parametrize("way", ["reject", "undo", "undo after a restart"])
async def test_both_halves_are_listed_and_come_back(
    desk: LiveDesk, work: Callable[[LiveDesk], None], halves: set[tuple[str, str]], way: str
) -> None:
    (desk.root / "link").symlink_to("F")
    (desk.root / "bytes").write_bytes(b"\0\1")
    before = tree(desk)
    await desk.runs(lambda: work(desk), "T1", "S1")
    assert await listed(desk) == halves
    if way == "reject":
        assert not (await desk.decide("reject")).left
        await desk.undo("T1")  # nothing is left to be done
    else:
        if way == "undo after a restart":
            await desk.killed(len)
        after = tree(desk)
        await desk.undo("T1")
        assert tree(desk) == before
        await desk.redo()
        assert tree(desk) == after
        await desk.undo("T1", name="u2")
    assert tree(desk) == before
    assert not await desk.hunks()


async def test_one_half_alone_is_a_conflict_that_names_the_other(desk: LiveDesk) -> None:
    await desk.runs(lambda: both(desk), "T1", "S1")
    ids = {Path(each.path).name: each.id for each in await desk.hunks()}
    assert conflicts(await desk.decide("reject", ids["F"])) == [("conflict", "q")]
    assert conflicts(await desk.decide("reject", ids["a"])) == [("conflict", "E")]
    assert not (await desk.decide("reject", ids["q"], ids["E"])).left
    assert not (await desk.decide("reject", ids["F"], ids["a"])).left
    assert tree(desk) == {"F": b"precious\n", "E": False, "E/a": b"x\n"}


async def test_a_file_of_the_users_in_the_directory_stays(desk: LiveDesk) -> None:
    await desk.runs(lambda: a_directory_for_a_file(desk), "T1", "S1")
    desk.user("F/mine.txt", "mine\n")
    assert conflicts(await desk.decide("reject")) == [("conflict", "mine.txt")]
    assert tree(desk) == {"E": False, "E/a": b"x\n", "F": False, "F/mine.txt": b"mine\n"}
    (desk.root / "F" / "mine.txt").unlink()
    assert not (await desk.decide("reject")).left
    assert desk.text("F") == "precious\n"


async def test_the_reject_of_a_directory_for_a_file_is_taken_back(desk: LiveDesk) -> None:
    await desk.runs(lambda: a_directory_for_a_file(desk), "T1", "S1")
    after = tree(desk)
    outcome = await desk.decide("reject")
    assert not (await desk.decide("undo", *[each.id for each in outcome.done])).left
    assert tree(desk) == after
    assert await listed(desk) == {("F", "delete"), ("F/q", "text")}


async def test_what_was_pending_in_the_file_is_pending_again(desk: LiveDesk) -> None:
    await desk.hunks()
    assert await desk.writes("F", "precious\nmore\n", "T1", "S1")
    await desk.runs(lambda: a_directory_for_a_file(desk), "T2", "S1")
    await desk.undo("T2")
    assert [each.texts for each in await desk.hunks()] == [("more\n",)]
    await desk.decide("reject")
    assert desk.text("F") == "precious\n"
