"""Texts as lines, byte for byte: joining what was split gives the same bytes, whatever its line ends. Pure."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

Lines: TypeAlias = tuple[bytes, ...]
"""Each with its line end; the last may have none."""
LineEnd: TypeAlias = Literal[b"\n", b"\r\n", b"\r"]


def split(text: bytes) -> Lines:
    """The lines of a text, as editors number them: an end is CR, LF or CR LF."""
    return tuple(text.splitlines(keepends=True))


def without_white_space(lines: Iterable[bytes]) -> bytes:
    """What is left of some lines when nobody looks at their white space."""
    return b"".join(part for line in lines for part in line.split())


def line_end(lines: Iterable[bytes]) -> LineEnd | None:
    """The end that all lines have; None where none has one, or they differ."""
    ends: set[LineEnd] = {end for line in lines if (end := _end(line)) is not None}
    return ends.pop() if len(ends) == 1 else None


def with_end(lines: Iterable[bytes], end: LineEnd) -> Lines:
    """The same with this end for every line that has one."""
    return tuple(line if (old := _end(line)) is None else line.removesuffix(old) + end for line in lines)


def _end(line: bytes) -> LineEnd | None:
    if line.endswith(b"\r\n"):
        return b"\r\n"
    if line.endswith(b"\n"):
        return b"\n"
    return b"\r" if line.endswith(b"\r") else None
