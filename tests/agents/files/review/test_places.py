"""Edits in several places at once: a tool, a formatter or an editor seldom changes one place only."""

import pytest
from tests.agents.files.review.reviewing import Story

from sould.agents.files.review.decisions import Decided, SomethingElseThere


def test_a_write_may_change_one_hunk_in_several_places() -> None:
    story = Story.of("a\nz\n")
    story.agent("T1", "a\nb\nc\nd\nz\n")
    story.user("a\nb\nmine\nc\nd\nz\n")

    story.agent("T2", "a\nB\nmine\nc\nD\nz\n")

    assert story.hunks == {1: ("", "B\nmine\nc\nD\n", {"T1", "T2"})}
    assert [line.agent and line.agent.turn_id for line in story.text.hunks[0].hunk.lines] == ["T2", None, "T1", "T2"]
    story.undo("T2")
    assert story.current == "a\nb\nmine\nc\nd\nz\n"
    assert story.hunks == {1: ("", "b\nmine\nc\nd\n", {"T1"})}


def test_the_user_may_type_in_several_places_of_one_hunk_at_once() -> None:
    story = Story.of("a\nz\n")
    story.agent("T1", "a\nb\nc\nd\nz\n")

    story.user("a\nb\none\nc\ntwo\nd\nz\n")

    assert story.hunks == {1: ("", "b\none\nc\ntwo\nd\n", {"T1"})}
    story.reject(1)
    assert story.current == "a\none\ntwo\nz\n"


def test_a_line_of_the_user_below_a_last_line_without_end_stays_a_line_of_its_own() -> None:
    story = Story.of("a\nb")
    story.agent("T1", "a\nb\nc\n")
    story.user("a\nb\nmine\nc\n")

    story.reject(1)

    assert story.current == "a\nb\nmine\n"


def test_so_does_one_that_an_agent_removed() -> None:
    story = Story.of("a\nb")
    story.agent("T1", "a\nb\nc\n")
    story.user("a\nb\nmine\nc\n")
    story.agent("T2", "a\nb\nc\n")

    story.reject(1)

    assert story.current == "a\nb\nmine\n"


def test_a_last_line_without_end_has_one_when_the_user_writes_below_it() -> None:
    story = Story.of("a\nb")
    story.agent("T1", "a\nB\n")

    story.user("a\nB\nmine\n")

    assert story.base == "a\nb\nmine\n"
    story.reject(1)
    assert story.current == "a\nb\nmine\n"


def test_a_hunk_that_was_the_end_of_the_last_line_ends_when_the_user_writes_below_it() -> None:
    story = Story.of("a\nb")
    story.agent("T1", "a\nb\n")

    story.user("a\nb\nmine\n")

    assert story.base == story.current == "a\nb\nmine\n"
    assert not story.hunks


def test_a_last_line_without_end_that_comes_back_above_other_lines_is_not_glued_to_them() -> None:
    story = Story.of("b")
    story.agent("T1", "X\n")
    story.agent("T2", "X\nY\n")

    story.reject(1)

    assert (story.base, story.current) == ("b", "b\nY\n")
    story.reject(2)
    assert story.current == story.base == "b"


def test_nor_when_a_part_of_its_hunk_is_rejected_and_that_can_be_undone() -> None:
    story = Story.of("b")
    story.agent("T1", "X\nY\n")
    story.decide("reject", 1, lines=(1, 1))
    assert story.current == "b\nY\n"

    assert isinstance(story.take_back(2), Decided)

    assert (story.base, story.current) == ("b", "X\nY\n")


def test_lines_that_come_back_below_one_without_end_are_not_glued_to_it() -> None:
    story = Story.of("a\nb\n")
    story.agent("T1", "a\n")
    story.agent("T2", "X")

    story.reject(1)

    assert story.current == "X\nb\n"


def test_the_user_may_take_the_last_line_end_away_above_a_removal() -> None:
    story = Story.of("a\nb\n")
    story.agent("T1", "a\n")

    story.user("a")

    assert (story.base, story.current) == ("a\nb\n", "a")
    story.reject(1)
    assert story.current == "a\nb\n"


def test_rejected_parts_of_a_hunk_come_back_where_they_were_in_whatever_order() -> None:
    for order in ((1, 2, 4), (2, 1, 4), (4, 2, 1), (4, 1, 2), (1, 4, 2), (2, 4, 1)):
        story = Story.of("top\nbottom\n")
        story.agent("T1", "top\none\ntwo\nthree\nbottom\n")
        story.decide("reject", 1, lines=(2, 2))
        story.decide("reject", 1, lines=(2, 2))
        story.reject(1)

        for number in order:
            story.take_back(number)

        assert story.current == "top\none\ntwo\nthree\nbottom\n", order


def test_what_the_user_adds_below_a_hunk_without_a_last_line_end_is_outside_of_it() -> None:
    story = Story.of("a\n")
    story.agent("T1", "a\nb\nc")

    story.user("a\nb\nc\nmine\n")

    assert (story.base, list(story.hunks.values())) == ("a\nmine\n", [("", "b\nc\n", {"T1"})])
    story.reject(1)
    assert story.current == "a\nmine\n"


