"""Two whole texts as edits: where lines of one became lines of the other. Pure.

Lines that each side has once are held on to first, as Bram Cohen's patience diff does, so that a moved or new block stays
one block; what lies between them is compared by longest common subsequence. Where holding on to them changes more lines than the
longest common subsequence of the whole would, in no more places, that is what changed.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from operator import itemgetter

from msgspec import Struct

from sould.agents.files.review.lines import Lines

MOST_COMPARED = 400_000_000
"""Lines of one side times lines of the other: above it, which is 50 MB of memory, a stretch is one edit."""


_BLOCK = 256
"""Lines that are compared in one go, at the speed of C; so many in a row that are the same are the same lines."""
_NEAR = 512
"""Lines in which it is looked for where two texts go on alike. What is not longer is compared as a whole."""


class LineEdit(Struct, frozen=True, array_like=True):
    """Lines `start` to `stop` (from 0, `stop` not included) became `lines`."""

    start: int
    stop: int
    lines: Lines


class _Stretch(Struct, frozen=True):
    """Lines `a` to `b` of the old text beside lines `c` to `d` of the new one."""

    a: int
    b: int
    c: int
    d: int


def edits_between(old: Sequence[str], new: Sequence[str]) -> tuple[LineEdit, ...]:
    """What turns `old` into `new`: in order, without common lines at their edges, with equal lines between any two."""
    whole = _trimmed(old, new, _Stretch(0, len(old), 0, len(new)))
    gaps = chain.from_iterable(_fewest(old, new, each) for each in _between_alike(old, new, whole))
    lowest = _lowered(old, new, _joined(gaps))
    return tuple(LineEdit(gap.a, gap.b, tuple(new[gap.c : gap.d])) for gap in lowest)


def _trimmed(old: Sequence[str], new: Sequence[str], at: _Stretch) -> _Stretch:
    """Without the lines that are equal at both edges."""
    a, b, c, d = at.a, at.b, at.c, at.d
    while _go_on_alike(old, new, _Stretch(a, b, c, d)):
        a, c = a + _BLOCK, c + _BLOCK
    while a < b and c < d and old[a] == new[c]:
        a, c = a + 1, c + 1
    while min(b - a, d - c) >= _BLOCK and old[b - _BLOCK : b] == new[d - _BLOCK : d]:
        b, d = b - _BLOCK, d - _BLOCK
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
    return _Stretch(a, b, c, d)


def _between_alike(old: Sequence[str], new: Sequence[str], at: _Stretch) -> Iterator[_Stretch]:
    """The stretches between long blocks that are the same, as far as these begin near where the texts begin to differ.

    So a few changes that are far apart in a long text cost little more than one.
    """
    while min(at.b - at.a, at.d - at.c) > _NEAR:
        near = _Stretch(at.a, at.a + _NEAR, at.c, at.c + _NEAR)
        pairs = sorted(_unique(old, new, near), key=sum)
        alike = next(((i, j) for i, j in pairs if _go_on_alike(old, new, _Stretch(i, at.b, j, at.d))), None)
        if alike is None:
            break
        yield _trimmed(old, new, _Stretch(at.a, alike[0], at.c, alike[1]))
        at = _trimmed(old, new, _Stretch(alike[0], at.b, alike[1], at.d))
    yield at


def _go_on_alike(old: Sequence[str], new: Sequence[str], at: _Stretch) -> bool:
    """Whether both begin with a long block that is the same."""
    return min(at.b - at.a, at.d - at.c) >= _BLOCK and old[at.a : at.a + _BLOCK] == new[at.c : at.c + _BLOCK]


def _fewest(old: Sequence[str], new: Sequence[str], at: _Stretch) -> list[_Stretch]:
    """What differs within a stretch: held on to unique lines, or not, where that changes fewer lines in no more places."""
    held = _joined(chain.from_iterable(_compared(old, new, gap) for gap in _between_unique(old, new, at)))
    gone, come = sum(gap.b - gap.a for gap in held), sum(gap.d - gap.c for gap in held)
    if len(held) == 1 or 0 in (gone, come) or (at.b - at.a) * (at.d - at.c) > MOST_COMPARED:
        return held  # no other way changes fewer lines, or it cannot be known
    from rapidfuzz.distance import Indel  # noqa: PLC0415 -- slow to load, and every session loads this module

    most = gone + come - 1
    if Indel.distance(old[at.a : at.b], new[at.c : at.d], score_cutoff=most) > most:
        return held
    free = _slid(old, new, _joined(_compared(old, new, at)))
    return free if len(free) <= len(held) else held


def _between_unique(old: Sequence[str], new: Sequence[str], at: _Stretch) -> Iterator[_Stretch]:
    """The stretches between the lines that both sides have once, as far as these are in the same order."""
    a, c = at.a, at.c
    for i, j in _in_order(_unique(old, new, at)):
        if a < i or c < j:
            yield _trimmed(old, new, _Stretch(a, i, c, j))
        a, c = i + 1, j + 1
    yield _trimmed(old, new, _Stretch(a, at.b, c, at.d))


def _unique(old: Sequence[str], new: Sequence[str], at: _Stretch) -> list[tuple[int, int]]:
    olds, news = Counter(old[at.a : at.b]), Counter(new[at.c : at.d])
    places = {line: j for j, line in enumerate(new[at.c : at.d], at.c) if news[line] == 1}
    found = enumerate(old[at.a : at.b], at.a)
    return [(i, places[line]) for i, line in found if olds[line] == 1 and line in places]


def _in_order(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs in which the second members rise too."""
    if all(one < other for one, other in pairwise(map(itemgetter(1), pairs))):
        return pairs
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for n, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        ends[length : length + 1] = [j]
        last[length : length + 1] = [n]
        before.append(last[length - 1] if length else -1)
    rising: list[tuple[int, int]] = []
    n = last[-1] if last else -1
    while n >= 0:
        rising.append(pairs[n])
        n = before[n]
    return rising[::-1]


