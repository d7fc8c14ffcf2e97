"""The review by example: what becomes of the text of one file."""

import pytest
from tests.agents.files.review.reviewing import (
    AREA,
    AREA_T1,
    AREA_TYPED,
    FORMATTER,
    FORMATTER_T2,
    Story,
    area,
    formatted,
)

from sould.agents.files.review.decisions import (
    AlreadyDecided,
    Decided,
    Decision,
    HunkStale,
    NeedsChoice,
    NotThere,
    SomethingElseThere,
    UnknownHunk,
    decided,
)
from sould.agents.files.review.difference import LineEdit


def test_a_whole_line_of_the_user_in_a_hunk_survives_its_reject() -> None:
    story = area()
    story.user(AREA_TYPED)
    assert story.places(1) == (range(2, 2), range(2, 5))

    answer = story.reject(1)

    assert story.current == story.base == "def area(w, h):\n        log(w, h)\n    return w * h\n"
    assert isinstance(answer, Decided)
    assert answer.stayed == ("        log(w, h)\n",)
    assert not story.hunks


def test_words_of_the_user_in_a_line_of_the_agent_are_asked_about() -> None:
    story = area()
    story.user(AREA_T1.replace('"neg"', 'f"neg {w}"'))
    before = story.text

    answer = story.reject(1)

    assert isinstance(answer, NeedsChoice)
    assert answer.mixed == ('        raise ValueError(f"neg {w}")\n',)
    assert story.text == before
    assert len(story.reject_everything()) == 1
    assert list(story.hunks) == [1]


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        ("drop", "def area(w, h):\n    return w * h\n"),
        ("mine", 'def area(w, h):\n        raise ValueError(f"neg {w}")\n    return w * h\n'),
    ],
)
def test_the_choice_says_what_becomes_of_mixed_lines(choice: str, left: str) -> None:
    story = area()
    story.user(AREA_T1.replace('"neg"', 'f"neg {w}"'))

    story.reject(1, "drop" if choice == "drop" else "mine")

    assert story.current == left
    assert not story.hunks


def test_indenting_a_line_of_the_agent_makes_it_nobody_elses() -> None:
    story = area()
    story.user(AREA_T1.replace("        raise", "            raise"))

    story.reject(1)

    assert story.current == AREA


def test_a_formatter_joins_hunks_it_touches_and_gives_lines_of_the_user_back() -> None:
    story = formatted()

    assert story.hunks == {
        2: ("x = {'a':1}\n", 'x = {"a": 1}\n', {"T2"}),
        1: ("    return x\n", '    return x["a"]\n', {"T1", "T2"}),
        3: ("z=3\ny=2\n", "z = 3\ny = 2\n", {"T2"}),
    }
    story.reject(3)
    assert story.current.endswith("z=3\ny=2\n")
    story.reject(1)
    assert story.current.splitlines()[3] == "    return x"
    story.reject_everything()
    assert story.current == story.base == FORMATTER + "y=2\n"


def test_what_an_editor_formats_while_saving_belongs_to_the_write_it_saves() -> None:
    story = Story.of(FORMATTER)
    story.agent("T1", FORMATTER.replace("return x", "return x['a']"))
    story.agent("T1", FORMATTER_T2.removesuffix("y = 2\n"))
    assert [each[2] for each in story.hunks.values()] == [{"T1"}] * 3

    assert story.reject_everything() == []
    assert story.current == FORMATTER
    story.user(FORMATTER.replace("{'a':1}", '{"a": 1}').replace("z=3", "z = 3"), returning=False)

    assert not story.hunks
    assert story.base == story.current


def test_another_session_that_writes_into_a_hunk_shares_it() -> None:
    story = Story.of("a\nb\nc\nd\n")
    story.agent("T1", "a\nB\nc\nd\n", "S1")
    story.agent("T2", "a\nBB\nc\nD\n", "S2")

    [first, second] = story.text.hunks
    assert first.hunk.sessions == {"S1", "S2"}
    assert second.hunk.sessions == {"S2"}
    story.reject(1)
    assert story.current == "a\nb\nc\nD\n"


