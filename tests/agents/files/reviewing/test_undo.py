"""Taking turns back in files under review: what the user kept or typed stays, and redo brings back what was to be reviewed."""

import pytest
from tests.agents.files.reviewing.reviewdesk import ReviewDesk

from sould.agents.base.diskfile import digest_of
from sould.agents.files.edits.snapshot import SNAPSHOT
from sould.agents.files.projects.restore import BOTH, KEPT
from sould.agents.files.review.file import TrackedFile
from sould.agents.tools import ToolCallContext

FIVE, FIVE_T1 = "one\ntwo\nthree\nfour\nfive\n", "one\nTWO\nthree\nFOUR\nfive\n"
FORMATTER = "x = {'a':1}\n\ndef f():\n    return x\n\nz=3\n"


async def tracked(desk: ReviewDesk, name: str = "a.txt") -> TrackedFile:
    """The file as the review knows it, whatever the next id is."""
    log_id, project = await desk.projects.borrow(desk.root)
    file = project.review.state.files[str(desk.root / name)]
    await desk.projects.give_back(log_id)
    return file.numbered(0)


async def test_what_was_kept_stays_and_is_told_and_redo_brings_the_rest_back(desk: ReviewDesk) -> None:
    desk.user("a.txt", FIVE)
    await desk.agent("a.txt", FIVE_T1)
    first, second = await desk.hunks()
    await desk.decide("keep", first.id)
    before = await tracked(desk)

    [outcome] = await desk.undo("T1")

    assert desk.text("a.txt") == "one\nTWO\nthree\nfour\nfive\n"
    assert not await desk.hunks()
    assert (outcome.action, outcome.changes, outcome.kept, outcome.conflicts) == ("restored", 1, (2,), 0)
    assert [(each.hunk.id, each.state) for each in (await tracked(desk)).text.away] == [(1, "kept"), (2, "undone")]
    await desk.restart()
    await desk.redo()
    assert desk.text("a.txt") == FIVE_T1
    assert await desk.hunks() == [second]
    assert (await tracked(desk)).text.parts == before.text.parts
    await desk.restart()
    assert await desk.hunks() == [second]


async def test_one_operation_takes_back_what_was_kept_and_redo_returns_from_both(desk: ReviewDesk) -> None:
    desk.user("a.txt", FIVE)
    await desk.agent("a.txt", FIVE_T1)
    first, second = await desk.hunks()
    await desk.decide("keep", first.id)
    await desk.undo("T1")

    [outcome] = await desk.undo("T1", name="u1.kept", kept=True)

    assert desk.text("a.txt") == FIVE
    assert (outcome.changes, outcome.kept) == (1, ())
    await desk.redo()
    assert desk.text("a.txt") == FIVE_T1
    assert await desk.hunks() == [second]


async def test_a_file_of_which_all_was_kept_is_left_and_said_to_be(desk: ReviewDesk) -> None:
    desk.user("a.txt", FIVE)
    await desk.agent("a.txt", FIVE_T1)
    await desk.decide("keep")

    [outcome] = await desk.undo("T1")

    assert (outcome.action, outcome.reason, outcome.kept) == ("kept", KEPT, (2, 4))
    assert desk.text("a.txt") == FIVE_T1


