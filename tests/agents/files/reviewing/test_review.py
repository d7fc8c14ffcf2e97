"""The review of a project: what agents wrote is kept and rejected, whoever wrote what else meanwhile, and survives the daemon."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.agents.files.reviewing.reviewdesk import ReviewDesk

from sould.agents.files.reviewing.answers import DecisionNews
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection


async def test_a_write_of_an_agent_is_pending_until_it_is_rejected(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb\nc\n")
    await desk.agent("a.txt", "a\nB\nc\n")

    [hunk] = await desk.hunks()
    outcome = await desk.decide("reject", hunk.id)

    assert (hunk.base, hunk.texts, hunk.start) == (("b\n",), ("B\n",), 1)
    assert [each.id for each in outcome.done] == [hunk.id]
    assert desk.text("a.txt") == "a\nb\nc\n"
    assert not await desk.hunks()


async def test_what_the_user_typed_meanwhile_stays(desk: ReviewDesk) -> None:
    desk.user("area.py", "def area(w, h):\n    return w * h\n")
    await desk.agent("area.py", "def area(w, h):\n    if w < 0:\n        raise ValueError\n    return w * h\n")
    desk.user("area.py", "def area(w, h):\n    if w < 0:\n        log(w)\n        raise ValueError\n    return w * h\n")

    [hunk] = await desk.hunks()
    outcome = await desk.decide("reject", hunk.id)

    assert outcome.done[0].stayed == ("        log(w)\n",)
    assert desk.text("area.py") == "def area(w, h):\n        log(w)\n    return w * h\n"


async def test_mixed_lines_are_asked_about_and_left_by_a_reject_of_everything(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\n")
    await desk.agent("a.txt", "a\nif it is so:\nraise an error here\n")
    desk.user("a.txt", "a\nif it is so:\nraise an error now here\n")

    outcome = await desk.decide("reject")

    assert not outcome.done
    assert [(each.why, each.mixed, each.choices) for each in outcome.left] == [
        ("needs_choice", ("raise an error now here\n",), ("drop", "mine", "leave"))
    ]
    [left] = outcome.left
    await desk.decide("reject", left.id, choice="mine")
    assert desk.text("a.txt") == "a\nraise an error now here\n"


async def test_pending_hunks_and_decisions_survive_the_daemon(desk: ReviewDesk) -> None:
    desk.user("a.txt", "1\n2\n3\n4\n5\n6\n7\n")
    await desk.agent("a.txt", "1\ntwo\n3\n4\n5\nsix\n7\n")
    first, second = await desk.hunks()
    await desk.decide("keep", first.id)

    await desk.restart()

    assert await desk.hunks() == [second]
    [left] = (await desk.decide("reject", first.id, by="another")).left
    assert (left.why, left.state, left.by) == ("already_decided", "kept", "test")
    await desk.decide("reject", second.id)
    assert desk.text("a.txt") == "1\ntwo\n3\n4\n5\n6\n7\n"


async def test_typing_elsewhere_makes_no_hunk_stale_and_typing_inside_does(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb\nc\n")
    await desk.agent("a.txt", "a\nB1\nB2\nc\n")
    [hunk] = await desk.hunks()
    desk.user("a.txt", "a\nB1\nB2\nc\nd\n")
    [moved] = await desk.hunks()
    desk.user("a.txt", "a\nB1\nB2 and more\nc\nd\n")

    outcome = await desk.decide("reject", hunk.id, digests={hunk.id: hunk.digest})

    assert moved.digest == hunk.digest
    [left] = outcome.left
    assert left.why == "hunk_stale"
    assert left.present is not None
    assert left.present.texts == ("B1\n", "B2 and more\n")


async def test_two_sessions_in_one_file(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb\nc\nd\n")
    await desk.agent("a.txt", "a\nB\nc\nd\n", session="S1")
    await desk.agent("a.txt", "a\nB\nc\nD\n", session="S2", turn="T2")

    await desk.decide("reject", session="S1")

    assert desk.text("a.txt") == "a\nb\nc\nD\n"
    await desk.agent("a.txt", "a\nb\nc\nDD\n", session="S1", turn="T3")
    [left] = (await desk.decide("reject", session="S1")).left
    assert left.why == "shared"


async def test_a_new_file_goes_only_when_nothing_of_the_user_is_in_it(desk: ReviewDesk) -> None:
    await desk.agent("notes/plan.md", "# Plan\n- write it\n")
    desk.user("notes/plan.md", "# Plan\n- write it\n- call Ann\n")
    await desk.agent("notes/gone.md", "gone\n")

    await desk.decide("reject")

    assert desk.text("notes/plan.md") == "- call Ann\n"
    assert not (desk.root / "notes/gone.md").exists()


async def test_directories_made_for_a_rejected_file_go_when_they_are_empty(desk: ReviewDesk) -> None:
    desk.user("kept/mine.txt", "mine\n")
    await desk.agent("one/two/new.txt", "new\n")
    await desk.agent("kept/new.txt", "new\n")

    await desk.decide("reject")

    assert sorted(path.name for path in desk.root.iterdir()) == ["kept"]


async def test_a_deleted_file_comes_back_with_its_permissions(desk: ReviewDesk) -> None:
    desk.user("run.sh", "true\n")
    (desk.root / "run.sh").chmod(0o755)
    await desk.agent("run.sh", None)

    [change] = await desk.hunks()
    await desk.decide("reject", change.id)

    assert change.kind == "delete"
    assert desk.text("run.sh") == "true\n"
    assert (desk.root / "run.sh").stat().st_mode & 0o777 == 0o755


async def test_a_deletion_is_not_rejected_over_what_the_user_made_there(desk: ReviewDesk) -> None:
    desk.user("old.txt", "x\ny\n")
    await desk.agent("old.txt", None)
    desk.user("old.txt", "new\n")

    [change] = await desk.hunks()
    [left] = (await desk.decide("reject", change.id)).left

    assert (left.why, left.choices) == ("conflict", ("replace", "leave"))
    assert desk.text("old.txt") == "new\n"
    await desk.decide("reject", change.id, choice="replace")
    assert desk.text("old.txt") == "x\ny\n"


async def test_a_renamed_and_edited_file(desk: ReviewDesk) -> None:
    old, new = "def a(): return 0\ndef b(): return 0\n", "def a(): return 0\ndef b(): return 1\n"
    desk.user("util.py", old)
    await desk.command({"util.py": old, "helpers.py": None}, {"util.py": None, "helpers.py": new})

    rename, hunk = await desk.hunks()

    assert (rename.kind, Path(rename.before).name, Path(rename.path).name) == ("rename", "util.py", "helpers.py")
    await desk.decide("reject", rename.id)
    assert desk.text("util.py") == new
    assert not (desk.root / "helpers.py").exists()
    assert [(each.id, Path(each.path).name) for each in await desk.hunks()] == [(hunk.id, "util.py")]


async def test_a_rename_is_not_rejected_over_another_file(desk: ReviewDesk) -> None:
    desk.user("util.py", "a\nb\n")
    await desk.command({"util.py": "a\nb\n"}, {"util.py": None, "helpers.py": "a\nb\n"})
    desk.user("util.py", "mine\n")

    [rename] = await desk.hunks()
    [left] = (await desk.decide("reject", rename.id)).left

    assert left.why == "conflict"
    assert left.path.endswith("util.py")
    assert (desk.text("util.py"), desk.text("helpers.py")) == ("mine\n", "a\nb\n")


async def test_a_rename_is_not_rejected_to_where_an_agent_is_writing(desk: ReviewDesk) -> None:
    desk.user("util.py", "a\nb\n")
    desk.user("other.txt", "x\n")
    await desk.command({"util.py": "a\nb\n"}, {"util.py": None, "helpers.py": "a\nb\n"})
    await desk.agent("other.txt", "y\n", turn="T2")
    [rename] = await desk.hunks(Selection(turn_id="T1"))
    [hunk] = await desk.hunks(Selection(turn_id="T2"))
    agent = await desk.session("S2")

    async with agent.writes.locks.editing(desk.root / "util.py"):
        rejecting = asyncio.create_task(desk.decide("reject", rename.id))
        for _ in range(3):  # somebody else decides meanwhile, which takes as long
            await desk.decide("keep", hunk.id)
            await desk.decide("undo", hunk.id)
        await desk.agent("util.py", "new\n", turn="T3", session="S2")
    [left] = (await rejecting).left

    assert left.why == "conflict"
    assert (desk.text("util.py"), desk.text("helpers.py")) == ("new\n", "a\nb\n")
    assert [each.sessions for each in await desk.hunks(Selection(turn_id="T3"))] == [{"S2"}]


async def test_a_reject_waits_for_the_end_of_the_step(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb\nc\n")
    await desk.agent("a.txt", "a\nB\nc\n")
    review = await desk.review()
    review.step_begins("S1")
    [hunk] = await desk.hunks()

    outcome = await desk.decide("reject", hunk.id, by="editor A")

    assert outcome.done[0].waits
    assert desk.text("a.txt") == "a\nB\nc\n"
    assert [each.state for each in await desk.hunks()] == ["rejecting"]
    [second] = (await desk.decide("keep", hunk.id, by="editor B")).left
    assert (second.why, second.by) == ("already_decided", "editor A")
    await review.step_ended("S1")
    assert desk.text("a.txt") == "a\nb\nc\n"


async def test_a_reject_that_waits_is_carried_out_by_the_next_daemon(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb\nc\n")
    await desk.agent("a.txt", "a\nB\nc\n")
    (await desk.review()).step_begins("S1")
    [hunk] = await desk.hunks()
    await desk.decide("reject", hunk.id)

    await desk.restart()

    assert not await desk.hunks()
    assert desk.text("a.txt") == "a\nb\nc\n"


async def test_a_reject_that_waits_ends_when_its_hunk_changes(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb\nc\n")
    await desk.agent("a.txt", "a\nB\nc\n")
    review = await desk.review()
    review.step_begins("S1")
    [hunk] = await desk.hunks()
    await desk.decide("reject", hunk.id)

    await desk.agent("a.txt", "a\nB2\nc\n")
    await review.step_ended("S1")

    assert desk.text("a.txt") == "a\nB2\nc\n"
    assert [(each.id, each.state) for each in await desk.hunks()] == [(hunk.id, "pending")]


async def test_a_decision_can_be_taken_back(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb\nc\n")
    await desk.agent("a.txt", "a\nB\nc\n")
    [hunk] = await desk.hunks()
    await desk.decide("reject", hunk.id)

    await desk.decide("undo", hunk.id)

    assert desk.text("a.txt") == "a\nB\nc\n"
    assert await desk.hunks() == [hunk]


async def test_part_of_a_hunk(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\n")
    await desk.agent("a.txt", "a\np\nq\nr\ns\n")
    [hunk] = await desk.hunks()

    await desk.decide("keep", hunk.id, lines=(1, 3))
    await desk.decide("reject")

    assert desk.text("a.txt") == "a\nq\nr\n"


@pytest.mark.parametrize("lines", [(0, 2), (1, 3), (2, 4)])
async def test_a_decision_about_a_part_of_a_hunk_is_taken_back_by_the_parts_number(
    desk: ReviewDesk, lines: tuple[int, int]
) -> None:
    desk.user("a.txt", "a\n")
    await desk.agent("a.txt", "a\np\nq\nr\ns\n")
    await desk.agent("b.txt", "b\n")  # its number is between the hunk's and the part's
    hunk, _ = await desk.hunks()

    [done] = (await desk.decide("reject", hunk.id, lines=lines)).done
    assert (done.id, done.undone_by) == (hunk.id, done.part)
    [told] = [each for each in (await desk.review()).decisions(0) if each.verdict == "reject"]
    assert told.id == done.part
    [undone] = (await desk.decide("undo", done.part)).done

    assert (undone.id, undone.part) == (done.part, 0)
    assert desk.text("a.txt") == "a\np\nq\nr\ns\n"
    assert not (await desk.review()).put_aside(Selection())
    pending = [each.texts for each in await desk.hunks(Selection(paths=(str(desk.root / "a.txt"),)))]
    assert [line for texts in pending for line in texts] == ["p\n", "q\n", "r\n", "s\n"]


async def test_a_reject_of_a_part_that_waited_is_told_with_the_parts_number(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\n")
    await desk.agent("a.txt", "a\np\nq\nr\ns\n")
    [hunk] = await desk.hunks()
    review = await desk.review()
    news: list[DecisionNews] = []
    review.listeners["S1"] = news.append
    review.step_begins("S1")
    [waiting] = (await desk.decide("reject", hunk.id, lines=(1, 3))).done
    assert (waiting.waits, waiting.undone_by) == (True, hunk.id)

    await review.step_ended("S1")

    [done] = news[-1].outcome.done
    await desk.decide("undo", done.undone_by)
    assert desk.text("a.txt") == "a\np\nq\nr\ns\n"


async def test_line_ends_are_one_change(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\r\nb\r\nc\r\n")
    await desk.command({"a.txt": "a\r\nb\r\nc\r\n"}, {"a.txt": "a\nb\nc\n"})
    [change] = await desk.hunks()
    desk.user("a.txt", "a\nd\nb\nc\n")

    await desk.decide("reject", change.id)

    assert change.kind == "line_ends"
    assert desk.text("a.txt") == "a\r\nd\r\nb\r\nc\r\n"


async def test_a_binary_file_is_one_change(desk: ReviewDesk) -> None:
    path = desk.root / "logo.png"
    desk.user("logo.png", "\0old")
    await desk.command({"logo.png": "\0old"}, {"logo.png": "\0new"})

    [change] = await desk.hunks()
    await desk.decide("reject", change.id)

    assert change.kind == "content"
    assert path.read_bytes() == b"\0old"


async def test_ids_are_never_used_again(desk: ReviewDesk) -> None:
    for number in range(3):
        desk.user(f"{number}.txt", "a\n")
        await desk.agent(f"{number}.txt", "b\n")
        await desk.decide("keep")
        await desk.restart()
    desk.user("last.txt", "a\n")
    await desk.agent("last.txt", "b\n")

    [hunk] = await desk.hunks()

    assert hunk.id == 4


async def test_rejecting_everything_brings_a_last_line_without_end_back_as_it_was(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\nb")
    await desk.agent("a.txt", "a\nX\n", "T1")
    await desk.agent("a.txt", "a\nX\nY\n", "T2")
    assert len(await desk.hunks()) == 2

    outcome = await desk.decide("reject")

    assert not outcome.left
    assert desk.text("a.txt") == "a\nb"
    await desk.restart()
    assert not await desk.hunks(absent=True)


async def test_decisions_about_whole_files_can_be_taken_back(desk: ReviewDesk) -> None:
    desk.user("gone.txt", "a\nb\n")
    desk.user("ends.txt", "a\r\nb\r\n")
    desk.user("logo.png", "\0old")
    desk.user("util.py", "a\nb\n")
    await desk.agent("gone.txt", None)
    await desk.agent("empty.txt", "")
    await desk.command({"ends.txt": "a\r\nb\r\n"}, {"ends.txt": "a\nb\n"})
    await desk.command({"logo.png": "\0old"}, {"logo.png": "\0new"})
    await desk.command({"util.py": "a\nb\n"}, {"util.py": None, "helpers.py": "a\nb\n"})
    pending = await desk.hunks()
    names = sorted(path.name for path in desk.root.iterdir())

    for verdict in ("keep", "reject"):
        for change in pending:
            assert (await desk.decide(verdict, change.id)).done, change.kind
        assert not await desk.hunks()
        await desk.restart()
        for change in pending:
            assert (await desk.decide("undo", change.id)).done, change.kind

        assert sorted(path.name for path in desk.root.iterdir()) == names
        assert (desk.text("ends.txt"), desk.text("logo.png")) == ("a\nb\n", "\0new")
        assert await desk.hunks() == pending


async def test_a_decision_about_a_whole_file_stays_where_the_file_is_another_one(desk: ReviewDesk) -> None:
    desk.user("old.txt", "x\ny\n")
    await desk.agent("old.txt", None)
    [change] = await desk.hunks()
    await desk.decide("reject", change.id)
    desk.user("old.txt", "x\ny\nmine\n")

    [left] = (await desk.decide("undo", change.id)).left

    assert left.why == "conflict"
    assert desk.text("old.txt") == "x\ny\nmine\n"
    [again] = (await desk.decide("keep", change.id)).left
    assert (again.why, again.state, again.can_undo) == ("already_decided", "rejected", True)


def long_ago(desk: ReviewDesk, name: str) -> None:
    """The file is so old that its times tell whether it was changed."""
    os.utime(desk.root / name, (1_000_000_000, 1_000_000_000))


async def test_who_looks_while_another_one_takes_what_the_user_wrote_sees_it_too(desk: ReviewDesk) -> None:
    text = "".join(f"{n}\n" for n in range(20_000))
    desk.user("a.txt", text)
    await desk.agent("a.txt", text + "b\n")
    review = await desk.review()
    desk.user("a.txt", text.replace("1\n", "one\nmine\n") + "b\n")
    long_ago(desk, "a.txt")
    looking = asyncio.create_task(review.look_at_all())
    async with asyncio.TaskGroup() as group:
        others: list[asyncio.Task[list[ReviewedHunk]]] = []
        while not looking.done():
            others.append(group.create_task(desk.hunks()))
            await asyncio.to_thread(os.stat, desk.root)
    assert {hunk.start for other in others for hunk in other.result()} == {22_000}


async def test_what_the_user_wrote_is_seen_also_when_a_comment_had_the_file_read_before(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\n")
    await desk.agent("a.txt", "a\nb\n")
    review = await desk.review()
    desk.user("a.txt", "mine\na\nb\n")
    long_ago(desk, "a.txt")

    await review.comments.about_lines(desk.root / "a.txt", (0, 1), "Why?", "test")

    assert [hunk.start for hunk in await desk.hunks()] == [2]


async def test_an_order_about_everything_has_also_what_is_back_since_somebody_looked(desk: ReviewDesk) -> None:
    desk.user("a.txt", "a\n")
    await desk.agent("a.txt", "a\nb\n")
    desk.user("a.txt", "all new\n")
    assert not await desk.hunks()
    desk.user("a.txt", "a\nb\n")

    outcome = await desk.decide("reject")

    assert len(outcome.done) == 1
    assert desk.text("a.txt") == "a\n"


async def test_what_a_reject_replaced_is_back_when_the_reject_is_taken_back(desk: ReviewDesk) -> None:
    desk.user("d.txt", "old\n")
    await desk.agent("d.txt", None)
    desk.user("d.txt", "MYTEXT\n")
    [change] = await desk.hunks()
    await desk.decide("reject", change.id, choice="replace")
    await desk.restart()

    await desk.decide("undo", change.id)

    assert desk.text("d.txt") == "MYTEXT\n"
    assert [(each.id, each.state) for each in await desk.hunks()] == [(change.id, "stale")]


async def test_a_hunk_whose_only_line_is_indented_on_disk_is_still_reviewed(desk: ReviewDesk) -> None:
    desk.user("t.py", "a\nb\n")
    await desk.agent("t.py", 'a\nlog.info("x y z")\nb\n')
    desk.user("t.py", 'a\n    log.info("x y z")\nb\n')

    [hunk] = await desk.hunks()
    await desk.decide("reject", hunk.id)

    assert desk.text("t.py") == "a\nb\n"


async def test_a_word_changed_on_disk_in_every_line_of_a_hunk_is_asked_about(desk: ReviewDesk) -> None:
    desk.user("t.py", "a\nb\n")
    await desk.agent("t.py", "a\none two three four\nfive six seven eight\nb\n")
    desk.user("t.py", "a\none two three 4\nfive six seven 8\nb\n")

    [left] = (await desk.decide("reject")).left

    assert left.why == "needs_choice"
