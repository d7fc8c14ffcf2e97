"""Undo by example: what calls wrote is taken back, what the user decided or typed stays."""

from tests.agents.files.review.reviewing import AREA_T1, AREA_TYPED, FORMATTER, Story, area, formatted

from sould.agents.files.review.decisions import Decided


def test_undoing_the_turn_of_a_formatter_leaves_the_hunks_of_the_turn_before() -> None:
    story = formatted()

    answer = story.undo("T2")

    assert answer.conflicts == 0
    assert story.current == FORMATTER.replace("return x", "return x['a']") + "y=2\n"
    assert story.hunks == {1: ("    return x\n", "    return x['a']\n", {"T1"})}
    assert story.base == FORMATTER + "y=2\n"


def test_undoing_a_turn_leaves_what_was_kept_and_redoing_it_brings_the_rest_back() -> None:
    story = Story.of("one\ntwo\nthree\nfour\nfive\n")
    story.agent("T1", "one\nTWO\nthree\nFOUR\nfive\n")
    story.keep(1)

    answer = story.undo("T1")

    assert answer.kept == (1,)
    assert story.current == story.base == "one\nTWO\nthree\nfour\nfive\n"
    assert not story.hunks
    assert isinstance(story.take_back(2), Decided)
    assert story.current == "one\nTWO\nthree\nFOUR\nfive\n"
    assert list(story.hunks) == [2]


def test_undoing_a_turn_whose_edits_were_allowed_gives_base() -> None:
    story = Story.of("one\ntwo\nthree\n")
    story.agent("T1", "one\nTWO\nthree\nfour\n", allowed=True)

    story.undo("T1")

    assert story.current == story.base == "one\ntwo\nthree\n"


def test_undoing_the_later_turn_of_a_hunk_leaves_the_earlier_one() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nb1\nc\n")
    story.agent("T2", "a\nb2\nb3\nc\n")

    story.undo("T2")

    assert story.current == "a\nb1\nc\n"
    assert story.hunks == {1: ("b\n", "b1\n", {"T1"})}


def test_undoing_the_earlier_turn_of_a_hunk_that_a_later_one_changed_is_a_conflict() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nb1\nc\n")
    story.agent("T2", "a\nb2\nc\n")

    answer = story.undo("T1")

    assert answer.conflicts == 1
    assert story.current == "a\nb2\nc\n"


def test_undoing_a_turn_leaves_lines_of_the_user_and_asks_about_mixed_ones() -> None:
    story = area()
    story.user(AREA_TYPED)
    assert story.undo("T1").conflicts == 0
    assert story.current == "def area(w, h):\n        log(w, h)\n    return w * h\n"

    story = area()
    story.user(AREA_T1.replace('"neg"', 'f"neg {w}"'))
    assert story.undo("T1").conflicts == 1
    assert story.current == AREA_T1.replace('"neg"', 'f"neg {w}"')


def test_going_back_into_the_middle_of_a_turn_takes_its_later_calls_only() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nb1\nc\n", call="C1")
    story.agent("T1", "a\nb1\nb2\nc\nd\n", call="C2")
    story.agent("T1", "a\nb1\nb3\nc\nd\n", call="C3")
    assert story.text.hunks[0].hunk.calls == {"C1", "C2", "C3"}

    answer = story.undo_calls("C2", "C3")

    assert (answer.conflicts, answer.hunks) == (0, (2,))
    assert story.current == "a\nb1\nc\n"
    assert story.hunks == {1: ("b\n", "b1\n", {"T1"})}
    assert story.text.hunks[0].hunk.calls == {"C1"}
    assert story.states() == {2: "undone"}


def test_hunks_that_a_write_made_one_are_two_again_without_it() -> None:
    story = Story.of("a\nb\nc\nd\n")
    story.agent("T1", "A\nb\nc\nD\n")
    hunks = story.hunks
    story.agent("T2", "one\n")
    assert list(story.hunks) == [1]

    story.undo("T2")

    assert story.hunks == hunks
    assert story.current == "A\nb\nc\nD\n"


def test_hunks_below_an_undone_one_keep_their_places() -> None:
    story = Story.of("a\nb\nc\nd\n")
    story.agent("T1", "a\nb1\nb2\nc\nD\n")
    story.agent("T2", "a\nb1\nb2\nb3\nc\nD\n")
    story.keep(2)

    story.undo("T2")

    assert isinstance(story.take_back(2), Decided)
    assert story.base == "a\nb\nc\nd\n"


def test_undoing_a_turn_brings_removed_lines_back() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nc\n")
    story.user("first\na\nc\n")

    story.undo("T1")

    assert story.current == story.base == "first\na\nb\nc\n"


def test_a_removed_line_comes_back_above_one_like_it_that_the_user_typed_since() -> None:
    story = Story.of("top\na\nx\nb\n")
    story.agent("T1", "top\na\nb\n")
    story.user("a\nnew\nx\nb\n")

    undone = story.undo("T1")

    assert (undone.conflicts, story.hunks) == (0, {})
    assert story.current == story.base == "a\nx\nnew\nx\nb\n"


def test_lines_that_a_call_removed_beside_what_it_wrote_come_back_once() -> None:
    story = Story.of("a\nb\n")
    story.agent("T1", "new\na\nb\n", call="C1")
    story.agent("T1", "new\nb\n", call="C2")
    assert story.hunks == {1: ("a\n", "new\n", {"T1"})}

    assert story.undo_calls("C2").conflicts == 0

    assert story.current == "new\na\nb\n"
    assert story.base == "a\nb\n"
    assert list(story.hunks) == [1]