def test_a_new_text_goes_but_what_the_user_appended_stays() -> None:
    story = Story.of("")
    story.agent("T1", "# Plan\n- write it\n")
    story.user("# Plan\n- write it\n- call Ann\n")

    story.reject(1)

    assert story.current == story.base == "- call Ann\n"
    assert not story.hunks


def test_line_ends_are_part_of_their_lines() -> None:
    story = Story.of("a\r\nb\r\nc")
    story.agent("T1", "a\r\nb1\r\nb2\r\nc")
    assert story.places(1) == (range(2, 3), range(2, 4))
    story.reject(1)
    assert story.current == "a\r\nb\r\nc"

    story.agent("T2", "a1\r\nb\r\nc\r\n")
    assert story.hunks == {2: ("a\r\n", "a1\r\n", {"T2"}), 3: ("c", "c\r\n", {"T2"})}
    story.reject(3)
    assert story.current == "a1\r\nb\r\nc"


def test_text_that_git_takes_away_and_brings_back_is_pending_again() -> None:
    story = Story.of("a\nb\nc\nd\ne\n")
    story.agent("T1", "a\nB\nc\nD\ne\n")
    hunks = story.hunks

    story.user("a\nb\nc\nd2\ne\nf\n", "git")
    assert not story.hunks
    assert story.base == story.current
    assert story.states() == {1: "absent", 2: "absent"}

    story.user("a\nB\nc\nD\ne\n", "git")
    assert story.hunks == hunks
    assert story.base == "a\nb\nc\nd\ne\n"


def test_hunks_that_touch_are_pending_again_after_a_stash() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nb\nnew\nc\n")
    story.agent("T2", "a\nnew\nc\n")
    hunks = story.text.hunks
    assert len(hunks) == 2

    story.user("a\nb\nc\n", "git")
    assert not story.hunks
    story.user("a\nnew\nc\n", "git")

    assert story.text.hunks == hunks


def test_what_a_program_wrote_over_a_hunk_makes_it_stale_until_its_text_is_back() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nB\nc\n")

    story.user("a\nother\nc\n", "disk")
    assert story.states() == {1: "stale"}
    assert story.base == "a\nother\nc\n"
    assert isinstance(story.reject(1), NotThere)

    story.user("a\nB\nc\n", "disk")
    assert list(story.hunks) == [1]
    assert story.base == "a\nb\nc\n"


def test_the_first_decision_holds() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nB\nc\n")
    story.keep(1)
    assert story.base == story.current == "a\nB\nc\n"

    answer = story.reject(1)

    assert isinstance(answer, AlreadyDecided)
    assert answer.away.state == "kept"
    assert story.current == "a\nB\nc\n"


def test_typing_elsewhere_makes_no_decision_stale_and_typing_inside_does() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nB\nc\n")
    digest = story.text.hunks[0].hunk.digest
    story.user("first\na\nB\nc!\n")
    assert isinstance(decided(story.text, Decision("keep", 1, digest)), Decided)
    story.user("first\na\nB?\nc!\n")

    answer = decided(story.text, Decision("keep", 1, digest))

    assert isinstance(answer, HunkStale)
    assert answer.present == story.text.hunks[0]


def test_an_agent_that_edits_its_own_hunk_adds_to_it() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nb1\nc\n")
    story.agent("T2", "a\nb2\nb3\nc\n")

    assert story.hunks == {1: ("b\n", "b2\nb3\n", {"T1", "T2"})}
    assert story.places(1) == (range(2, 3), range(2, 4))
    story.reject(1)
    assert story.current == "a\nb\nc\n"


def test_hunks_of_two_turns_that_touch_stay_two() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nb1\nc\n")
    story.agent("T2", "a\nb1\nC\n")
    assert list(story.hunks) == [1, 2]

    story.reject(1)
    assert story.current == "a\nb\nC\n"
    story.reject(2)
    assert story.current == "a\nb\nc\n"


