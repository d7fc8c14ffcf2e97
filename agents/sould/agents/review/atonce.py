"""Decisions about many hunks of one text in one pass. Pure.

It comes to what they come to one after the other: only hunks are decided about that have lines between them, and with which
nothing else is to be moved. All others are for `decisions`, one by one.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from sould.agents.review.decisions import Decision, Verdict, left_by, settled_pieces
from sould.agents.review.difference import LineEdit
from sould.agents.review.hunk import Hunk, PlacedHunk, Same, placed
from sould.agents.review.lines import Lines, line_end
from sould.agents.review.splice import Piece
from sould.agents.review.text import ReviewedText

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
