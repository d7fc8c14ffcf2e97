"""Three-way merge by lines."""

from hypothesis import given
from hypothesis import strategies as st

from sould.agents.projects.merge import merge

BASE = "a\nb\nc\nd\ne\n"


def test_changes_in_different_places_are_joined() -> None:
    assert merge(BASE, "a\nB\nc\nd\ne\n", "a\nb\nc\nd\nE\n") == (True, "a\nB\nc\nd\nE\n")
    assert merge(BASE, "top\n" + BASE, BASE + "end\n") == (True, "top\n" + BASE + "end\n")
    assert merge(BASE, "a\nc\nd\ne\n", "a\nb\nc\nd\nd2\ne\n") == (True, "a\nc\nd\nd2\ne\n")


def test_changes_in_one_place_conflict() -> None:
    assert merge(BASE, "a\nX\nc\nd\ne\n", "a\nY\nc\nd\ne\n") == (False, None)
    assert merge(BASE, "a\nb\nX\nc\nd\ne\n", "a\nb\nY\nc\nd\ne\n") == (False, None)


def test_the_same_change_on_both_sides_is_made_once() -> None:
    assert merge(BASE, "a\nX\nc\nd\ne\n", "a\nX\nc\nd\nE\n") == (True, "a\nX\nc\nd\nE\n")


def test_files_that_come_and_go() -> None:
    assert merge("x", "x", None) == (True, None)
    assert merge(None, None, "x") == (True, "x")
    assert merge("x", "y", None) == (False, None)
    assert merge("x", None, "y") == (False, None)
    assert merge("x", None, None) == (True, None)


lines = st.lists(st.sampled_from(["a\n", "b\r\n", "c\n", "d"]), max_size=8).map("".join)


@given(lines, lines)
def test_with_one_side_unchanged_the_other_is_the_result(base: str, other: str) -> None:
    assert merge(base, other, base) == (True, other)
    assert merge(base, base, other) == (True, other)


@given(lines, lines, lines)
def test_a_merge_is_the_same_from_both_sides_and_never_loses_a_side(base: str, ours: str, theirs: str) -> None:
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert one[0] == other[0]
    if one[0]:
        assert one == other
