"""Titles of tool cards: one line, bounded, and nothing hidden in them."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.acp.features import Features
from sould.acp.projection.titles import MAX_TITLE, title
from sould.acp.projection.toolcalls import Call
from sould.agents.permissions.visible import cut_to
from sould.agents.toolapi.loading import REFERENCE_TOOLS
from sould.agents.wire.content import FunctionCall
from sould.agents.wire.messages import ToolCall, ToolCallDetail


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("git status", "git status"),
        ("echo hi\nrm -rf build\n", "echo hi ⏎ rm -rf build"),
        ("one\r\n\n\ttwo  three\u2028four\x0bfive", "one ⏎ two three ⏎ four ⏎ five"),
        ("a\x1b[31mb\u202ec", "a\\u001b[31mb\\u202ec"),
        (" \n ", ""),
        ("x" * MAX_TITLE, "x" * MAX_TITLE),
        ("echo " + "x" * 900 + "; rm -rf build", "echo " + "x" * 146 + " … 693 more … " + "x" * 61 + "; rm -rf build"),
        ("門" * MAX_TITLE, "門" * 75 + " … 128 more … " + "門" * 37),
        ("q\u0301" * MAX_TITLE, "q\u0301" * MAX_TITLE),
        ("a ⏎ b", "a \\u23ce b"),
    ],
)
def test_a_title_is_one_line_within_its_width(text: str, shown: str) -> None:
    assert title(text) == shown


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=90), st.integers(min_value=24, max_value=50))
def test_what_is_cut_keeps_both_ends_and_says_how_much_is_left_out(text: str, columns: int) -> None:
    line = cut_to(text, columns)
    assert width(line) <= columns
    if line != text:
        head, count, tail = re.split(r" … (\d+) more … ", line, maxsplit=1)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert int(count) <= len(text) - len(head) - len(tail) < int(count) + columns
    assert not set(title(text * 20)) & {"\n", "\r", "\t", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"}


def width(text: str) -> int:
    """Columns, as a terminal counts them."""
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


@pytest.mark.parametrize("name", [*REFERENCE_TOOLS, "github__create_issue", "my_tool", "__", "x__"])
def test_a_card_never_begins_with_the_bare_name_of_its_tool(name: str) -> None:
    shown = Call.opened(ToolCall(id="c", function=FunctionCall(name=name)), "/", Features(), parent=None)
    assert shown.title not in ("", name)
    described = shown.describe(
        ToolCallDetail(tool_call_id="c", name=name, title=name, kind="other", arguments={}), waits=False
    )
    assert described.get("title") == shown.title not in ("", name)
