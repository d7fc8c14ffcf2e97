"""Stories in which something typed was out of sight, as `test_property` found them."""

import pytest
from tests.agents.files.reviewing.reviewdesk import ReviewDesk


async def test_what_was_overwritten_is_listed_also_when_an_agent_deleted_the_file_since(desk: ReviewDesk) -> None:
    desk.user("a.txt", "mine\nyours\n")
    await desk.agent("a.txt", "agent\nyours\n", "T1")
    [hunk] = await desk.hunks()
    desk.user("a.txt", "something else\nyours\n")

    await desk.agent("a.txt", None, "T2")

    deletion, overwritten = await desk.hunks(absent=True)
    assert (deletion.kind, deletion.state) == ("delete", "pending")
    assert (overwritten.id, overwritten.state, overwritten.base) == (hunk.id, "stale", ("mine\n",))


async def test_a_new_file_with_a_line_of_the_user_comes_back_when_its_deletion_is_rejected(desk: ReviewDesk) -> None:
    await desk.agent("a.txt", "x\ny\n", "T1")
    await desk.hunks()
    desk.user("a.txt", "x\nmine\ny\n")
    await desk.agent("a.txt", None, "T2")
    [deletion] = await desk.hunks()

    await desk.decide("reject", deletion.id)

    assert desk.text("a.txt") == "x\nmine\ny\n"
    await desk.decide("reject")
    assert desk.text("a.txt") == "mine\n"


@pytest.mark.parametrize("typed", ["", "mine\n"])
async def test_a_deletion_is_to_be_reviewed_again_when_the_turn_that_made_the_file_again_is_undone(
    desk: ReviewDesk, typed: str
) -> None:
    desk.user("a.txt", "x\ny\n")
    await desk.agent("a.txt", None, "T1")
    [deletion] = await desk.hunks()
    await desk.agent("a.txt", "agent\n", "T2")
    desk.user("a.txt", f"agent\n{typed}")
    before = await desk.hunks()

    await desk.undo("T2")

    [again] = await desk.hunks()
    assert (again.id, again.kind) == (deletion.id, "delete")
    await desk.redo()
    assert await desk.hunks() == before
    await desk.undo("T2", name="u2")
    await desk.decide("reject", deletion.id, choice="replace")
    assert desk.text("a.txt") == "x\ny\n"


async def test_of_two_deletions_of_a_file_one_is_rejected_and_the_other_says_what_is_in_its_place(
    desk: ReviewDesk,
) -> None:
    desk.user("a.txt", "first\n")
    await desk.agent("a.txt", None, "T1")
    await desk.hunks()
    desk.user("a.txt", "second\n")
    await desk.agent("a.txt", None, "T2")
    first, second = await desk.hunks()

    [left] = (await desk.decide("reject")).left

    assert desk.text("a.txt") == "second\n"  # what the user had there last
    assert (left.id, left.why, left.choices) == (first.id, "conflict", ("replace", "leave"))
    await desk.decide("reject", first.id, choice="replace")
    assert desk.text("a.txt") == "first\n"
    assert second.id not in {each.id for each in await desk.hunks()}


async def test_a_decision_about_a_hunk_of_a_deleted_file_says_why_it_cannot_be_made(desk: ReviewDesk) -> None:
    desk.user("a.txt", "1\n2\n")
    await desk.agent("a.txt", "1\ntwo\n", "T1")
    [hunk] = await desk.hunks()
    await desk.agent("a.txt", None, "T2")
    [deletion] = await desk.hunks()

    [left] = (await desk.decide("keep", hunk.id)).left

    assert (left.why, left.message) == (
        "not_there",
        f"its file was deleted since: reject that first (hunk {deletion.id})",
    )
    await desk.decide("reject", deletion.id)
    assert [each.id for each in await desk.hunks()] == [hunk.id]


async def test_undoing_a_deletion_leaves_what_another_session_deleted_there_since(desk: ReviewDesk) -> None:
    desk.user("a.txt", "first\n")
    await desk.agent("a.txt", None, "T1", "S2")
    await desk.hunks()
    desk.user("a.txt", "second\n")
    await desk.agent("a.txt", None, "T2")
    before = await desk.hunks()

    [outcome] = await desk.undo("T1", session="S2")

    assert outcome.action == "conflict"
    assert await desk.hunks() == before
    await desk.decide("reject", before[-1].id)
    assert desk.text("a.txt") == "second\n"
