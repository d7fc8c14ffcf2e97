"""Decisions about many hunks of one text in one pass. Pure.

It comes to what they come to one after the other: only hunks are decided about that have lines between them, and with which
nothing else is to be moved. All others are for `decisions`, one by one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct

from sould.agents.files.review.decisions import UNDOABLE, Decision, Verdict, divided, left_by, possible, settled_pieces
from sould.agents.files.review.difference import LineEdit
from sould.agents.files.review.hunk import Hunk, Part, PlacedHunk, Same, placed, size
from sould.agents.files.review.lines import Lines, line_end
from sould.agents.files.review.splice import Away, Piece
from sould.agents.files.review.text import ReviewedText

FEWEST: Final = 2
"""Decisions for which it is worth it."""


class DecidedAtOnce(Struct, frozen=True):
    """The text after the decisions; `stayed`: of each, the lines of the user that a reject left."""

    text: ReviewedText
    stayed: tuple[Lines, ...]


def decided_at_once(text: ReviewedText, decisions: Sequence[Decision]) -> DecidedAtOnce | None:
    """As many of the first decisions as can be carried out at once; None: not even two."""
    hunks = _apart(text)
    chosen: dict[int, Lines] = {}
    stayed: list[Lines] = []
    for decision in decisions:
        hunk = hunks[decision.hunk_id].hunk if decision.hunk_id in hunks else None
        left = _left(hunk, decision) if hunk is not None and decision.hunk_id not in chosen else None
        if left is None:
            break
        chosen[decision.hunk_id] = left[0]
        stayed.append(left[1])
    if len(chosen) < FEWEST:
        return None
    verdicts: dict[int, Verdict] = {each.hunk_id: each.verdict for each in decisions[: len(chosen)]}
    pieces: list[Piece] = []
    edits: list[LineEdit] = []
    for part in text.parts:
        if not isinstance(part, Hunk) or part.id not in chosen:
            pieces.append(part)
            continue
        lines, at = chosen[part.id], hunks[part.id]
        pieces += settled_pieces(part, verdicts[part.id], lines)
        if lines != part.texts:
            edits.append(LineEdit(at.start, at.stop, lines))
    order = {number: n for n, number in enumerate(chosen)}
    return DecidedAtOnce(text.changed(pieces, edits, order=order), tuple(stayed))


def taken_back_at_once(text: ReviewedText, ids: Sequence[int]) -> DecidedAtOnce | None:
    """With as many of the first of these decisions taken back as can be at once; None: not even two."""
    gone = _gone_apart(text)
    chosen: dict[int, Away] = {}
    for number in ids:
        if number not in gone or number in chosen:
            break
        chosen[number] = gone[number]
    if len(chosen) < FEWEST or any(len(divided(part)) > 1 for part in text.parts):
        return None
    back = sorted(chosen.values(), key=lambda each: each.start)
    there = _with_lines(text.parts, back)
    edits = [LineEdit(each.start, each.stop, each.hunk.texts) for each, lines in there if lines != each.hunk.texts]
    return DecidedAtOnce(text.changed(_with(text.parts, back), edits), ((),) * len(chosen))


def _left(hunk: Hunk, decision: Decision) -> tuple[Lines, Lines] | None:
    """What stands there after a decision, and which of that a reject left; None: it is not carried out, or not of all of the hunk."""
    if decision.lines is not None or decision.digest != hunk.digest:
        return None
    return (hunk.texts, ()) if decision.verdict == "keep" else left_by(hunk, decision.choice)


def _apart(text: ReviewedText) -> Mapping[int, PlacedHunk]:
    """The hunks, by id, with lines above and below that are in base, too, and no hunk that went beside them."""
    gone = sorted(each.start for each in text.away if each.start == each.stop)
    at = {each.hunk.id: each for each in placed(text.parts)}
    found: dict[int, PlacedHunk] = {}
    for n, part in enumerate(text.parts):
        beside = text.parts[max(0, n - 1) : n + 2]
        if (
            not isinstance(part, Hunk)
            or n + 1 == len(text.parts)
            or not all(isinstance(p, Same) or p is part for p in beside)
        ):
            continue
        place = at[part.id]
        next_gone = bisect_left(gone, place.start)
        is_alone = next_gone == len(gone) or gone[next_gone] > place.stop
        if is_alone and all(not side or line_end(side[-1:]) for side in (part.base, part.texts)):
            found[part.id] = place
    return found


def _gone_apart(text: ReviewedText) -> Mapping[int, Away]:
    """The hunks that were decided about, by id, whose place has lines of base above and below, and no other such place beside it."""
    known = Counter(number for each in text.away for number in each.hunk.ids)
    known.update(number for each in text.hunks for number in each.hunk.ids)
    away = sorted(text.away, key=lambda each: (each.start, each.stop))
    above = accumulate((each.stop for each in away), max, initial=-1)
    below = [each.start for each in away[1:]]
    alone = [
        each
        for each, stop, start in zip(away, above, (*below, len(text.current) + 1), strict=False)
        if stop < each.start and each.stop < start and all(known[number] == 1 for number in each.hunk.ids)
    ]
    return {each.hunk.id: each for each, there in _with_lines(text.parts, alone) if _can_be_back(each, there)}


def _can_be_back(away: Away, there: Lines) -> bool:
    """Whether a decision can be undone, as these lines stand there, and nothing but them changes by it."""
    hunk = away.hunk
    is_alone = not (away.below or away.last or away.astray) and hunk.has_agent and away.state in UNDOABLE
    has_ends = all(not side or line_end(side[-1:]) for side in (hunk.base, hunk.texts, there))
    return is_alone and has_ends and there in possible(away)


def _with_lines(parts: Iterable[Part], away: Iterable[Away]) -> Iterator[tuple[Away, Lines]]:
    """Those, given from the top, in whose place, and directly above and below it, lines stand that no hunk has; with those in it."""
    rest = [*away][::-1]
    at = 0
    for part in parts:
        stop = at + size(part)
        while rest and rest[-1].start < stop:
            each = rest.pop()
            if isinstance(part, Same) and at < each.start and each.stop < stop:
                yield each, part.lines[each.start - at : each.stop - at]
        at = stop


def _with(parts: Iterable[Part], back: Iterable[Away]) -> Iterator[Piece]:
    """The parts with these hunks, given from the top, in their places."""
    rest = [*back][::-1]
    at = 0
    for part in parts:
        done, stop = at, at + size(part)
        while rest and rest[-1].start < stop and isinstance(part, Same):
            each = rest.pop()
            yield Same(part.lines[done - at : each.start - at])
            yield each.hunk
            done = each.stop
        yield Same(part.lines[done - at :]) if isinstance(part, Same) and done > at else part
        at = stop
