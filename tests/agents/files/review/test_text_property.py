"""Whatever happens to a text under review: nothing typed is lost, and what was rejected is gone."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.files.review.machine import Reviewing

from sould.agents.files.review.difference import LineEdit, applied, edits_between
from soultest.luck import examples

pytestmark = pytest.mark.long

TestReviewing = Reviewing.TestCase
TestReviewing.settings = settings(max_examples=examples(300), stateful_step_count=15)  # `make faults` looks further


def test_edits_between_two_texts_turn_one_into_the_other() -> None:
    old = tuple(f"{n % 7}\n" for n in range(60))
    new = tuple(f"{n % 5}\n" for n in range(50))
    edits = edits_between(old, new)
    assert applied(old, edits) == new
    assert all(one.stop < other.start for one, other in itertools.pairwise(edits))
    assert edits_between(old, old) == ()
    assert edits_between((), new) == (LineEdit(0, 0, new),)


@settings(derandomize=True)
@given(st.lists(st.sampled_from("abcdef"), min_size=2, max_size=12), st.data())
def test_two_lines_that_changed_are_no_more_than_that(old: list[str], data: st.DataObject) -> None:
    at = st.integers(0, len(old) - 1)
    here, there = data.draw(at), data.draw(at)
    new = list(old)
    new[here], new[there] = old[there], "new"
    edits = edits_between(old, new)
    assert applied(tuple(old), edits) == tuple(new)
    assert sum(edit.stop - edit.start + len(edit.lines) for edit in edits) <= 4


_TEXT = st.lists(st.sampled_from("ab}"), max_size=10).map(tuple)


@settings(derandomize=True)
@given(_TEXT, _TEXT)
def test_lines_that_only_came_or_only_went_stand_as_low_as_they_can(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    for edit, following in itertools.pairwise([*edits_between(old, new), LineEdit(len(old), len(old), ())]):
        moving = edit.lines or old[edit.start : edit.stop]
        is_one_side = edit.start == edit.stop or not edit.lines
        assert not is_one_side or edit.stop == following.start or moving[0] != old[edit.stop]


def test_a_new_function_begins_with_its_first_line_below_another_change() -> None:
    old = ("a\n", "}\n", "\n", "b\n", "}\n", "\n", "end\n")
    new = ("A\n", *old[1:6], "c\n", "}\n", "\n", "end\n")
    assert edits_between(old, new)[1] == LineEdit(6, 6, ("c\n", "}\n", "\n"))


def test_each_of_two_changed_lines_is_rejected_by_itself() -> None:
    old = ("retry = 1\n", "pause()\n", "pause()\n", "pause()\n", "retry = 2\n")
    new = ("retry = 2\n", *old[1:4], "retry = 3\n")
    assert edits_between(old, new) == (LineEdit(0, 1, new[:1]), LineEdit(4, 5, new[4:]))