def test_lines_that_the_user_cuts_and_brings_back_are_whose_they_were() -> None:
    written = "a\none\ntwo\nthree\nz\n"
    for cut in ("a\ntwo\nthree\nz\n", "a\none\nthree\nz\n", "a\none\ntwo\nz\n", "a\none\nz\n", "a\nthree\nz\n"):
        story = Story.of("a\nz\n")
        story.agent("T1", written)
        story.user(cut)
        story.user(written)

        assert story.hunks == {1: ("", "one\ntwo\nthree\n", {"T1"})}
        assert not story.text.hunks[0].hunk.own
        story.reject(1)
        assert story.current == "a\nz\n"


def test_so_are_lines_that_were_cut_one_after_the_other() -> None:
    texts = ["a\none\ntwo\nthree\nfour\nz\n", "a\none\nthree\nfour\nz\n", "a\none\nfour\nz\n", "a\none\nz\n"]
    story = Story.of("a\nb\nz\n")
    story.agent("T1", texts[0])
    for text in (*texts[1:], *reversed(texts[:-1])):
        story.user(text)

    story.reject(1)

    assert story.current == "a\nb\nz\n"


def test_other_lines_in_their_place_are_the_users() -> None:
    story = Story.of("a\nz\n")
    story.agent("T1", "a\none\ntwo\nthree\nz\n")
    story.user("a\none\nthree\nz\n")
    story.user("a\none\nmine\nthree\nz\n")

    story.reject(1)

    assert story.current == "a\nmine\nz\n"


def test_a_whole_text_that_the_user_cuts_and_brings_back_has_its_hunks_again() -> None:
    story = Story.of("a\nb\nc\nd\ne\n")
    written = "a\nB\nB2\nc\nnew\nD\ne\n"
    story.agent("T1", written)
    hunks = story.hunks
    story.user("")
    story.user(written)

    assert story.hunks == hunks
    for number in hunks:
        story.reject(number)
    assert story.current == "a\nb\nc\nd\ne\n"


def test_a_kept_removal_has_no_place_any_more_when_an_agent_takes_the_lines_on_both_sides_of_it() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nc\n")
    story.keep(1)
    story.agent("T1", "")

    assert isinstance(story.take_back(1), SomethingElseThere)

    story.reject(2)
    assert isinstance(story.take_back(1), SomethingElseThere)
    assert story.base == story.current == "a\nc\n"


def test_nor_has_one_beside_which_a_line_becomes_one_hunk_with_those_below() -> None:
    story = Story.of("a\nb\n")
    story.agent("T1", "a\n")
    story.agent("T2", "a\nx\n")
    story.keep(1)
    story.agent("T2", "x\n")

    assert isinstance(story.take_back(1), SomethingElseThere)
    assert story.hunks == {2: ("a\n", "x\n", {"T2"})}


def test_a_kept_removal_has_its_place_when_an_agent_takes_the_line_on_one_side_of_it() -> None:
    for left in ("a\n", "c\n"):
        story = Story.of("a\nb\nc\n")
        story.agent("T1", "a\nc\n")
        story.keep(1)
        story.agent("T2", left)

        story.take_back(1)

        assert story.base == "a\nb\nc\n"
        assert story.current == left


@pytest.mark.parametrize(
    "typed",
    [
        ["bc"],
        ["acd", "ad"],
        ["acd", "ac"],
        ["bcd", "cd"],
        ["bc", ""],
        ["acd", "cd", ""],
    ],
)
def test_lines_of_an_agent_that_were_taken_out_in_several_places_or_steps_are_its_again_when_all_are_back(
    typed: list[str],
) -> None:
    story = Story.of("x\ny\n")
    story.agent("T1", "x\na\nb\nc\nd\ny\n")
    hunk = story.text.hunks[0].hunk
    for letters in typed:
        story.user("x\n" + "".join(f"{letter}\n" for letter in letters) + "y\n")

    story.user("x\nmine\na\nb\nc\nd\nmine, too\ny\n")

    assert [each.hunk for each in story.text.hunks] == [hunk]
    story.reject(1)
    assert story.current == "x\nmine\nmine, too\ny\n"


def test_so_they_are_in_a_hunk_with_other_lines_after_a_stash() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\n1\n2\n3\nc\n")
    hunks = story.text.hunks

    story.user("a\n2\nc\n", "git")
    story.user("a\n1\n2\n3\nc\n", "git")

    assert story.text.hunks == hunks
    assert story.base == "a\nb\nc\n"


@pytest.mark.parametrize("left", ["bcdy", "xabc", "xaby", "y", "x", "xacdy", "xay", "xdy"])
def test_so_they_are_when_lines_beside_them_were_taken_out_with_them(left: str) -> None:
    story = Story.of("x\nm\ny\n")
    story.agent("T1", "x\na\nb\nm\ny\n")
    story.agent("T2", "x\na\nb\nm\nc\nd\ny\n")
    hunks = story.text.hunks

    story.user("".join(f"{letter}\n" for letter in left))
    story.user("x\na\nb\nm\nc\nd\ny\n")

    assert story.text.hunks == hunks
    assert story.base == "x\nm\ny\n"


def test_so_is_a_line_that_replaced_others_when_it_was_taken_out_with_lines_on_both_sides_of_it() -> None:
    story = Story.of("x\no\ny\n")
    story.agent("T1", "x\na\ny\n")
    story.agent("T2", "x\na\nb\nc\ny\n")
    hunks = story.text.hunks

    story.user("c\ny\n")
    story.user("x\na\nb\nc\ny\n")

    assert story.text.hunks == hunks
    assert story.base == "x\no\ny\n"
