"""Staging a part of a hunk: the lines that git has settle, the others stay pending."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.agents.files.reviewing.gitdesk import BASE, GitDesk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[GitDesk]:
    desk = GitDesk(tmp_path)
    yield desk
    await desk.aclose()


AFTER = "a\nB1\nB2\nB3\nc\nD\ne\n"


async def shown(desk: GitDesk) -> list[tuple[str, str]]:
    return [("".join(hunk.base), "".join(hunk.texts)) for hunk in await desk.hunks()]


@pytest.mark.parametrize(
    ("staged", "left"),
    [
        ("a\nB1\nc\nd\ne\n", [("", "B2\nB3\n"), ("d\n", "D\n")]),
        ("a\nB2\nc\nd\ne\n", [("", "B1\n"), ("", "B3\n"), ("d\n", "D\n")]),
        ("a\nb\nB3\nc\nd\ne\n", [("b\n", "B1\nB2\n"), ("d\n", "D\n")]),
        ("a\nc\nd\ne\n", [("", "B1\nB2\nB3\n"), ("d\n", "D\n")]),
        ("a\nB1\nB2\nB3\nc\nd\ne\n", [("d\n", "D\n")]),
        ("a\nB1, another\nc\nd\ne\n", [("b\n", "B1\nB2\nB3\n"), ("d\n", "D\n")]),
    ],
)
async def test_the_lines_that_were_staged_are_kept_and_the_others_stay(
    desk: GitDesk, staged: str, left: list[tuple[str, str]]
) -> None:
    await desk.agent("a.txt", AFTER)
    assert await shown(desk) == [("b\n", "B1\nB2\nB3\n"), ("d\n", "D\n")]

    desk.stage("a.txt", staged)

    assert await shown(desk) == left
    await desk.restart()
    assert await shown(desk) == left
    desk.git("reset", "-q")
    assert await shown(desk) == left
    assert (desk.root / "a.txt").read_text() == AFTER


async def test_a_patch_that_was_edited_while_it_was_committed_settles_what_it_has(desk: GitDesk) -> None:
    await desk.agent("a.txt", AFTER)
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n a\n b\n+B2\n c\n"
    desk.git("apply", "--cached", given=patch)
    desk.git("commit", "-qm", "some")

    assert await shown(desk) == [("b\n", "B1\n"), ("", "B3\n"), ("d\n", "D\n")]
    await desk.decide("reject", *[hunk.id for hunk in await desk.hunks()])
    assert (desk.root / "a.txt").read_text() == BASE.replace("b\n", "b\nB2\n")
    assert not desk.git("diff")


async def test_more_of_a_hunk_is_kept_with_each_step_and_taken_back_with_its_own_number(desk: GitDesk) -> None:
    await desk.agent("a.txt", "a\nb\nnew 1\nnew 2\nnew 3\nc\nd\ne\n")
    for staged, left in (
        ("a\nb\nnew 2\nc\nd\ne\n", ["new 1\n", "new 3\n"]),
        ("a\nb\nnew 1\nnew 2\nc\nd\ne\n", ["new 3\n"]),
    ):
        desk.stage("a.txt", staged)
        assert [texts for _, texts in await shown(desk)] == left
    desk.git("add", "a.txt")
    assert not await desk.hunks()


async def test_what_somebody_wrote_anew_into_the_patch_settles_nothing(desk: GitDesk) -> None:
    await desk.agent("a.txt", "a\nb\nif x {\n  one\n}\nc\nd\ne\n")

    desk.stage("a.txt", "a\nb\nif y {\n  other\n}\nc\nd\ne\n")

    assert await shown(desk) == [("", "if x {\n  one\n}\n")]


async def test_what_the_file_has_beside_the_hunk_and_git_has_not_is_no_matter(desk: GitDesk) -> None:
    desk.user("a.txt", "a\nmine\nb\nc\nd\ne\nlast\n")
    await desk.agent("a.txt", "a\nmine\nb\nnew 1\nnew 2\nc\nd\ne\nlast\n")

    desk.stage("a.txt", "a\nb\nnew 2\nc\nd\ne\n")

    assert await shown(desk) == [("", "new 1\n")]


async def test_the_end_of_the_last_line_is_not_staged_with_something_else(desk: GitDesk) -> None:
    desk.user("new.txt", "a\nb\nc")
    await desk.agent("new.txt", "A\nb\nc\n")

    desk.stage("new.txt", "A\nb\nc")

    assert await shown(desk) == [("c", "c\n")]
    desk.git("add", "new.txt")
    assert not await shown(desk)


@pytest.mark.parametrize(
    ("turns", "staged", "left"),
    [
        (("a\nB\nc\nd\ne\n", "a\nB\nC\nd\ne\n"), "a\nB\nc\nd\ne\n", ("c\n", "C\n")),
        (("a\nB\nc\nd\ne\n", "a\nB\nC\nd\ne\n"), "a\nb\nC\nd\ne\n", ("b\n", "B\n")),
        (("a\nb\nN\nc\nd\ne\n", "a\nb\nN\nC\nd\ne\n"), "a\nb\nN\nc\nd\ne\n", ("c\n", "C\n")),
        (("a\nb\nN\nc\nd\ne\n", "a\nb\nN\nC\nd\ne\n"), "a\nb\nC\nd\ne\n", ("", "N\n")),
        (("a\nc\nd\ne\n", "a\nC\nd\ne\n"), "a\nc\nd\ne\n", ("c\n", "C\n")),
        (("a\nb\nN\nc\nd\ne\n", "a\nb\nN\nM\nc\nd\ne\n"), "a\nb\nN\nc\nd\ne\n", ("", "M\n")),
        (("a\nb\nN\nc\nd\ne\n", "a\nb\nN\nM\nc\nd\ne\n"), "a\nb\nM\nc\nd\ne\n", ("", "N\n")),
    ],
)
@pytest.mark.parametrize("is_committed", [True, False])
async def test_of_two_hunks_without_a_line_between_them_the_staged_one_is_kept(
    desk: GitDesk, turns: tuple[str, str], staged: str, left: tuple[str, str], *, is_committed: bool
) -> None:
    await desk.agent("a.txt", turns[0], "T1")
    await desk.agent("a.txt", turns[1], "T2")
    assert len(await desk.hunks()) == 2
    desk.stage("a.txt", staged)
    if is_committed:
        desk.git("commit", "-qm", "one of them")
    assert await shown(desk) == [left]
