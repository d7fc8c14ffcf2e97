"""Texts as lines, character for character: joining what was split gives the same text, whatever its line ends. Pure."""

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

Lines: TypeAlias = tuple[str, ...]
"""Each with its line end; the last may have none."""
LineEnd: TypeAlias = Literal["\n", "\r\n", "\r"]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def split(text: str) -> Lines:
    """The lines of a text, as editors number them: an end is CR, LF or CR LF, and nothing else that Unicode has."""
    return tuple(_LINE.findall(text))


def without_white_space(lines: Iterable[str]) -> str:
    """What is left of some lines when nobody looks at their white space."""
    return "".join(part for line in lines for part in line.split())


def line_end(lines: Iterable[str]) -> LineEnd | None:
    """The end that all lines have; None where none has one, or they differ."""
    ends: set[LineEnd] = {end for line in lines if (end := _end(line)) is not None}
    return ends.pop() if len(ends) == 1 else None


def without_ends(lines: Iterable[str]) -> Lines:
    """The lines without their ends."""
    return tuple(line.rstrip("\r\n") for line in lines)


def with_end(lines: Iterable[str], end: LineEnd) -> Lines:
    """The same with this end for every line that has one."""
    return tuple(line if (old := _end(line)) is None else line.removesuffix(old) + end for line in lines)


def stacked(above: Lines, below: Lines) -> Lines:
    """Lines below others; the last of a file, which has no end, gets one when it is not the last any more."""
    if not above or not below or _end(above[-1]) is not None:
        return (*above, *below)
    return (*above[:-1], above[-1] + (_end(below[0]) or "\n"), *below)


def _end(line: str) -> LineEnd | None:
    if line.endswith("\r\n"):
        return "\r\n"
    if line.endswith("\n"):
        return "\n"
    return "\r" if line.endswith("\r") else None
