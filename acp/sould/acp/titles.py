"""Titles of tool cards: one line that says what a call does, however long and however written that is. Pure.

Whole, the same stands in the card's content or its input; nobody decides by a title alone.
"""

import unicodedata

from sould.agents.permissions.visible import visible

MAX_TITLE = 240
"""Columns; East Asian characters take two, marks above other characters none."""
LINE_END = " ⏎ "
"""In place of a line's end: two commands must not read like one."""


def title(text: str) -> str:
    """`text` as a title: on one line, nothing in it invisible, cut to `MAX_TITLE` columns."""
    lines = (" ".join(visible(line).split()) for line in text.splitlines())
    return cut_to(LINE_END.join(line for line in lines if line), MAX_TITLE)


def cut_to(line: str, columns: int) -> str:
    """The beginning of a line, with a mark when something is left out; never wider than `columns`."""
    if len(line) * 2 <= columns:
        return line
    used, end = 0, 0
    for number, character in enumerate(line):
        used += _width(character)
        if used > columns:
            return line[:end].rstrip() + "…"
        if used < columns:  # room for the mark
            end = number + 1
    return line


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
