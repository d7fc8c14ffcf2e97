"""Hunks taken apart for the dialogue of `sould review`: into paragraphs, then into lines. Pure, and only for those who look.

A part is some current lines of its hunk with the removed lines that they stand for, which is what a decision can be about.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from sould.agents.files.review.lines import Lines
from sould.agents.files.reviewing.shapes import ShownHunk, texts_of

Fineness: TypeAlias = Literal[0, 1, 2]
"""Whole hunks, paragraphs, lines."""
FINEST: Final = 2
ALIKE: Final = 0.5
"""A line that has so much in common with a removed one stands for it."""
MOST_PAIRED: Final = 40_000
"""Lines of one side times lines of the other: above it, which nobody answers line by line, they are paired by their order."""


class Part(NamedTuple):
    """A hunk, or some of its lines: `shown` has those alone. `base_lines`: the removed lines that go with them."""

    hunk: ShownHunk
    shown: ShownHunk
    lines: tuple[int, int] | None = None
    base_lines: tuple[int, int] | None = None

    @property
    def name(self) -> tuple[object, ...]:
        """What it is known by when its hunk is another, because a part beside it was decided."""
        return (self.hunk.id,) if self.lines is None else (self.hunk.path, self.shown.base, texts_of(self.shown))

    @property
    def place(self) -> tuple[str, bool, int, int]:
        """In the order in which parts are shown: by file, changes of the whole file first."""
        return self.hunk.path, self.hunk.kind == "text", self.shown.start, self.shown.base_start


def parts(hunk: ShownHunk, fineness: Fineness) -> list[Part]:
    """The hunk in parts; one part where it cannot be split."""
    cuts = _cuts(hunk.base, texts_of(hunk), fineness) if fineness else ()
    if not cuts:
        return [Part(hunk, hunk)]
    ends = [(0, 0), *cuts, (len(hunk.base), len(hunk.lines))]
    return [_part(hunk, (first, last), (start, stop)) for (first, start), (last, stop) in pairwise(ends)]


def finer(hunk: ShownHunk, fineness: Fineness) -> Fineness | None:
    """The next fineness that gives more parts; None: there is none."""
    count = len(parts(hunk, fineness))
    steps: tuple[Fineness, ...] = (1, 2)
    return next((step for step in steps if step > fineness and len(parts(hunk, step)) > count), None)


def _part(hunk: ShownHunk, base_lines: tuple[int, int], lines: tuple[int, int]) -> Part:
    start, base_start = hunk.start + lines[0], hunk.base_start + base_lines[0]
    base = hunk.base[slice(*base_lines)]
    shown = replace(hunk, lines=hunk.lines[slice(*lines)], base=base, start=start, base_start=base_start)
    return Part(hunk, shown, lines, base_lines)


@lru_cache(maxsize=64)
def _cuts(base: Lines, lines: Lines, fineness: Fineness) -> Sequence[tuple[int, int]]:
    """Where the sides are cut: so many removed lines and so many current ones lie above."""
    if not lines:
        return [(n, 0) for n in _breaks(base, fineness)]
    paired = sorted(_pairs(base, lines).items())
    paragraphs = list(_breaks(base, 1))
    done, at = 0, 0
    cuts: list[tuple[int, int]] = []
    for n in _breaks(lines, fineness):
        while at < len(paired) and paired[at][0] < n:
            done, at = 1 + paired[at][1], at + 1
        high = paired[at][1] if at < len(paired) else len(base)
        place = bisect_left(paragraphs, done)
        done = paragraphs[place] if place < len(paragraphs) and paragraphs[place] <= high else high
        cuts.append((done, n))
    return cuts


def _breaks(lines: Lines, fineness: Fineness) -> Iterator[int]:
    for n in range(1, len(lines)):
        if fineness == FINEST or (not lines[n - 1].strip() and lines[n].strip()):
            yield n


def _pairs(base: Lines, lines: Lines) -> Mapping[int, int]:
    """By current line, the removed line that it stands for: as much alike as can be, in the same order."""
    if len(base) * len(lines) > MOST_PAIRED:
        return {n: n for n in range(min(len(base), len(lines)))} if len(base) == len(lines) else {}
    from rapidfuzz.distance import Indel  # noqa: PLC0415 -- slow to load, and only those who split need it

    best = [[0.0] * (len(lines) + 1) for _ in range(len(base) + 1)]
    old, new = ([line.strip().casefold() for line in side] for side in (base, lines))
    alike = [
        [Indel.normalized_similarity(one, other, score_cutoff=ALIKE) if one and other else 0.0 for other in new]
        for one in old
    ]
    for i in range(len(base) - 1, -1, -1):
        for j in range(len(lines) - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], alike[i][j] + best[i + 1][j + 1])
    return dict(_followed(best, alike))


def _followed(best: Sequence[Sequence[float]], alike: Sequence[Sequence[float]]) -> Iterator[tuple[int, int]]:
    i = j = 0
    while i < len(alike) and j < len(alike[0]):
        if alike[i][j] and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            yield j, i
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