def test_a_line_of_the_user_that_an_agent_removed_comes_back_on_reject() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nb1\nb2\nc\n")
    story.user("a\nb1\nu\nb2\nc\n")
    story.agent("T2", "a\nb1\nb2\nc\n")

    story.reject(1)

    assert story.current == "a\nb\nu\nc\n"


def test_the_editors_own_undo_takes_a_reject_back_and_its_redo_rejects_again() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nB\nc\n")
    story.reject(1)

    story.user("a\nB\nc\n")
    assert list(story.hunks) == [1]
    assert story.base == "a\nb\nc\n"

    story.user("a\nb\nc\n")
    assert story.states() == {1: "rejected"}


@pytest.mark.parametrize(
    ("base", "written"),
    [("a\nb\nc\n", "a\nB\nc\n"), ("a\nc\n", "a\nB\nc\n"), ("a\nb\nc\n", "a\nc\n"), ("a\nb\nc\n", "A\nb\nC\nd\n")],
)
def test_the_editors_own_undo_before_a_decision_makes_hunks_absent_until_its_redo(base: str, written: str) -> None:
    story = Story.of(base)
    story.agent("T1", written)
    hunks = story.hunks

    story.user(base)
    assert set(story.states().values()) == {"absent"}
    assert not story.hunks
    assert story.base == base

    story.user(written)
    assert story.hunks == hunks
    assert story.base == base


def test_part_of_a_hunk_can_be_kept() -> None:
    story = Story.of("a\n")
    story.agent("T1", "a\np\nq\nr\ns\n")

    story.keep(1, lines=(3, 4))

    assert story.base == "a\nq\nr\n"
    assert story.places(1)[1] == range(2, 3)
    [_, last] = story.text.hunks
    assert last.hunk.texts == ("s\n",)
    assert story.places(last.hunk.id)[1] == range(5, 6)
    story.reject_everything()
    assert story.current == "a\nq\nr\n"


def test_removed_lines_go_with_the_first_part_of_a_hunk() -> None:
    story = Story.of("a\nb\n")
    story.agent("T1", "a\np\nq\n")

    story.decide("reject", 1, lines=(2, 2))

    assert story.current == "a\nb\nq\n"
    assert story.hunks == {1: ("", "q\n", {"T1"})}


def test_undoing_a_keep_makes_the_hunk_pending_again() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nB\nc\n")
    hunks = story.hunks
    story.keep(1)
    story.user("first\na\nB\nc\n")

    assert isinstance(story.take_back(1), Decided)

    assert story.hunks == hunks
    assert story.base == "first\na\nb\nc\n"


def test_undoing_a_reject_writes_the_lines_again() -> None:
    story = area()
    story.user(AREA_TYPED)
    hunks = story.hunks
    story.reject(1)

    assert isinstance(story.take_back(1), Decided)

    assert story.current == AREA_TYPED
    assert story.hunks == hunks


def test_a_decision_whose_lines_were_changed_since_is_not_undone() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nB\nc\n")
    story.keep(1)
    story.user("a\nB!\nc\n")

    assert isinstance(story.take_back(1), SomethingElseThere)
    assert story.current == "a\nB!\nc\n"


def test_an_edit_whose_diff_a_person_allowed_is_not_pending() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nB\nc\n", allowed=True)
    assert not story.hunks
    assert story.base == "a\nB\nc\n"


def test_hunks_that_wait_for_their_text_are_remembered_longer_than_decisions() -> None:
    story = Story.of("first\nlast\n")
    story.agent("T1", "first!\nlast\n")
    story.user("first\nlast\n")
    story.agent("T1", "first\nrejected\nlast\n")
    story.reject(2)
    for n in range(310):
        story.agent("T2", f"first\nlast {n}\n")
        story.keep(n + 3)

    states = story.states()
    assert len(states) == 300
    assert (states[1], states[2]) == ("absent", "rejected")
    assert min(set(states) - {1, 2}) == 15
    assert isinstance(story.reject(3), HunkStale)

    story.user("first!\nlast 309\n")
    assert list(story.hunks) == [1]


