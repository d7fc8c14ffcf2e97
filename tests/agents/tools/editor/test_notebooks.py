"""Notebooks without an editor: cells read and edited, and everything else in the file as it was."""

import json
from pathlib import Path
from typing import Any

import pytest

from sould.agents.base.diskfile import digest_of
from sould.agents.base.workspace import TextFile
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.notebooks import cells, edited
from sould.agents.tools.editor.results import Cell, CellOutput

FILE = Path("/p/a.ipynb")
OUTPUTS = [
    {"name": "stdout", "output_type": "stream", "text": ["7\n", "8\n"]},
    {
        "ename": "ValueError",
        "evalue": "no",
        "output_type": "error",
        "traceback": ["\x1b[0;31mValueError\x1b[0m: no", "!"],
    },
    {"data": {"image/png": "aGVsbG8=", "text/plain": "<Figure>"}, "metadata": {}, "output_type": "display_data"},
]
CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "head", "metadata": {}, "source": ["# Grüße"]},
    {
        "cell_type": "code",
        "execution_count": 3,
        "id": "c2",
        "metadata": {},
        "outputs": OUTPUTS,
        "source": ["x = 7\n", "x"],
    },
]
METADATA = {"kernelspec": {"display_name": "Python 3", "name": "python3"}, "language_info": {"name": "python"}}


def notebook(**changes: Any) -> dict[str, Any]:
    return {"cells": CELLS, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5, **changes}


def file(value: object, *, indent: int | None = 1, end: str = "\n", ascii_only: bool = False) -> TextFile:
    text = value if isinstance(value, str) else json.dumps(value, indent=indent, ensure_ascii=ascii_only) + end
    return TextFile(FILE, text, digest_of(text.encode()))


def test_cells_are_read_with_what_they_showed() -> None:
    found = cells(file(notebook()), "", outputs=True)
    assert (found.total, found.language) == (2, "python")
    assert found.cells == (
        Cell(1, "markdown", "# Grüße", "head"),
        Cell(
            2,
            "code",
            "x = 7\nx",
            "c2",
            3,
            (
                CellOutput("stream", "7\n8\n"),
                CellOutput("error", "ValueError: no\n!"),
                CellOutput("image/png"),
                CellOutput("text/plain", "<Figure>"),
            ),
        ),
    )


@pytest.mark.parametrize("named", ["2", "c2"])
def test_one_cell_is_named_by_its_id_or_its_number(named: str) -> None:
    [cell] = cells(file(notebook()), named, outputs=False).cells
    assert (cell.number, cell.outputs) == (2, ())


@pytest.mark.parametrize(("indent", "end"), [(1, "\n"), (4, ""), (None, "\n")])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_nothing_but_the_cell_becomes_another(indent: int | None, end: str, ascii_only: bool) -> None:
    before = file(notebook(), indent=indent, end=end, ascii_only=ascii_only)
    text = edited(before, {"cell": "c2", "source": "y\nz"})
    mended = {**CELLS[1], "execution_count": None, "outputs": [], "source": ["y\n", "z"]}
    wanted = file(notebook(cells=[CELLS[0], mended]), indent=indent, end=end, ascii_only=ascii_only)
    assert text == wanted.text


def test_line_ends_stay() -> None:
    before = file(notebook())
    crlf = file(before.text.replace("\n", "\r\n"))
    text = edited(crlf, {"cell": "head", "source": "# Hello"})
    assert text == before.text.replace("# Grüße", "# Hello").replace("\n", "\r\n")


def test_cells_come_behind_another_or_first_and_go() -> None:
    behind = json.loads(edited(file(notebook()), {"action": "insert", "cell": "1", "source": "1"}))["cells"]
    assert [each["source"] for each in behind] == [["# Grüße"], ["1"], ["x = 7\n", "x"]]
    assert len(behind[1]["id"]) == 8
    first = json.loads(edited(file(notebook(nbformat_minor=4)), {"action": "insert", "kind": "markdown"}))["cells"]
    assert first[0] == {"cell_type": "markdown", "metadata": {}, "source": []}
    [left] = json.loads(edited(file(notebook()), {"action": "delete", "cell": "2"}))["cells"]
    assert left == CELLS[0]


def test_a_cell_of_another_kind_has_what_its_kind_has() -> None:
    text = edited(file(notebook()), {"cell": "2", "kind": "markdown", "source": "words"})
    assert json.loads(text)["cells"][1] == {"cell_type": "markdown", "id": "c2", "metadata": {}, "source": ["words"]}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "not_supported"),
        ("[" * 100_000, "not_supported"),
        ([], "not_supported"),
        ({"nbformat": 3, "worksheets": []}, "not_supported"),
        (notebook(cells={}), "not_supported"),
        (notebook(cells=[1]), "not_supported"),
        (notebook(cells=[CELLS[0], CELLS[0]]), "not_found"),
        (notebook(cells=[]), "not_found"),
    ],
)
def test_what_is_no_notebook_or_names_no_one_cell_is_said(value: object, code: str) -> None:
    for call in (lambda: cells(file(value), "head", outputs=True), lambda: edited(file(value), {"cell": "head"})):
        with pytest.raises(EditorToolError) as raised:
            call()
        assert raised.value.code == code


def test_one_that_is_laid_out_otherwise_is_left_alone() -> None:
    odd = json.dumps(notebook()).replace('"id": "c2"', '"id":"c2"')
    with pytest.raises(EditorToolError, match="edit it as a text"):
        edited(file(odd), {"cell": "2", "source": "x"})


def test_nonsense_in_a_cell_is_nothing() -> None:
    odd = {
        "cell_type": 7,
        "id": ["a"],
        "source": 5,
        "execution_count": "x",
        "outputs": [1, {"output_type": "error", "traceback": 9}],
    }
    [cell] = cells(file(notebook(cells=[odd], metadata=[])), "", outputs=True).cells
    assert cell == Cell(1, "raw", "", "a", None, (CellOutput("error", ": "),))
