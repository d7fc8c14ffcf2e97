"""A hunk as the lines of a unified diff, with the words that differ, for whoever shows it. Pure.

Nothing in a line is invisible or looks like another one.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from sould.agents.files.review.lines import Lines, split
from sould.agents.files.review.words import MOST_COMPARED, Differing, Span, differing
from sould.agents.files.reviewing.shapes import ShownHunk, texts_of
from sould.agents.permissions.visible import NO_NEWLINE, visible_ends

Sign: TypeAlias = Literal[" ", "-", "+", "\\", "@"]
CONTEXT: Final = 3
"""Lines above and below."""
EDGE: Final = 40
"""Characters that are shown beside what was left out of a line."""
MOST_DELETED: Final = 200
"""Lines of a deleted file that are shown."""


class Piece(Struct, frozen=True):
    """A part of a line; `differs`: the other side has it not."""

    text: str
    differs: bool = False


class DiffLine(Struct, frozen=True):
    """One line, without its end."""

    sign: Sign
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """As a diff has it."""
        return self.sign + "".join(piece.text for piece in self.pieces)


def diff_of(hunk: ShownHunk, text: Sequence[str]) -> list[DiffLine]:
    """A hunk of a text whose lines are `text` now; () shows it without those around it."""
    texts = texts_of(hunk)
    above = tuple(text[max(0, hunk.start - CONTEXT) : hunk.start])
    stop = hunk.start + len(hunk.lines)
    below = tuple(text[stop : stop + CONTEXT])
    marks = _narrowed(hunk.base, texts, differing(hunk.base, texts))
    windows = _has_windows_ends((*above, *hunk.base, *texts, *below))
    old, new = len(above) + len(hunk.base) + len(below), len(above) + len(hunk.lines) + len(below)
    head = f"@@ -{_range(max(0, hunk.base_start - len(above)), old)} +{_range(hunk.start - len(above), new)} @@"
    sides: tuple[tuple[Sign, Lines, Sequence[Span]], ...] = (
        (" ", above, ()),
        ("-", hunk.base, marks.base),
        ("+", texts, marks.lines),
        (" ", below, ()),
    )
    return [DiffLine("@", (Piece(head[1:]),)), *(line for side in sides for line in _side(*side, windows=windows))]


def shortened(line: DiffLine, most: int) -> DiffLine:
    """A line of which some `most` characters are shown: what differs, and of the rest the edges."""
    if len(line.text) <= most:
        return line
    pieces: list[Piece] = []
    for piece in line.pieces:
        text = piece.text if piece.differs else _edges(piece.text)
        pieces.append(Piece(text if len(text) <= most else f"{text[:most]}…", piece.differs))
        most -= len(text)
        if most <= 0:
            break
    return DiffLine(line.sign, tuple(pieces))


def _edges(text: str) -> str:
    return text if len(text) <= 2 * EDGE else f"{text[:EDGE]}…{text[-EDGE:]}"


def deletion_of(text: str) -> list[DiffLine]:
    """The beginning of a file that was deleted, and how much follows."""
    lines = split(text)
    shown = lines[:MOST_DELETED]
    head = f"@@ -{_range(0, len(lines))} +{_range(0, 0)} @@"
    more = [DiffLine("\\", (Piece(f" {len(lines) - len(shown)} more lines"),))] if len(shown) < len(lines) else []
    removed = _side("-", shown, (), windows=_has_windows_ends(shown))
    return [DiffLine("@", (Piece(head[1:]),)), *removed, *more] if lines else []


def _narrowed(base: Lines, lines: Lines, marks: Differing) -> Differing:
    """Where a line became one line, and both are marked whole because they are long: what lies between what they have alike."""
    if len(base) != 1 or len(lines) != 1 or len(base[0]) + len(lines[0]) <= MOST_COMPARED:
        return marks
    above = _alike(base[0], lines[0])
    below = _alike(base[0][above:][::-1], lines[0][above:][::-1])
    old, new = (Span(0, above, len(line) - below) for line in (base[0], lines[0]))
    return Differing((old,), (new,))


def _alike(one: str, other: str) -> int:
    """How many characters from the first on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _range(start: int, count: int) -> str:
    """As `diff -u` writes it: of nothing, the line before."""
    return f"{start + bool(count)},{count}"


def _side(sign: Sign, lines: Lines, marks: Sequence[Span], *, windows: bool) -> Iterator[DiffLine]:
    by_line = {n: list(group) for n, group in groupby(marks, key=lambda mark: mark.line)}
    for n, line in enumerate(lines):
        shown = line.removesuffix("\n")
        if windows:
            shown = shown.removesuffix("\r")
        yield DiffLine(sign, tuple(_pieces(shown, by_line.get(n, ()))))
        if not line.endswith("\n"):
            yield DiffLine("\\", (Piece(NO_NEWLINE[1:]),))


def _pieces(line: str, marks: Sequence[Span]) -> Iterator[Piece]:
    at = 0
    for mark in marks:
        yield from _piece(line, at, mark.start, differs=False)
        yield from _piece(line, mark.start, mark.stop, differs=True)
        at = mark.stop
    yield from _piece(line, at, len(line), differs=False)


def _piece(line: str, start: int, stop: int, *, differs: bool) -> Iterator[Piece]:
    text = line[start:stop]
    if text:
        is_last = stop >= len(line)
        yield Piece(
            visible_ends(text) if is_last else visible_ends(f"{text}.")[:-1], differs
        )  # only a line's end is marked


def _has_windows_ends(lines: Lines) -> bool:
    """All that have an end: a file's last line may have none, before, after, or both."""
    ended = [line for line in lines if line.endswith(("\r", "\n"))]
    return bool(ended) and all(line.endswith("\r\n") for line in ended)
