"""Undo of calls when parts of what they wrote were decided, and others wrote since: each line comes back once, or stays away."""

from tests.agents.files.review.reviewing import Story

from sould.agents.files.review.decisions import Decided


def test_allowed_edits_are_taken_back_one_after_the_other() -> None:
    story = Story.of("a\n")
    story.agent("T1", "x\na\n", call="C1", allowed=True)
    story.agent("T1", "a\n", call="C2", allowed=True)

    story.undo_calls("C2")
    assert story.current == "x\na\n"

    story.undo_calls("C1")
    assert story.current == story.base == "a\n"


def test_a_line_of_the_user_whose_removal_was_kept_does_not_come_back() -> None:
    story = Story.of("1\n")
    story.agent("T1", "a\nb\n")
    story.user("a\nmine\nb\n")
    story.agent("T1", "b\n", call="C2")
    story.keep(1)

    answer = story.undo("T1")

    assert (answer.kept, answer.conflicts) == ((1,), 0)
    assert story.current == story.base == "b\n"


def test_what_another_turn_had_written_stays_away_with_the_hunk_that_was_decided() -> None:
    story = Story.of("1\n")
    story.agent("T1", "2\n")
    story.agent("T2", "2\n3\n")
    story.agent("T1", "", call="C2")
    story.reject(1)

    story.undo_calls("C2")

    assert story.current == story.base == "1\n"
    assert not story.hunks


def test_undoing_an_earlier_call_leaves_what_was_decided_about_a_later_one() -> None:
    story = Story.of("a\nz\n")
    story.agent("T1", "a\nx\nz\n", allowed=True)
    story.agent("T2", "a\nz\n")
    story.reject(1)

    assert story.undo("T1").conflicts == 0

    assert story.current == story.base == "a\nz\n"


def test_a_line_that_is_back_after_the_one_above_was_changed_is_taken_back() -> None:
    story = Story.of("1\n")
    story.agent("T1", "1\n5\n")
    story.reject(1)
    story.user("6 1\n")
    story.take_back(1)
    assert story.current == "6 1\n5\n"

    story.undo("T1")

    assert story.current == story.base == "6 1\n"


def test_the_last_line_without_an_end_stays_when_the_lines_below_it_are_taken_back() -> None:
    story = Story.of("1")
    story.agent("T1", "1\n3\n")
    story.decide("reject", 1, lines=(1, 1))
    story.agent("T2", "1\n6\r\n3\n")

    assert story.undo("T1").conflicts == 0

    assert story.current == "1\n6\r\n"
    story.reject_everything()
    assert story.current == "1"


def test_the_last_line_without_an_end_gets_the_one_that_it_has_in_the_text_when_lines_below_are_kept() -> None:
    story = Story.of("1")
    story.agent("T1", "1\r2\r3\r\n")

    story.keep(1, lines=(3, 3))

    assert story.base == "1\r3\r\n"
    story.undo("T1")
    assert story.current == story.base == "1\r3\r\n"


def test_base_has_no_end_again_when_a_keep_below_it_is_taken_back() -> None:
    story = Story.of("1")
    story.agent("T1", "1\n2\n")
    story.agent("T2", "1\n2\n3\n")
    hunks = story.hunks
    story.keep(2)

    assert isinstance(story.take_back(2), Decided)

    assert (story.base, story.hunks) == ("1", hunks)


def test_a_hunk_whose_end_alone_is_back_is_away_once() -> None:
    story = Story.of("1")
    story.agent("T1", "1\n")
    story.undo("T1")

    story.user("1\n6\n", "git")

    assert list(story.states()) == [1]
    assert [each.hunk.id for each in story.text.away] == [1]


def test_a_removal_that_was_kept_stands_above_one_that_was_rejected_since() -> None:
    story = Story.of("1\n2\n")
    story.agent("T1", "1\n")
    story.agent("T2", "")
    story.keep(2)
    story.reject(1)

    assert isinstance(story.take_back(2), Decided)

    assert story.base == "1\n2\n"


def test_a_rejected_call_is_not_taken_for_the_one_that_took_a_line_away_since() -> None:
    story = Story.of("1")
    story.agent("T1", "2\n")
    story.reject(1)
    story.agent("T2", "1\n4\n")
    story.user("1\n")

    story.undo("T1")

    assert story.current == "1\n"
    assert list(story.hunks) == [2]


def test_what_the_user_overwrote_is_a_conflict_also_when_an_earlier_turn_had_changed_it() -> None:
    story = Story.of("hello\n")
    story.agent("T1", "one\n")
    story.agent("T2", "two\n")
    story.user("mine\n", "disk")

    assert story.undo("T2").conflicts == 1

    assert story.current == story.base == "mine\n"


def test_lines_of_the_user_that_a_call_took_away_come_back_in_their_order() -> None:
    story = Story.of("1")
    story.agent("T1", "1\n6\n")
    story.user("1\nx\ny\n6\n")
    story.agent("T2", "1\r\nx\n6\n")

    story.undo("T2")

    assert story.current == "1\nx\ny\n6\n"