def test_undoing_a_turn_whose_removal_was_rejected_brings_nothing_back_twice() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nc\n")
    story.reject(1)

    assert story.undo("T1").conflicts == 0

    assert story.current == story.base == "a\nb\nc\n"


def test_undoing_a_turn_takes_lines_that_the_user_indented() -> None:
    story = Story.of("a\nc\n")
    story.agent("T1", "a\nb\nc\n")
    story.user("a\n    b\nc\n")

    assert story.undo("T1").conflicts == 0

    assert story.current == "a\nc\n"


def test_a_line_of_the_user_that_a_call_took_away_comes_back_once() -> None:
    story = Story.of("z\n")
    story.agent("T1", "a\nb\nz\n", call="C1")
    story.user("a\nmine\nb\nz\n")
    story.agent("T1", "z\n", call="C2")

    assert story.undo_calls("C2").conflicts == 0

    assert story.current == "a\nmine\nb\nz\n"
    story.reject_everything()
    assert story.current == "mine\nz\n"


def test_a_removal_that_was_kept_with_the_lines_beside_it_stays() -> None:
    story = Story.of("a\nb\n")
    story.agent("T1", "new\na\nb\n", call="C1")
    story.agent("T1", "new\nb\n", call="C2")
    story.keep(1)

    answer = story.undo_calls("C2")

    assert (answer.conflicts, answer.kept) == (0, (1,))
    assert story.current == story.base == "new\nb\n"


def test_removed_lines_come_back_once_when_a_part_of_their_hunk_was_kept_and_that_was_undone() -> None:
    story = Story.of("a\nb\n")
    story.agent("T1", "x\na\nb\n", call="C1")
    story.agent("T1", "x\ny\nb\n", call="C2")
    story.keep(1, lines=(1, 1))
    story.take_back(2)

    assert story.undo_calls("C2").conflicts == 0

    assert story.current == "x\na\nb\n"
    assert story.base == "a\nb\n"


def test_a_removal_that_was_kept_stays_when_what_came_in_its_place_is_undone() -> None:
    story = Story.of("a\nz\n")
    story.agent("T1", "x\ny\nz\n")
    story.keep(1, lines=(1, 1))
    assert story.hunks == {1: ("", "y\n", {"T1"})}
    story.user("y\nz\n")

    story.undo("T1")

    assert story.current == story.base == "z\n"


def test_base_that_a_partial_reject_brought_back_does_not_come_back_again_with_an_undo() -> None:
    story = Story.of("z\n")
    story.agent("T1", "a\nb\nc\nz\n")
    story.agent("T2", "a\nb\nX\n")
    story.decide("reject", 1, lines=(1, 1))

    story.undo("T2")

    assert story.current == "z\nb\nc\n"
    assert story.base == "z\n"


def test_base_whose_removal_was_kept_with_a_part_of_a_hunk_does_not_come_back_with_an_undo() -> None:
    story = Story.of("z\n")
    story.agent("T1", "a\nb\nc\nz\n")
    story.agent("T2", "a\nb\nX\n")
    story.keep(1, lines=(1, 1))

    answer = story.undo("T2")

    assert story.current == "a\nb\nc\n"
    assert answer.kept == (2,)


def test_what_a_call_took_away_of_a_hunk_stands_in_what_is_left_of_it_when_the_call_is_undone() -> None:
    story = Story.of("1\n2\n3\n")
    story.agent("T1", "A\n2\n3\n")
    story.agent("T1", "A\n3\n")
    story.agent("T2", "3\n")
    story.undo("T1")

    story.undo("T2")

    assert story.current == "A\n2\n3\n"
    assert story.base == "1\n2\n3\n"
    assert story.hunks == {1: ("1\n", "A\n", {"T1"})}


def test_a_hunk_that_is_back_leaves_others_the_ids_that_they_got_by_an_undo() -> None:
    story = Story.of("1\n")
    story.agent("T1", "2\n1\n", call="first")
    story.agent("T2", "3\n2\n1\n")
    story.agent("T1", "", call="second")
    story.undo("T1")
    assert story.current == "3\n1\n"

    story.user("3\n", "disk")

    assert [each.hunk.ids for each in story.text.hunks] == [(2,), (1,)]


def test_a_last_line_has_no_end_again_when_what_was_put_below_it_is_undone() -> None:
    story = Story.of("1")
    story.agent("T1", "", call="first")
    story.user("2\n", returning=False)
    story.agent("T2", "")
    story.undo_calls("first")
    assert (story.base, story.current) == ("1\n2\n", "1")
    before = story.hunks

    story.agent("T3", "1\n4\n")
    story.undo("T3")

    assert (story.base, story.current, story.hunks) == ("1\n2\n", "1", before)


def test_a_last_line_that_others_removed_keeps_its_end_when_what_was_put_below_it_is_undone() -> None:
    story = Story.of("1")
    story.agent("T1", "2\n1", call="first")
    story.agent("T1", "2\n1\n3\n", call="second", allowed=True)
    story.agent("T2", "")

    story.undo("T1")

    assert (story.base, story.current) == ("1\n3\n", "")
