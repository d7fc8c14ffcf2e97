"""Where hunks that are not pending would stand, and which of them are back with an edit. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from msgspec.structs import replace

from sould.agents.files.review.difference import LineEdit
from sould.agents.files.review.hunk import Hunk, Part, Same, base_lines, current_lines, placed, size
from sould.agents.files.review.lines import Lines
from sould.agents.files.review.splice import Away, AwayState, Piece, Splicing

MOST_TOGETHER: Final = 8
"""Hunks that touch are looked for together up to so many."""

RETURNING = frozenset({"absent", "stale", "rejected", "undone"})
"""States in which a hunk is pending again when its text is back. What was kept is the user's."""


MOST_AWAY: Final = 300
"""Hunks of one text that are not pending. Each edit moves them all and each snapshot holds them, and a file that is worked on
for months gets more with every decision. The project's log has what happened to those that are forgotten."""

_FORGOTTEN: Final[dict[AwayState, int]] = {"ended": 0, "kept": 1, "undone": 1, "rejected": 2, "absent": 3, "stale": 3}
"""Which go first. What agents took back themselves is of no use; a decision can be undone, which is rarely done to the 300th
last; rejected text is looked for; what is absent or stale was never decided, and would come back as the user's own."""


def bounded(away: Sequence[Away]) -> tuple[Away, ...]:
    """The same hunks, or the most worth keeping of them."""
    order = sorted(range(len(away)), key=lambda n: (_FORGOTTEN[away[n].state], n))
    forgotten = frozenset(order[: max(0, len(away) - MOST_AWAY)])
    return tuple(each for n, each in enumerate(away) if n not in forgotten)


def moved(away: Iterable[Away], edits: Sequence[LineEdit]) -> tuple[Away, ...]:
    """The same hunks, at the places they have after the edits."""
    return tuple(replace(each, start=start, stop=stop) for each in away for start, stop in [_place(each, edits)])


def moved_to(away: Away, place: Away | None) -> Away:
    """The hunk at the place of what it was before, where that is given."""
    return away if place is None else replace(away, start=place.start, stop=place.stop)


def above_removals(away: Iterable[Away], parts: Iterable[Part]) -> list[Away]:
    """The same hunks; where no line stands at their place, above the pending ones without lines that stand below them."""
    starts = {each.hunk.id: each.start for each in placed(parts) if not each.hunk.lines}
    result: list[Away] = []
    for each in away:
        below = [starts[number] for number in each.below if number in starts]
        start = min(each.start, *below) if below and each.start == each.stop else each.start
        result.append(each if start == each.start else replace(each, start=start, stop=start))
    return result


def with_gone_below(was: Away, now: Away, edits: Iterable[LineEdit], gone: Iterable[Away]) -> Away:
    """A hunk that went before, with those that go now from directly below it, where no line stands at the place of either."""
    if not any(was.start == was.stop == edit.start < edit.stop for edit in edits):
        return now
    there = (each.hunk.id for each in gone if now.start == now.stop == each.start == each.stop)
    return replace(now, below=(*now.below, *(number for number in there if number not in now.below)))


def with_below(away: Away, earlier: Iterable[Away]) -> Away:
    """A hunk that went, with those that had gone before from below it, where no line stands at the place of either."""
    there = (each for each in earlier if away.start == away.stop == each.start == each.stop)
    ids = tuple(each.hunk.id for each in there if away.hunk.id not in each.below)
    return replace(away, below=(*away.below, *ids)) if ids else away


def gone_astray(
    was: Sequence[Away], now: Iterable[Away], edits: Sequence[LineEdit], before: Sequence[Part], after: Sequence[Part]
) -> list[Away]:
    """The same hunks after an agent's edits, which take no line out of base: those have no place any more that lost some beside it."""
    lines, lines_now = len(base_lines(before)), len(base_lines(after))

    def is_astray(old: Away, new: Away) -> bool:
        if not any(edit.start <= old.start == old.stop <= edit.stop > edit.start for edit in edits):
            return False
        above, above_now = _base_above(before, old), _base_above(after, new)
        return above_now < above or lines_now - above_now < lines - above

    return [replace(new, astray=True) if is_astray(old, new) else new for old, new in zip(was, now, strict=True)]


def _base_above(parts: Iterable[Part], away: Away) -> int:
    """How many lines of base stand above the place of a hunk where no line stands."""
    at = above = beside = 0
    for part in parts:
        if at + size(part) > away.start:
            return above - beside + (away.start - at if isinstance(part, Same) else 0)
        lines = part.base if isinstance(part, Hunk) else part.lines
        is_below = isinstance(part, Hunk) and not part.lines and at == away.start and part.id in away.below
        beside = beside + len(lines) if is_below else 0
        above, at = above + len(lines), at + size(part)
    return above - beside