def _compared(old: Sequence[str], new: Sequence[str], at: _Stretch) -> Iterator[_Stretch]:
    """What differs within a stretch."""
    if at.a == at.b or at.c == at.d or (at.b - at.a) * (at.d - at.c) > MOST_COMPARED:
        yield at
        return
    from rapidfuzz.distance import Indel  # noqa: PLC0415 -- slow to load, and every session loads this module

    for step in Indel.opcodes(old[at.a : at.b], new[at.c : at.d]):
        if step.tag != "equal":
            ends = step.src_start + at.a, step.src_end + at.a, step.dest_start + at.c, step.dest_end + at.c
            yield _Stretch(*ends)


def _joined(gaps: Iterable[_Stretch]) -> list[_Stretch]:
    """Those that touch as one, those of nothing left out."""
    joined: list[_Stretch] = []
    for gap in gaps:
        if joined and (joined[-1].b, joined[-1].d) == (gap.a, gap.c):
            joined[-1] = _Stretch(joined[-1].a, gap.b, joined[-1].c, gap.d)
        elif gap.a < gap.b or gap.c < gap.d:
            joined.append(gap)
    return joined


def _slid(old: Sequence[str], new: Sequence[str], gaps: Iterable[_Stretch]) -> list[_Stretch]:
    """Those as one of which one touches the other once it has moved over lines that are alike."""
    slid: list[_Stretch] = []
    for gap in gaps:
        last = slid[-1] if slid else gap
        between = gap.a - last.b
        if last is gap:
            slid.append(gap)
        elif _is_one_side(gap) and _ends_alike(old, new, gap, between):
            slid[-1] = _Stretch(last.a, gap.b - between, last.c, gap.d - between)
        elif _is_one_side(last) and _begins_alike(old, new, last, between):
            slid[-1] = _Stretch(last.a + between, gap.b, last.c + between, gap.d)
        else:
            slid.append(gap)
    return slid


def _lowered(old: Sequence[str], new: Sequence[str], gaps: Sequence[_Stretch]) -> list[_Stretch]:
    """Lines that only came, or only went, as low as they may as well stand, which is where git shows them."""
    lowered: list[_Stretch] = []
    below = len(old)
    for gap in reversed(gaps):
        lines, start, stop = (new, gap.c, gap.d) if gap.a == gap.b else (old, gap.a, gap.b)
        most = below - gap.b if _is_one_side(gap) else 0
        by = next((n for n in range(most) if lines[start + n] != lines[stop + n]), most)
        lowered.append(_Stretch(gap.a + by, gap.b + by, gap.c + by, gap.d + by))
        below = gap.a + by
    return _joined(reversed(lowered))


def _is_one_side(gap: _Stretch) -> bool:
    return gap.a == gap.b or gap.c == gap.d


def _ends_alike(old: Sequence[str], new: Sequence[str], gap: _Stretch, count: int) -> bool:
    """Whether lines that only went, or only came, may as well stand so many lines higher."""
    lines, start, stop = (new, gap.c, gap.d) if gap.a == gap.b else (old, gap.a, gap.b)
    return lines[start - count : start] == lines[stop - count : stop]


def _begins_alike(old: Sequence[str], new: Sequence[str], gap: _Stretch, count: int) -> bool:
    """Whether they may as well stand so many lines lower."""
    lines, start, stop = (new, gap.c, gap.d) if gap.a == gap.b else (old, gap.a, gap.b)
    return lines[start : start + count] == lines[stop : stop + count]


def applied(lines: Lines, edits: Sequence[LineEdit]) -> Lines:
    """Lines after edits of them, in order."""
    result = list(lines)
    for edit in reversed(edits):
        result[edit.start : edit.stop] = edit.lines
    return tuple(result)
