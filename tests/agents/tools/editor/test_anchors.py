"""Anchors against a text: what they point to, and that nothing is guessed."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.tools.editor.anchors import AnchorPlace, Position, place, place_of_name
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import Span, Symbol

TEXT = "import a\n\ndef run(a):\n    return a.run()\n\nclass 🦊x:\n    def run(self): pass  # 🦊 run\n"


def test_a_line_without_a_column_is_its_first_word() -> None:
    assert place(AnchorPlace(line=4), TEXT, "a.py") == Position(4, 5)


def test_columns_count_utf_16_code_units() -> None:
    assert place(AnchorPlace(symbol="x", line_text="class 🦊x:"), TEXT, "a.py") == Position(6, 9)


def test_a_symbol_is_found_by_the_text_of_its_line_as_a_whole_word() -> None:
    assert place(AnchorPlace(symbol="run", line_text="def run(a):"), TEXT, "a.py") == Position(3, 5)
    assert place(AnchorPlace(symbol="a", line_text="    return a.run()  "), TEXT, "a.py") == Position(4, 12)


def test_a_symbol_in_several_lines_is_ambiguous_and_all_of_them_are_named() -> None:
    with pytest.raises(EditorToolError) as error:
        place(AnchorPlace(symbol="run"), TEXT, "a.py")
    assert error.value.code == "ambiguous"
    assert [each.line for each in error.value.candidates] == [3, 4, 7]
    assert "a.py:4: return a.run()" in error.value.worded


@pytest.mark.parametrize(
    "anchor",
    [
        AnchorPlace(line=99),
        AnchorPlace(line=1, column=99),
        AnchorPlace(symbol="nothing"),
        AnchorPlace(symbol="run", line_text="a line that was made up"),
        AnchorPlace(symbol="im"),
    ],
)
def test_what_is_not_there_is_not_found(anchor: AnchorPlace) -> None:
    with pytest.raises(EditorToolError) as error:
        place(anchor, TEXT, "a.py")
    assert error.value.code == "not_found"


def _symbol(name_path: str, line: int) -> Symbol:
    at = Position(line, 5)
    return Symbol(name_path.rpartition("/")[2], name_path, "method", "/p/a.py", Span(at, at))


SYMBOLS = [_symbol("A", 1), _symbol("A/run", 2), _symbol("B/run", 9), _symbol("A/run", 20), _symbol("B/A/end", 30)]


@pytest.mark.parametrize(("path", "line"), [("B/run", 9), ("A/run[1]", 20), ("A", 1), ("end", 30), ("/B/A/end", 30)])
def test_a_name_path_is_the_whole_path_or_its_end(path: str, line: int) -> None:
    assert place_of_name(path, SYMBOLS, "a.py").line == line


@pytest.mark.parametrize(("path", "code"), [("run", "ambiguous"), ("A/run", "ambiguous"), ("C/run", "not_found")])
def test_a_name_path_is_never_guessed(path: str, code: str) -> None:
    with pytest.raises(EditorToolError) as error:
        place_of_name(path, SYMBOLS, "a.py")
    assert error.value.code == code


@given(st.text(), st.integers(-3, 9), st.integers(-3, 9), st.text(min_size=1))
def test_any_anchor_is_a_place_in_the_text_or_an_error(text: str, line: int, column: int, symbol: str) -> None:
    for anchor in (AnchorPlace(line=line, column=column), AnchorPlace(symbol=symbol)):
        with suppress(EditorToolError):
            found = place(anchor, text, "x")
            assert found.line >= 1
            assert found.column >= 1
