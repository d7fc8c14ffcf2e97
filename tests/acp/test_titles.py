"""Titles of tool cards: one line, bounded, and nothing hidden in them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.acp.titles import MAX_TITLE, cut_to, title


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("git status", "git status"),
        ("echo hi\nrm -rf build\n", "echo hi ⏎ rm -rf build"),
        ("one\r\n\n\ttwo  three\u2028four\x0bfive", "one ⏎ two three ⏎ four ⏎ five"),
        ("a\x1b[31mb\u202ec", "a\\u001b[31mb\\u202ec"),
        (" \n ", ""),
        ("x" * MAX_TITLE, "x" * MAX_TITLE),
        ("x" * (MAX_TITLE + 1), "x" * (MAX_TITLE - 1) + "…"),
        ("門" * MAX_TITLE, "門" * (MAX_TITLE // 2 - 1) + "…"),
        ("e\u0301" * MAX_TITLE, "e\u0301" * MAX_TITLE),
    ],
)
def test_a_title_is_one_line_within_its_width(text: str, shown: str) -> None:
    assert title(text) == shown


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40), st.integers(min_value=1, max_value=30))
def test_nothing_is_wider_than_it_may_be_and_only_what_is_cut_is_marked(text: str, columns: int) -> None:
    line = cut_to(text, columns)
    assert width(line) <= columns
    assert line == text or (line.endswith("…") and text.startswith(line[:-1]))
    assert not set(title(text * 20)) & {"\n", "\r", "\t", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"}


def width(text: str) -> int:
    """Columns, as a terminal counts them."""
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )
