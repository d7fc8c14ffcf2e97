"""Words for people: why a server cannot be reached, data that is not JSON, titles of what was typed."""

import socket
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from sould.agents.base.network.failures import is_unknown_host, why_unreachable
from sould.agents.base.yaml_text import as_lines, readable
from sould.agents.sessions.store.info import default_title


def wrapped(error: Exception) -> Exception:
    """As libraries raise it: in a group, in an error of their own."""
    outer = RuntimeError("Client failed to connect")
    outer.__cause__ = ExceptionGroup("several", [ValueError("no"), error])
    return outer


def test_the_reason_is_found_below_what_libraries_make_of_it() -> None:
    assert why_unreachable(wrapped(ConnectionRefusedError(111, "no"))) == "connection refused"
    assert why_unreachable(wrapped(socket.gaierror(-2, "Name or service not known"))) == "host not found"
    assert is_unknown_host(wrapped(socket.gaierror(-2, "")))
    assert (
        why_unreachable(wrapped(ssl.SSLError("wrong version number"))) == "the encrypted connection could not be made"
    )
    assert why_unreachable(wrapped(OSError("odd"))) == ""
    assert (
        why_unreachable(RuntimeError("Client failed to connect: All connection attempts failed"))
        == "nothing answers there"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON, JSON)
def test_two_different_values_never_look_the_same(one: JsonValue, other: JsonValue) -> None:
    if repr(one) != repr(other):
        assert as_lines(one) != as_lines(other)


def test_json_becomes_lines_and_other_text_stays() -> None:
    assert readable('{"sum": 5, "of": ["a", "b\\nc"]}') == "sum: 5\nof:\n- a\n- |-\n  b\n  c"
    for text in ("{not json", "[]", "plain", '"text"', "{}"):
        assert readable(text) == text


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("<environment_info>\nOS: Linux\n</environment_info>\n\nfix the tests", "fix the tests"),
        ('explain <resource_link path="/a/b.py" name="b.py" /> please', "explain please"),
        ("<files><file path='a'>x</file></files> why?", "why?"),
        ("review this\n\n<stdin>\n- a\n</stdin>", "review this"),
        ("is a < b and c > d?", "is a < b and c > d?"),
        ("<b>only this</b>", "<b>only this</b>"),
    ],
)
def test_a_session_is_called_by_what_was_typed(prompt: str, title: str) -> None:
    assert default_title(prompt) == title


def test_a_title_shows_what_prints_nothing() -> None:
    assert default_title("explain\u202e this\rand\u200b that") == r"explain\u202e this and\u200b that"
