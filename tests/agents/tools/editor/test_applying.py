"""Edits of backends against a text: exact, whole, and refused where they do not fit."""

from pathlib import Path

import pytest

from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.backends import BackendEdit, FileEdits
from sould.agents.tools.editor.calls import bounded
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import AllReferences, Hit, Hover, References, Span
from sould.agents.tools.editor.writing import applied

FILE = Path("/p/a.py")


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> BackendEdit:
    return BackendEdit(Span(Position(*start), Position(*end)), text)


def test_edits_are_all_relative_to_one_text_in_whatever_order() -> None:
    edits = (edit((2, 1), (2, 4), "three"), edit((1, 1), (1, 4), "1"), edit((1, 4), (1, 4), "!"))
    assert applied(FileEdits(FILE, edits), "one\ntwo\n", "a") == "1!\nthree\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_stay(end: str) -> None:
    text = f"one{end}two{end}"
    assert applied(FileEdits(FILE, (edit((2, 2), (2, 3), "W"),)), text, "a") == f"one{end}tWo{end}"


def test_columns_are_utf_16_code_units() -> None:
    assert applied(FileEdits(FILE, (edit((1, 3), (1, 4), "b"),)), "🦊a\n", "a") == "🦊b\n"


def test_the_line_behind_the_last_is_the_end() -> None:
    assert applied(FileEdits(FILE, (edit((2, 1), (2, 1), "z"),)), "a", "a") == "az"
    assert applied(FileEdits(FILE, (edit((2, 1), (2, 1), "z"),)), "a\n", "a") == "a\nz"


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (FileEdits(FILE, (edit((1, 1), (1, 3), "x"), edit((1, 2), (1, 3), "y"))), "failed"),
        (FileEdits(FILE, (edit((1, 3), (1, 1), "x"),)), "failed"),
        (FileEdits(FILE, (edit((9, 1), (9, 1), "x"),)), "stale"),
        (FileEdits(FILE, (edit((1, 0), (1, 1), "x"),)), "stale"),
        (FileEdits(FILE, text="new", digest="0" * 64), "stale"),
        (FileEdits(FILE, text="x" * 8_000_001), "failed"),
    ],
)
def test_what_does_not_fit_is_refused(wanted: FileEdits, code: str) -> None:
    with pytest.raises(EditorToolError) as error:
        applied(wanted, "one\n", "a")
    assert error.value.code == code


def test_long_answers_are_cut_and_say_so() -> None:
    hits = tuple(Hit(number, f"line {number} " * 20) for number in range(1, 2_000))
    value, cut = bounded(AllReferences(1_999, (References("/p/a.py", hits),)), 8_000, 100)
    assert cut
    assert value["total"] == 1_999
    assert 1 <= len(value["groups"][0]["hits"]) <= 100
    value, cut = bounded(Hover("x" * 50_000), 1_000, 100)
    assert cut
    assert len(value["markdown"]) < 1_000
    assert value["markdown"].endswith("[...]")
    assert bounded(Hover("short"), 1_000, 100) == ({"markdown": "short"}, False)
