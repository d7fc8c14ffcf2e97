"""Where hunks that are not pending would stand, and which of them are back with an edit. Pure."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from sould.agents.review.difference import LineEdit
from sould.agents.review.hunk import Hunk, Part, current_lines
from sould.agents.review.lines import Lines
from sould.agents.review.splice import Away, Piece, Splicing

RETURNING = frozenset({"absent", "stale", "rejected", "undone"})
"""States in which a hunk is pending again when its text is back. What was kept is the user's."""


def moved(away: Iterable[Away], edits: Sequence[LineEdit]) -> tuple[Away, ...]:
    """The same hunks, at the places they have after the edits."""
    return tuple(replace(each, start=start, stop=stop) for each in away for start, stop in [_place(each, edits)])


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
) -> tuple[list[Piece], tuple[Away, ...]]:
    """The text after `edits` with the hunks whose text they brought back, and the hunks that are still away.

    `before` is the text before the edits; `away` has its places there and the hunk that went last at its end.
    """
    now = current_lines(parts)
    found: dict[int, tuple[int, Away]] = {}
    for each in reversed(away):
        at = _found(now, before, edits, each) if each.state in RETURNING else None
        if at is not None and all(_apart(at, each.hunk, place, other.hunk) for place, other in found.values()):
            found[each.hunk.id] = at, each
    text = Splicing(parts)
    for at, each in sorted(found.values(), key=lambda pair: pair[0], reverse=True):
        taken = text.take(at, at + len(each.hunk.lines))
        if any(isinstance(part, Hunk) for part in taken.parts):
            text.put(taken.parts)
            found.pop(each.hunk.id)
        else:
            text.put([replace(each.hunk, rejected=each.state == "rejected")])
    return text.pieces(), tuple(each for each in away if each.hunk.id not in found)


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
    if not touching:
        return None
    shift = sum(len(edit.lines) - (edit.stop - edit.start) for edit in edits if edit.stop < away.start)
    grown = sum(len(edit.lines) - (edit.stop - edit.start) for edit in touching)
    start = min(away.start, touching[0].start) + shift
    stop = max(away.stop, touching[-1].stop) + shift + grown
    spots = range(start, stop - len(wanted) + 1)
    return next((at for at in spots if now[at : at + len(wanted)] == wanted), None)
