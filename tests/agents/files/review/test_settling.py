"""What the user staged or committed is found by its text."""

import pytest
from tests.agents.files.review.reviewing import Story

from sould.agents.files.review.lines import split
from sould.agents.files.reviewing.gitreading import hunks_in

HEAD = "a\nb\nc\nd\ne\n"


@pytest.mark.parametrize(
    ("written", "version", "found"),
    [
        ("a\nB\nc\nD\ne\n", "a\nB\nc\nd\ne\n", {1}),
        ("a\nB\nc\nD\ne\n", HEAD, set[int]()),
        ("a\nB\nc\nD\ne\n", "a\nB\nc\nD\ne\n", {1, 2}),
        ("a\nc\nd\ne\n", HEAD, set[int]()),
        ("a\nc\nd\ne\n", "a\nc\nd\ne\nlast\n", {1}),
        ("a\nb\nnew\nc\nd\ne\n", HEAD, set[int]()),
        ("a\nb\nnew\nc\nd\ne\n", "first\na\nb\nnew\nc\nd\ne\n", {1}),
        ("a\nB\nc\nd\ne\n", "a\nb\nB\nc\nd\ne\n", set[int]()),
        ("a\nc\nd\ne\n", "something else\n", set[int]()),
    ],
)
def test_hunks_are_in_a_version_that_has_them_at_their_place(written: str, version: str, found: set[int]) -> None:
    story = Story.of(HEAD)
    story.agent("T1", written)
    assert {each.hunk.id for each in hunks_in(story.text, split(version))} == found


def test_a_last_line_without_end_is_found_where_something_stands_below_it() -> None:
    story = Story.of("a\nb")
    story.agent("T1", "a\n")
    story.agent("T2", "a\nY\n")

    assert [each.hunk.id for each in hunks_in(story.text, ("a\n", "b\n", "Y\n"))] == [2]
