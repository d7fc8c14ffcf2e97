"""What becomes of what a user typed: each row of the table in docs/review.md, and nothing but them."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.agents.files.reviewing.gitdesk import GitDesk
from tests.agents.files.reviewing.livedesk import LiveDesk

from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.reviewing.listing import EVERYTHING

PAGE = Path(__file__).parents[4] / "docs" / "review.md"
TABLE = re.compile(r"^\| you … \| .*?\n\| -.*?\n((?:\|.*\n)+)", re.MULTILINE)

AREA = "def area(w, h):\n    return w * h\n"
CHECKED = 'def area(w, h):\n    if w < 0 or h < 0:\n        raise ValueError("neg")\n    return w * h\n'

RowTest: TypeAlias = Callable[[GitDesk], Awaitable[None]]
ROWS: dict[str, RowTest] = {}


def row(words: str) -> Callable[[RowTest], RowTest]:
    """The test of the row that begins with these words."""

    def note(test: RowTest) -> RowTest:
        ROWS[words] = test
        return test

    return note


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[GitDesk]:
    desk = GitDesk(tmp_path)
    desk.user("area.py", AREA)
    desk.commit()
    yield desk
    await desk.aclose()


@row("type a line between lines of the agent, and reject")
async def test_a_line_of_yours_stays(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    desk.user("area.py", CHECKED.replace("    raise", "    log(w, h)\n        raise"))
    await desk.decide("reject")
    assert desk.text("area.py") == "def area(w, h):\n        log(w, h)\n    return w * h\n"


@row("change words in a line of the agent, and reject")
async def test_words_of_yours_are_asked_about(desk: GitDesk) -> None:
    mixed = CHECKED.replace('"neg"', 'f"neg {w}"')
    await desk.agent("area.py", CHECKED)
    desk.user("area.py", mixed)
    [left] = (await desk.decide("reject")).left
    assert (left.why, desk.text("area.py")) == ("needs_choice", mixed)
    await desk.decide("reject", left.id, choice="mine")
    assert desk.text("area.py") == 'def area(w, h):\n        raise ValueError(f"neg {w}")\n    return w * h\n'
    await desk.decide("undo", left.id)
    assert desk.text("area.py") == mixed
    await desk.decide("reject", left.id, choice="drop")
    assert desk.text("area.py") == AREA
    await desk.decide("undo", left.id)
    assert desk.text("area.py") == mixed


@row("indent a line of the agent, and reject")
async def test_blanks_are_no_words(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    desk.user("area.py", CHECKED.replace("        raise", "            raise"))
    await desk.decide("reject")
    assert desk.text("area.py") == AREA


@row("type anywhere else in the file")
async def test_what_you_type_elsewhere_is_yours(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    [hunk] = await desk.hunks()
    desk.user("area.py", f"# mine\n{CHECKED}print(area(1, 2))\n")
    await desk.decide("reject", hunk.id, digests={hunk.id: hunk.digest})
    assert desk.text("area.py") == f"# mine\n{AREA}print(area(1, 2))\n"


@row("keep")
async def test_a_keep_changes_nothing(desk: GitDesk) -> None:
    typed = f"{CHECKED}print(area(1, 2))\r\nno newline at the end"
    await desk.agent("area.py", CHECKED)
    desk.user("area.py", typed)
    await desk.decide("keep")
    assert desk.text("area.py") == typed
    assert not await desk.hunks()


@row("write in a file that the agent made, and reject")
async def test_a_file_with_your_text_is_not_deleted(desk: GitDesk) -> None:
    await desk.agent("notes.md", "# Plan\n- write it\n")
    desk.user("notes.md", "# Plan\n- write it\n- call Ann\n")
    await desk.decide("reject")
    assert desk.text("notes.md") == "- call Ann\n"


@row("have lines that a formatter of the agent changes, and reject")
async def test_a_formatter_s_work_on_your_lines_is_taken_back(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    typed = f"{CHECKED}z=3\n"
    desk.user("area.py", typed)
    await desk.command({"area.py": typed}, {"area.py": typed.replace("z=3", "z = 3")}, turn="T2")
    await desk.decide("reject")
    assert desk.text("area.py") == f"{AREA}z=3\n"


@row("have a line that the agent removes, and reject")
async def test_a_line_of_yours_that_the_agent_removed_is_back(desk: GitDesk) -> None:
    desk.user("b.txt", "a\nb\nc\n")
    await desk.agent("b.txt", "a\nb1\nb2\nc\n")
    desk.user("b.txt", "a\nb1\nu\nb2\nc\n")
    await desk.agent("b.txt", "a\nb1\nb2\nc\n", turn="T2")
    await desk.decide("reject")
    assert desk.text("b.txt") == "a\nb\nu\nc\n"


@row("write a file anew that the agent deleted, and reject the deletion")
async def test_your_new_file_is_not_replaced_unasked(desk: GitDesk) -> None:
    await desk.agent("area.py", None)
    [hunk] = await desk.hunks()
    desk.user("area.py", "new\n")
    [left] = (await desk.decide("reject", hunk.id)).left
    assert (left.why, desk.text("area.py")) == ("conflict", "new\n")
    await desk.decide("reject", hunk.id, choice="replace")
    assert desk.text("area.py") == AREA


@row("write a file where one stood that the agent renamed, and reject")
async def test_nothing_is_moved_over_your_file(desk: GitDesk) -> None:
    await desk.command({"area.py": AREA}, {"area.py": None, "size.py": AREA})
    [hunk] = await desk.hunks()
    desk.user("area.py", "new\n")
    [left] = (await desk.decide("reject", hunk.id)).left
    assert left.why == "conflict"
    assert (desk.text("area.py"), desk.text("size.py")) == ("new\n", AREA)


@row("take a decision back")
async def test_a_decision_taken_back_brings_all_lines_back(desk: GitDesk) -> None:
    typed = CHECKED.replace("    raise", "    log(w, h)\n        raise")
    await desk.agent("area.py", CHECKED)
    desk.user("area.py", typed)
    [hunk] = await desk.hunks()
    await desk.decide("reject", hunk.id)
    await desk.decide("undo", hunk.id)
    assert desk.text("area.py") == typed
    assert [each.id for each in await desk.hunks()] == [hunk.id]


@row("undo a reject in your editor")
async def test_your_editor_s_undo_is_no_new_text(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    [hunk] = await desk.hunks()
    await desk.decide("reject", hunk.id)
    desk.user("area.py", CHECKED)
    assert [(each.id, each.base) for each in await desk.hunks()] == [(hunk.id, hunk.base)]


@row("delete some of the agent's lines, or the whole text, and undo that in your editor")
async def test_what_you_bring_back_is_the_agent_s_again(desk: GitDesk) -> None:
    before = desk.text("area.py")
    await desk.agent("area.py", CHECKED)
    for cut in (CHECKED.replace(CHECKED.splitlines(keepends=True)[2], ""), ""):
        desk.user("area.py", cut)
        desk.user("area.py", CHECKED)
    for hunk in await desk.hunks():
        await desk.decide("reject", hunk.id)
    assert desk.text("area.py") == before


@row("undo the agent's change in your editor, or delete its lines")
async def test_what_you_removed_is_not_asked_about(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    [hunk] = await desk.hunks()
    desk.user("area.py", AREA)
    assert not await desk.hunks()
    desk.user("area.py", CHECKED)
    assert [each.id for each in await desk.hunks()] == [hunk.id]


@row("stash, or switch the branch")
async def test_git_moving_text_decides_nothing(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    [hunk] = await desk.hunks()
    desk.git("stash", "-q")
    assert not await desk.hunks()
    desk.git("stash", "pop", "-q")
    assert [each.id for each in await desk.hunks()] == [hunk.id]


@row("stage or commit")
async def test_what_you_commit_is_kept(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    await desk.hunks()
    desk.commit()
    assert not await desk.hunks()
    assert desk.text("area.py") == CHECKED


@row("save the file in another encoding than UTF-8, or put a link or a directory in its place")
async def test_what_is_no_text_for_a_while_is_absent(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    [hunk] = await desk.hunks()
    path = desk.root / "area.py"
    path.write_bytes(CHECKED.encode("utf-16"))
    assert not await desk.hunks()
    path.unlink()
    path.mkdir()
    assert not await desk.hunks()
    path.rmdir()
    desk.user("area.py", CHECKED)
    assert [each.id for each in await desk.hunks()] == [hunk.id]


@row("save, make, rename or remove files while a command of the agent runs")
async def test_what_you_did_beside_a_long_command_stays(desk: GitDesk) -> None:
    async with aclosing(LiveDesk(desk.root.parent / "live")) as live:
        live.certain_within = 0.0
        live.user("area.py", AREA)

        def work() -> None:
            (live.root / "area.py").rename(live.root / "geometry.py")
            live.user("mine.py", CHECKED)

        await live.runs(work, "T1", "S1")
        assert {each.why for each in (await live.decide("reject")).left} == {"unsure"}
        assert {each.action for each in await live.undo("T1")} == {"conflict"}
        assert (live.text("geometry.py"), live.text("mine.py")) == (AREA, CHECKED)


@row("decide in two editors at once")
async def test_the_first_decision_counts(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    [hunk] = await desk.hunks()
    await desk.decide("keep", hunk.id, by="one")
    [left] = (await desk.decide("reject", hunk.id, by="other")).left
    assert (left.why, left.by, desk.text("area.py")) == ("already_decided", "one", CHECKED)


@row("type in an editor that is killed before you save")
async def test_what_an_editor_held_is_kept(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    typed = CHECKED.replace("    raise", "    log(w, h)\n        raise")
    async with ProjectPort.opened(desk.projects, desk.root, desk.state, "vi") as port:
        port.documents.open(desk.root / "area.py")
        port.documents.change(desk.root / "area.py", typed)
        port.documents.leave()
        [hunk] = await desk.hunks()
        [left] = port.review.left(EVERYTHING).values()
    assert ("".join(left.lines), desk.text("area.py"), hunk.state) == (typed, CHECKED, "pending")


@row("do any of this, and sould is killed")
async def test_a_restart_loses_nothing(desk: GitDesk) -> None:
    await desk.agent("area.py", CHECKED)
    typed = CHECKED.replace("    raise", "    log(w, h)\n        raise")
    desk.user("area.py", typed)
    before = await desk.hunks()
    await desk.restart()
    assert await desk.hunks() == before
    await desk.decide("reject", before[0].id)
    await desk.restart()
    await desk.decide("undo", before[0].id)
    assert desk.text("area.py") == typed


def test_each_row_of_the_page_has_its_test() -> None:
    table = TABLE.search(PAGE.read_text())
    assert table is not None
    assert [line.split(" | ")[0].removeprefix("| ") for line in table[1].splitlines()] == [*ROWS]
