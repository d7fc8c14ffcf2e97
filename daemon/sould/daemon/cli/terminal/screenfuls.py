"""How much of what is to be read fits a terminal, as lines wrap there. Prints nothing, and keeps nothing of a size: windows are resized."""

import os
import re
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click

_TAB = 8
_FURTHER = "    "
"""Before what goes on in a row below."""


class Screen(NamedTuple):
    """The size of a terminal."""

    columns: int
    rows: int


def screen() -> Screen | None:
    """The terminal that is written to, as large as it is now; None: there is none, or it does not say."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return None
    return Screen(size.columns, size.lines) if size.columns and size.lines else None


def fitting(lines: Sequence[str], columns: int, rows: int) -> int:
    """How many of the lines, from the first on, take at most so many rows; always one of them, that something is shown."""
    left = rows
    for n, line in enumerate(lines):
        left -= height(line, columns)
        if left < 0:
            return max(1, n)
    return len(lines)


def height(line: str, columns: int) -> int:
    """The rows that a line takes, whose colours take none."""
    return max(1, -(-_cells(click.unstyle(line).expandtabs(_TAB)) // columns))


def _cells(text: str) -> int:
    return len(text) if text.isascii() else _width(text)


def _width(characters: Iterable[str]) -> int:
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in characters)
    return wide + sum(not unicodedata.combining(each) for each in characters)


def wrapped(line: str, columns: int) -> list[str]:
    """A line without colours as the rows that a terminal makes of it; at least one."""
    rows, row, width = list[str](), list[str](), 0
    for character in line.expandtabs(_TAB):
        cells = _cells(character)
        if width + cells > columns and row:
            rows.append("".join(row))
            row, width = [], 0
        row.append(character)
        width += cells
    return [*rows, "".join(row)]


def parted(line: str, columns: int) -> list[str]:
    """A line of words as rows: parted between its columns, which two spaces hold apart, else between words, never within one."""
    if height(line, columns) == 1:
        return [line]
    first, *cells = re.split(r" {2,}(?=\S)", line.strip())
    indent = line[: len(line) - len(line.lstrip())]
    rows = [f"{indent}{first}"]
    for cell in cells:
        beside = f"{rows[-1]}  {cell}"
        rows[-1:] = [beside] if height(beside, columns) == 1 else [rows[-1], f"{indent}{_FURTHER}{cell}"]
    return [row for each in rows for row in _words(each, columns)]


def _words(row: str, columns: int) -> list[str]:
    if height(row, columns) == 1:
        return [row]
    indent = row[: len(row) - len(row.lstrip())]
    further = f"{indent.removesuffix(_FURTHER)}{_FURTHER}"
    return textwrap.wrap(
        row,
        columns,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
