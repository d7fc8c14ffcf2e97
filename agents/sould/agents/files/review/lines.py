"""Texts as lines, character for character: joining what was split gives the same text, whatever its line ends. Pure."""

import io
from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeAlias

Lines: TypeAlias = tuple[str, ...]
"""Each with its line end; the last may have none."""
LineEnd: TypeAlias = Literal["\n", "\r\n", "\r"]


def split(text: str) -> Lines:
    """The lines of a text, as editors number them: an end is CR, LF or CR LF, and nothing else that Unicode has."""
    return tuple(io.StringIO(text, newline="").readlines())


def words_in(line: str) -> list[str]:
    """What white space parts in it; a mark of the byte order, which editors put before a text, is no more than that."""
    return line.removeprefix("\ufeff").split()


def without_white_space(lines: Iterable[str]) -> str:
    """What is left of some lines when nobody looks at their white space."""
    return "".join(part for line in lines for part in words_in(line))


def line_end(lines: Iterable[str]) -> LineEnd | None:
    """The end that all lines have; None where none has one, or they differ."""
    text = "\0".join(lines)  # so that a CR is told from one that has its LF; looked through at the speed of C
    both = text.count("\r\n") if "\r" in text else 0
    counts: dict[LineEnd, int] = {
        "\n": text.count("\n") - both,
        "\r\n": both,
        "\r": text.count("\r") - both,
    }
    ends: list[LineEnd] = [end for end, count in counts.items() if count]
    return ends[0] if len(ends) == 1 else None


def without_ends(lines: Iterable[str]) -> Lines:
    """The lines without their ends."""
    return tuple(line.rstrip("\r\n") for line in lines)


def with_end(lines: Lines, end: LineEnd) -> Lines:
    """The same with this end for every line that has one; the same object where that changes none."""
    if line_end(lines) == end:
        return lines
    return tuple(line if (old := _end(line)) is None else line.removesuffix(old) + end for line in lines)


def alike(one: Lines, other: Lines) -> bool:
    """At least half of the lines are equal: one may have been made of the other."""
    return 2 * (Counter(one) & Counter(other)).total() >= max(len(one), len(other))


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
