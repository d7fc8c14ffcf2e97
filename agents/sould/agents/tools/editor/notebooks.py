"""Notebooks as files (.ipynb, format 4): their cells read, and one of them replaced, inserted or deleted. Pure.

A notebook is written anew as its own file is laid out, so that nothing but the cell differs; one that cannot be is left alone.
"""

import json
import os
import re
from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias, cast

from sould.agents.base.workspace import TextFile
from sould.agents.tools.editor.backends import Arguments
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import Cell, CellOutput, NotebookCells

Json: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["code", "markdown", "raw"]

_INDENT: Final = re.compile(r"\{\r?\n([ \t]+)\"")
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_WITH_IDS: Final = (4, 5)
"""The first format in which cells have ids."""


def cells(file: TextFile, cell: str, *, outputs: bool) -> NotebookCells:
    """All cells, or the one that is named.

    Raises:
        EditorToolError: not_supported, not_found.
    """
    notebook = _parsed(file)
    all_cells = _cells_of(notebook)
    numbers = range(len(all_cells)) if not cell else (_index(all_cells, cell),)
    shown = tuple(_cell(all_cells[index], index + 1, outputs=outputs) for index in numbers)
    return NotebookCells(str(file.path), shown, len(all_cells), _language(notebook))


def edited(file: TextFile, given: Arguments) -> str:
    """The text with one cell replaced, inserted or deleted.

    Raises:
        EditorToolError: not_supported, not_found.
    """
    notebook = _parsed(file)
    indent = _INDENT.match(file.text)
    layout: Json = {
        "indent": indent[1] if indent else None,
        "ensure_ascii": file.text.isascii() and "\\u" in file.text,
    }
    end = "\n" if file.text.endswith("\n") else ""
    if json.dumps(notebook, **layout) + end != file.text.replace("\r\n", "\n"):
        raise EditorToolError("not_supported", f"{file.path.name} is not laid out as Jupyter does; edit it as a text.")
    _edit(notebook, given)
    text = json.dumps(notebook, **layout) + end
    return text.replace("\n", "\r\n") if "\r\n" in file.text else text


def _edit(notebook: Json, given: Arguments) -> None:
    all_cells, action, named = _cells_of(notebook), given.get("action", "replace"), given.get("cell", "")
    if action == "insert":
        all_cells.insert(_index(all_cells, named) + 1 if named else 0, _new(notebook, given))
    elif action == "delete":
        del all_cells[_index(all_cells, named)]
    else:
        _replace(all_cells[_index(all_cells, named)], given)


def _replace(cell: Json, given: Arguments) -> None:
    kind = given.get("kind") or _kind(cell)
    as_lines = isinstance(cell.get("source"), list)
    cell["cell_type"], cell["source"] = kind, _source(given.get("source", ""), as_lines=as_lines)
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    else:
        cell.pop("execution_count", None)
        cell.pop("outputs", None)


def _new(notebook: Json, given: Arguments) -> Json:
    kind = given.get("kind") or "code"
    parts: Json = {"cell_type": kind, "metadata": {}, "source": _source(given.get("source", ""), as_lines=True)}
    if kind == "code":
        parts |= {"execution_count": None, "outputs": []}
    if (notebook.get("nbformat"), notebook.get("nbformat_minor", 0)) >= _WITH_IDS:
        parts["id"] = os.urandom(4).hex()
    return dict(sorted(parts.items()))


def _source(text: str, *, as_lines: bool) -> str | list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text) if as_lines else text


def _parsed(file: TextFile) -> Json:
    try:
        value = json.loads(file.text)
    except (ValueError, RecursionError) as error:
        raise EditorToolError("not_supported", f"{file.path.name} is no notebook: {str(error)[:100]}") from error
    if not isinstance(value, dict) or cast("Json", value).get("nbformat") != _WITH_IDS[0]:
        raise EditorToolError("not_supported", f"{file.path.name} is no notebook of format 4.")
    return cast("Json", value)


def _cells_of(notebook: Json) -> list[Json]:
    """The notebook's own list. Raises EditorToolError."""
    found: object = notebook.get("cells")
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in cast("list[object]", found)):
        raise EditorToolError("not_supported", "It is no notebook: it has no list of cells.")
    return cast("list[Json]", found)


def _index(all_cells: list[Json], cell: str) -> int:
    """Which one an id or a number means; an id that looks like a number comes first."""
    by_id = [index for index, each in enumerate(all_cells) if each.get("id") == cell]
    if len(by_id) == 1:
        return by_id[0]
    number = int(cell) if cell.isascii() and cell.isdigit() and len(cell) < 10 else 0
    if not by_id and 1 <= number <= len(all_cells):
        return number - 1
    raise EditorToolError("not_found", f"There is no one cell {cell[:80]!r} among {len(all_cells)}.")


def _cell(cell: Json, number: int, *, outputs: bool) -> Cell:
    count: object = cell.get("execution_count")
    return Cell(
        number,
        _kind(cell),
        _text(cell.get("source")),
        _text(cell.get("id")),
        count if isinstance(count, int) else None,
        tuple(_outputs(cell)) if outputs else (),
    )


def _kind(cell: Json) -> Kind:
    kind: object = cell.get("cell_type")
    return kind if kind in ("code", "markdown", "raw") else "raw"


def _outputs(cell: Json) -> Iterator[CellOutput]:
    found: object = cell.get("outputs")
    for output in cast("list[object]", found) if isinstance(found, list) else ():
        if isinstance(output, dict):
            yield from _output(cast("Json", output))


def _output(output: Json) -> Iterator[CellOutput]:
    match output.get("output_type"):
        case "stream":
            yield CellOutput("stream", _text(output.get("text")))
        case "error":
            named = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
            yield CellOutput("error", _COLOURS.sub("", _text(output.get("traceback"), between="\n")) or named)
        case _:
            data: object = output.get("data")
            for kind, value in cast("Json", data).items() if isinstance(data, dict) else ():
                yield CellOutput(kind, _text(value) if kind.startswith("text/") else "")


def _text(value: object, between: str = "") -> str:
    """A text, or the lines of one; "" for what is neither."""
    if isinstance(value, list):
        return between.join(each for each in cast("list[object]", value) if isinstance(each, str))
    return value if isinstance(value, str) else ""


def _language(notebook: Json) -> str:
    metadata: object = notebook.get("metadata")
    for key in ("language_info", "kernelspec"):
        about: object = cast("Json", metadata).get(key) if isinstance(metadata, dict) else None
        if isinstance(about, dict):
            return _text(cast("Json", about).get("name"))
    return ""