async def test_the_later_turn_of_a_hunk_goes_and_the_earlier_one_is_pending_again(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb\nc\n")
    await desk.agent("a.txt", "a\nb1\nc\n")
    [first] = await desk.hunks()
    await desk.agent("a.txt", "a\nb2\nb3\nc\n", turn="T2")
    both = await desk.hunks()

    await desk.undo("T2")

    assert desk.text("a.txt") == "a\nb1\nc\n"
    assert await desk.hunks() == [first]
    await desk.redo()
    assert await desk.hunks() == both


async def test_a_formatter_run_by_a_command_is_taken_back(desk: ReviewDesk) -> None:
    desk.user("a.py", FORMATTER)
    await desk.agent("a.py", FORMATTER.replace("return x", "return x['a']"))
    [first] = await desk.hunks()
    typed = FORMATTER.replace("return x", "return x['a']") + "y=2\n"
    desk.user("a.py", typed)
    formatted = 'x = {"a": 1}\n\ndef f():\n    return x["a"]\n\nz = 3\ny = 2\n'
    await desk.command({"a.py": typed}, {"a.py": formatted}, turn="T2")

    await desk.undo("T2")

    assert desk.text("a.py") == typed
    assert await desk.hunks() == [first]
    await desk.decide("reject")
    assert desk.text("a.py") == FORMATTER + "y=2\n"


async def test_hunks_of_another_session_stay(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb\nc\nd\n")
    await desk.agent("a.txt", "a\nB\nc\nd\n")
    await desk.agent("a.txt", "a\nB\nc\nD\n", turn="T2", session="S2")
    _, other = await desk.hunks()

    await desk.undo("T1")

    assert desk.text("a.txt") == "a\nb\nc\nD\n"
    assert await desk.hunks() == [other]


async def test_lines_typed_inside_a_hunk_stay(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb\n")
    await desk.agent("a.txt", "a\np\nq\nb\n")
    desk.user("a.txt", "a\np\nmine\nq\nb\n")

    [outcome] = await desk.undo("T1")

    assert outcome.conflicts == 0
    assert desk.text("a.txt") == "a\nmine\nb\n"


async def test_words_typed_into_a_line_of_the_agent_are_a_conflict_that_is_told(desk: ReviewDesk) -> None:
    desk.user("a.txt", FIVE)
    await desk.agent("a.txt", "one\nraise an error here\nthree\nFOUR\nfive\n")
    desk.user("a.txt", "one\nraise an error now here\nthree\nFOUR\nfive\n")

    [outcome] = await desk.undo("T1")

    assert desk.text("a.txt") == "one\nraise an error now here\nthree\nfour\nfive\n"
    assert (outcome.action, outcome.changes, outcome.conflicts, outcome.reason) == ("restored", 1, 1, BOTH)


async def test_of_a_new_file_what_the_user_appended_stays(desk: ReviewDesk) -> None:
    await desk.agent("notes.md", "# Plan\n- write it\n")
    desk.user("notes.md", "# Plan\n- write it\n- call Ann\n")

    await desk.undo("T1")

    assert desk.text("notes.md") == "- call Ann\n"
    assert not await desk.hunks()
    await desk.redo()
    assert desk.text("notes.md") == "# Plan\n- write it\n- call Ann\n"


async def test_what_was_rejected_needs_nothing_and_is_no_conflict(desk: ReviewDesk) -> None:
    desk.user("a.txt", FIVE)
    await desk.agent("a.txt", FIVE_T1)
    first, _ = await desk.hunks()
    await desk.decide("reject", first.id)

    [outcome] = await desk.undo("T1")

    assert (outcome.changes, outcome.conflicts) == (1, 0)
    assert desk.text("a.txt") == FIVE
    assert not await desk.undo("T1", name="again")


async def test_redo_after_typing_elsewhere_brings_the_hunks_back(desk: ReviewDesk) -> None:
    desk.user("a.txt", FIVE)
    await desk.agent("a.txt", FIVE_T1)
    hunks = await desk.hunks()
    await desk.undo("T1")
    desk.user("a.txt", "zero\n" + FIVE)

    await desk.redo()

    assert desk.text("a.txt") == "zero\n" + FIVE_T1
    assert [(each.id, each.base, each.lines, each.agents) for each in await desk.hunks()] == [
        (each.id, each.base, each.lines, each.agents) for each in hunks
    ]


async def test_two_turns_are_taken_back_and_brought_back_one_after_the_other(desk: ReviewDesk) -> None:
    desk.user("a.txt", FIVE)
    await desk.agent("a.txt", FIVE_T1)
    after_first = await desk.hunks()
    await desk.agent("a.txt", FIVE_T1.replace("FOUR", "4").replace("five", "5"), turn="T2")
    after_second = await desk.hunks()

    await desk.undo("T2", name="u2")
    assert await desk.hunks() == after_first
    await desk.undo("T1", "T2", name="u1")
    assert desk.text("a.txt") == FIVE
    await desk.redo("u1", name="r1")
    assert await desk.hunks() == after_first
    await desk.redo("u2", name="r2")
    assert await desk.hunks() == after_second


async def test_a_file_that_was_renamed_and_edited_is_where_and_as_it_was(desk: ReviewDesk) -> None:
    old, new = "def a(): return 0\ndef b(): return 0\n", "def a(): return 0\ndef b(): return 1\n"
    desk.user("util.py", old)
    await desk.command({"util.py": old, "helpers.py": None}, {"util.py": None, "helpers.py": new})
    hunks = await desk.hunks()
    desk.user("helpers.py", new + "mine\n")

    await desk.undo("T1")

    assert desk.text("util.py") == old + "mine\n"
    assert not (desk.root / "helpers.py").exists()
    assert not await desk.hunks()
    await desk.redo()
    assert desk.text("helpers.py") == new + "mine\n"
    assert not (desk.root / "util.py").exists()
    assert [(each.id, each.path, each.kind) for each in await desk.hunks()] == [
        (each.id, each.path, each.kind) for each in hunks
    ]


def there(desk: ReviewDesk) -> dict[str, str]:
    """The files of the project."""
    return {path.name: desk.text(path.name) for path in desk.root.iterdir()}


@pytest.mark.parametrize("base", [None, "one\r\ntwo\r\n"])
async def test_what_was_written_before_a_command_moved_the_file_goes_back_too(
    desk: ReviewDesk, base: str | None
) -> None:
    before = {"a.txt": base} if base is not None else {}
    if base is not None:
        desk.user("a.txt", base)
    await desk.agent("a.txt", "agent\n")
    await desk.command({"a.txt": "agent\n", "b.txt": None}, {"a.txt": None, "b.txt": "agent\n"})
    hunks = await desk.hunks()

    outcomes = await desk.undo("T1")

    assert there(desk) == before
    assert [(each.path.name, each.action, each.conflicts) for each in outcomes] == [
        *([("a.txt", "created", 0)] if base is not None else []),
        ("b.txt", "deleted", 0),
    ]
    assert not await desk.hunks()
    await desk.redo()
    assert (there(desk), await desk.hunks()) == ({"b.txt": "agent\n"}, hunks)
    await desk.undo("T1", name="u2")
    assert there(desk) == before


async def test_a_move_that_was_taken_back_is_not_taken_back_with_the_turn_before_it(desk: ReviewDesk) -> None:
    desk.user("a.txt", FIVE)
    await desk.agent("a.txt", FIVE_T1)
    await desk.command({"a.txt": FIVE_T1, "b.txt": None}, {"a.txt": None, "b.txt": FIVE_T1}, turn="T2")
    await desk.undo("T2", name="u2")
    assert there(desk) == {"a.txt": FIVE_T1}

    outcomes = await desk.undo("T1", "T2")

    assert there(desk) == {"a.txt": FIVE}
    assert [(each.path.name, each.action, each.conflicts) for each in outcomes] == [("a.txt", "restored", 0)]
    await desk.redo()
    assert there(desk) == {"a.txt": FIVE_T1}
    await desk.redo("u2", name="r2")
    assert there(desk) == {"b.txt": FIVE_T1}


async def test_files_moved_one_after_the_other_go_back_to_where_each_was(desk: ReviewDesk) -> None:
    desk.user("a.txt", FIVE)
    await desk.agent("a.txt", FIVE_T1)
    await desk.command({"a.txt": FIVE_T1, "b.txt": None}, {"a.txt": None, "b.txt": FIVE_T1})
    await desk.command({"b.txt": FIVE_T1, "c.txt": None}, {"b.txt": None, "c.txt": FIVE_T1}, turn="T2")
    await desk.agent("a.txt", "another\n", turn="T2")

    await desk.undo("T1", "T2")

    assert there(desk) == {"a.txt": FIVE}
    await desk.redo()
    assert there(desk) == {"a.txt": "another\n", "c.txt": FIVE_T1}


@pytest.mark.parametrize("base", [None, FIVE])
@pytest.mark.parametrize("settled", range(4))
@pytest.mark.parametrize("announced", [0, 1, 2])
async def test_an_undo_of_a_move_that_was_cut_off_is_finished(
    desk: ReviewDesk, base: str | None, settled: int, announced: int
) -> None:
    """`announced`: the next write was not, was and did not happen, or did happen."""
    if base is not None:
        desk.user("a.txt", base)
    await desk.agent("a.txt", FIVE_T1)
    await desk.command({"a.txt": FIVE_T1, "b.txt": None}, {"a.txt": None, "b.txt": FIVE_T1})
    [log] = desk.state.glob("projects/*/edits.jsonl")
    first = len(log.read_bytes().splitlines())
    await desk.undo("T1")
    await desk.aclose()
    (log.parent / SNAPSHOT).unlink(missing_ok=True)  # it would be read in its place
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[: first + 2 * settled + min(announced, 1)]))
    stages = [(None, FIVE_T1), (FIVE_T1, FIVE_T1), (FIVE_T1, None), (base, None), (base, None)]
    for name, text in zip(("a.txt", "b.txt"), stages[settled + announced // 2], strict=True):
        if text is not None or (desk.root / name).exists():
            desk.user(name, text)

    await desk.restart()
    outcomes = await desk.undo("T1")

    assert there(desk) == ({"a.txt": base} if base is not None else {})
    assert not [each for each in outcomes if each.action == "conflict"]
    await desk.redo()
    assert there(desk) == {"b.txt": FIVE_T1}


async def test_a_deletion_a_mode_and_line_ends_go_back(desk: ReviewDesk) -> None:
    for name in ("gone.txt", "ends.txt"):
        desk.user(name, "a\r\nb\r\n")
    await desk.agent("gone.txt", None)
    await desk.command({"ends.txt": "a\r\nb\r\n"}, {"ends.txt": "a\nb\n"})
    hunks = await desk.hunks()
    desk.user("ends.txt", "a\nb\nc\n")

    await desk.undo("T1")

    assert (desk.text("gone.txt"), desk.text("ends.txt")) == ("a\r\nb\r\n", "a\r\nb\r\nc\r\n")
    assert not await desk.hunks()
    await desk.redo()
    assert [(each.kind, each.id) for each in await desk.hunks()] == [(each.kind, each.id) for each in hunks]
    assert not (desk.root / "gone.txt").exists()
    assert desk.text("ends.txt") == "a\nb\nc\n"


async def test_a_binary_file_that_was_made_goes_and_comes_back(desk: ReviewDesk) -> None:
    await desk.command({"b.bin": None}, {"b.bin": "\0"})
    hunks = await desk.hunks()

    await desk.undo("T1")
    assert not (desk.root / "b.bin").exists()
    await desk.redo()
    assert desk.text("b.bin") == "\0"
    assert await desk.hunks() == hunks


@pytest.mark.parametrize("written", [False, True])
async def test_a_daemon_killed_between_the_announcement_of_an_undo_and_its_end(
    desk: ReviewDesk, *, written: bool
) -> None:
    desk.user("a.txt", FIVE)
    await desk.agent("a.txt", FIVE_T1)
    hunks = await desk.hunks()
    await desk.undo("T1")
    await desk.aclose()
    [log] = desk.state.glob("projects/*/edits.jsonl")
    (log.parent / SNAPSHOT).unlink(missing_ok=True)  # it would be read in its place
    *lines, last = log.read_bytes().splitlines(keepends=True)
    assert b'"type":"settled"' in last
    log.write_bytes(b"".join(lines))
    if not written:
        desk.user("a.txt", FIVE_T1)

    await desk.restart()

    assert await desk.hunks() == ([] if written else hunks)
    assert len(await desk.undo("T1")) == (0 if written else 1)
    assert desk.text("a.txt") == FIVE
    await desk.redo()
    assert (desk.text("a.txt"), await desk.hunks()) == (FIVE_T1, hunks)


async def test_what_a_person_allowed_before_it_was_written_goes_back_to_base(desk: ReviewDesk) -> None:
    desk.user("a.txt", FIVE)
    call = ToolCallContext("c1", 1, turn_id="T1", allowed=True)
    path = desk.root / "a.txt"
    await (await desk.session()).for_call(call).write_text(path, FIVE_T1, expected=digest_of(FIVE.encode()))
    assert not await desk.hunks()

    [outcome] = await desk.undo("T1")

    assert (desk.text("a.txt"), outcome.kept) == (FIVE, ())
    await desk.redo()
    assert (desk.text("a.txt"), await desk.hunks()) == (FIVE_T1, [])
