"""Hunks taken apart for the dialogue of `sould review`: into paragraphs, then into lines. Pure, and only for those who look.

A part is some current lines of its hunk, which is what a decision can be about. What the hunk removed goes with its first part.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from sould.agents.reviewing.listing import ReviewedHunk

Fineness: TypeAlias = Literal[0, 1, 2]
"""Whole hunks, paragraphs, lines."""
FINEST: Final = 2


class Part(NamedTuple):
    """A hunk, or some of its lines: `shown` has those alone."""

    hunk: ReviewedHunk
    shown: ReviewedHunk
    lines: tuple[int, int] | None = None

    @property
    def name(self) -> tuple[object, ...]:
        """What it is known by when its hunk is another, because a part beside it was decided."""
        return (self.hunk.id,) if self.lines is None else (self.hunk.path, self.shown.base, self.shown.texts)

    @property
    def place(self) -> tuple[str, bool, int]:
        """In the order in which parts are shown: by file, changes of the whole file first."""
        return self.hunk.path, self.hunk.kind == "text", self.shown.start


def parts(hunk: ReviewedHunk, fineness: Fineness) -> list[Part]:
    """The hunk in parts; one part where it cannot be split."""
    begins = [0, *_breaks(hunk, fineness)]
    if len(begins) == 1:
        return [Part(hunk, hunk)]
    ends = [*begins[1:], len(hunk.lines)]
    return [Part(hunk, _some(hunk, *lines), lines) for lines in zip(begins, ends, strict=True)]


def finer(hunk: ReviewedHunk, fineness: Fineness) -> Fineness | None:
    """The next fineness that gives more parts; None: there is none."""
    count = len(parts(hunk, fineness))
    steps: tuple[Fineness, ...] = (1, 2)
    return next((step for step in steps if step > fineness and len(parts(hunk, step)) > count), None)


def _breaks(hunk: ReviewedHunk, fineness: Fineness) -> Iterator[int]:
    for n in range(1, len(hunk.lines)) if fineness else ():
        above, line = hunk.lines[n - 1].text, hunk.lines[n].text
        if fineness == FINEST or (not above.strip() and line.strip()):
            yield n


def _some(hunk: ReviewedHunk, start: int, stop: int) -> ReviewedHunk:
    base = () if start else hunk.base
    base_start = hunk.base_start + (len(hunk.base) if start else 0)
    return replace(hunk, lines=hunk.lines[start:stop], base=base, start=hunk.start + start, base_start=base_start)
