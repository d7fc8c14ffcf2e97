"""Texts as lines, byte for byte: joining what was split gives the same bytes, whatever its line ends. Pure."""

from collections.abc import Iterable
from typing import TypeAlias

Lines: TypeAlias = tuple[bytes, ...]
"""Each with its line end; the last may have none."""


def split(text: bytes) -> Lines:
    """The lines of a text, as editors number them: an end is CR, LF or CR LF."""
    return tuple(text.splitlines(keepends=True))


def without_white_space(lines: Iterable[bytes]) -> bytes:
    """What is left of some lines when nobody looks at their white space."""
    return b"".join(part for line in lines for part in line.split())