def _place(away: Away, edits: Sequence[LineEdit]) -> tuple[int, int]:
    """Lines inserted at an edge of the place are outside of it; an edit across an edge is part of it."""
    start, stop = away.start, away.stop
    shift = grown = 0
    for edit in edits:
        more = len(edit.lines) - (edit.stop - edit.start)
        if edit.stop <= away.start:
            shift += more
        elif edit.start < away.stop:
            start, stop = min(start, edit.start), max(stop, edit.stop)
            grown += more
    return start + shift, stop + shift + grown


def returned(
    parts: Sequence[Part], before: Lines, edits: Sequence[LineEdit], away: Sequence[Away]
) -> list[Piece] | None:
    """The text after `edits` with the hunks whose text they brought back, None where they brought none back.

    `before` is the text before the edits; `away` has its places there and the hunk that went last at its end.
    """
    now = current_lines(parts)
    found = {each.hunk.id: (at, each) for at, each in _together(now, before, edits, away)}
    for each in reversed(away):
        if each.state not in RETURNING or each.hunk.id in found:
            continue
        for was in (replace(each, hunk=hunk) for hunk in each.hunk.fullest_first):
            at = _found(now, before, edits, was)
            if at is not None and all(_apart(at, was.hunk, place, other.hunk) for place, other in found.values()):
                found[each.hunk.id] = at, was
                break
    if not found:
        return None
    text = Splicing(parts)
    for at, each in sorted(found.values(), key=lambda pair: pair[0])[::-1]:
        taken = text.take(at, at + len(each.hunk.lines))
        if any(isinstance(part, Hunk) for part in taken.parts):
            text.put(taken.parts)
        else:
            text.put([replace(each.hunk, rejected=each.state == "rejected")])
    return text.pieces()


def _together(now: Lines, before: Lines, edits: Sequence[LineEdit], away: Sequence[Away]) -> Iterator[tuple[int, Away]]:
    """Hunks that touch, where base stood, and that are all back: only so is a removal beside another hunk told."""
    first = 0
    while first < len(away):
        last = first + 1
        while last < len(away) and away[last - 1].stop == away[last].start and last - first < MOST_TOGETHER:
            last += 1
        runs = (away[first:stop] for stop in range(last, first + 1, -1))
        found = (_all_back(now, before, edits, run) for run in runs)
        back = next(filter(None, found), ())
        yield from back
        first += len(back) or 1


def _all_back(now: Lines, before: Lines, edits: Sequence[LineEdit], run: Sequence[Away]) -> list[tuple[int, Away]]:
    hunks = [each.hunk for each in run]
    start, stop = run[0].start, run[-1].stop
    there, texts = base_lines(hunks), current_lines(hunks)
    if there == texts or not all(each.state in RETURNING for each in run):
        return []
    at, until = _place(replace(run[0], stop=stop), edits)
    if before[start:stop] != there or now[at:until] != texts:
        return []
    starts = accumulate((len(hunk.lines) for hunk in hunks), initial=at)
    return list(zip(starts, run, strict=False))


def _apart(at: int, hunk: Hunk, place: int, other: Hunk) -> bool:
    return at + len(hunk.lines) <= place or place + len(other.lines) <= at


def _found(now: Lines, before: Lines, edits: Sequence[LineEdit], away: Away) -> int | None:
    """The line at which the hunk's text stands because of the edits."""
    wanted = away.hunk.texts
    if not wanted:
        [place] = moved([away], edits)
        was_there = away.start < away.stop and before[away.start : away.stop] == away.hunk.base
        return place.start if was_there and place.start == place.stop else None
    touching = [edit for edit in edits if edit.stop >= away.start and edit.start <= away.stop]
    if (
        not touching or before[away.start : away.stop] == wanted
    ):  # such as lines of the user alone, which a reject leaves
        return None
    shift = sum(len(edit.lines) - (edit.stop - edit.start) for edit in edits if edit.stop < away.start)
    grown = sum(len(edit.lines) - (edit.stop - edit.start) for edit in touching)
    start = min(away.start, touching[0].start) + shift
    stop = max(away.stop, touching[-1].stop) + shift + grown
    spots = range(start, stop - len(wanted) + 1)
    return next((at for at in spots if now[at : at + len(wanted)] == wanted), None)