def test_a_hunk_nobody_ever_saw_is_unknown() -> None:
    story = Story.of("a\n")
    assert isinstance(story.reject(7), UnknownHunk)


def test_a_line_typed_at_the_edge_of_a_hunk_is_outside() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nB\nc\n")

    story.user("a\nabove\nB\nbelow\nc\n")

    assert story.base == "a\nabove\nb\nbelow\nc\n"


def test_a_line_typed_where_lines_were_removed_stands_below_them() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nc\n")

    story.user("a\nnew\nc\n")

    assert story.base == "a\nb\nnew\nc\n"
    story.reject(1)
    assert story.current == "a\nb\nnew\nc\n"


def test_an_edit_across_the_edge_of_a_hunk_is_split_there() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nB\nc\n")
    text = story.text.user_wrote([LineEdit(1, 3, ("B!\n", "c!\n"))])

    assert text.base == ("a\n", "b\n", "c!\n")
    assert [line.mixed for line in text.hunks[0].hunk.lines] == [True]


def test_pasting_thousands_of_lines_over_lines_of_an_agent_leaves_those_that_are_as_they_were() -> None:
    written = [f"agent {n}\n" for n in range(300)]
    story = Story.of("a\nb\n")
    story.agent("T1", "a\n" + "".join(written) + "b\n")
    pasted = [line if n % 3 else f"user {n}\n" for n, line in enumerate(written)] + ["one more\n"]
    text = story.text.user_wrote([LineEdit(1, 301, tuple(pasted))])

    [hunk] = text.hunks
    assert {line.text for line in hunk.hunk.lines if line.own or line.mixed} == {*pasted} - {*written}


def test_lines_are_changed_at_several_places_of_one_hunk() -> None:
    story = Story.of("a\nb\n")
    story.agent("T1", "a\nfirst line\nsecond line\nthird line\nfourth line\nb\n")

    story.user("a\nfirst line!\nsecond line\nthird line?\ntyped\nfourth line\nb\n")
    assert story.current == "a\nfirst line!\nsecond line\nthird line?\ntyped\nfourth line\nb\n"
    assert [line.mixed for line in story.text.hunks[0].hunk.lines] == [True, False, True, False, False]

    story.agent("T2", "a\nfirst line\nsecond line\nthird\ntyped\nfourth\nb\n")
    assert story.current == "a\nfirst line\nsecond line\nthird\ntyped\nfourth\nb\n"
    assert list(story.hunks) == [1]

    story.undo("T2")
    assert story.current == "a\nfirst line!\nsecond line\nthird line?\ntyped\nfourth line\nb\n"
    story.reject(1, "drop")
    assert story.current == "a\ntyped\nb\n"


def test_an_edit_that_cannot_be_split_makes_the_hunk_grow() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "a\nB\nc\n")
    text = story.text.user_wrote([LineEdit(1, 3, ("B c\n",))])

    [hunk] = text.hunks
    assert hunk.hunk.base == ("b\n", "c\n")
    assert hunk.hunk.texts == ("B c\n",)
    assert text.base == ("a\n", "b\n", "c\n")


def test_removals_that_were_kept_come_back_in_the_order_they_had() -> None:
    for kept in ((1, 2), (2, 1)):
        for undone in ((1, 2), (2, 1)):
            story = Story.of("a\nb\nc\n")
            story.agent("T1", "b\nc\n")
            story.agent("T2", "c\n")
            for hunk_id in kept:
                story.keep(hunk_id)

            for hunk_id in undone:
                assert isinstance(story.take_back(hunk_id), Decided)

            assert story.base == "a\nb\nc\n"
            assert list(story.hunks) == [1, 2]


def test_a_removal_that_was_kept_comes_back_above_one_that_came_later() -> None:
    story = Story.of("a\nb\nc\n")
    story.agent("T1", "b\nc\n")
    story.keep(1)
    story.agent("T2", "c\n")

    assert isinstance(story.take_back(1), Decided)

    assert story.base == "a\nb\nc\n"
