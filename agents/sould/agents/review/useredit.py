"""What the user typed, or a program nobody knows wrote: lines outside of hunks go into base, others join the hunk. Pure."""

import itertools
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from sould.agents.review.difference import LineEdit
from sould.agents.review.hunk import Hunk, Line, Part, Same, size
from sould.agents.review.lines import Lines
from sould.agents.review.retyping import pairs, retyped
from sould.agents.review.splice import AwayState, Left, Piece, Splicing, Taken, merged

How: TypeAlias = Literal["typed", "disk", "git"]
"""A client reported it; it was found on disk; it was found on disk after git had moved to another state."""


def user_pieces(parts: Sequence[Part], edits: Sequence[LineEdit], how: How) -> list[Piece]:
    """The text after edits that no agent made, in order."""
    text = Splicing(parts)
    for edit in reversed(edits):
        taken = text.take(edit.start, edit.stop)
        text.put(_changed(taken, edit.lines, how) if taken.parts else _beside_removal(text, edit.lines))
    return text.pieces()


def _beside_removal(text: Splicing, new: Lines) -> list[Piece]:
    """Lines inserted outside of all hunks: they may be those that a hunk had taken away."""
    removal = text.take_removal()
    if removal is None:
        return [Same(new)]
    count = len(removal.base)
    if new[:count] == removal.base:
        return [Left(removal, _gone(removal), count), Same(new)]
    return [removal, Same(new)]


def _changed(taken: Taken, new: Lines, how: How) -> list[Piece]:
    if len(taken.parts) == 1:
        return _within(taken.parts[0], taken, new, how)
    divided = _divided(taken, new)
    if divided is None:
        return _grown(taken, new) if how == "typed" else _replaced(taken, new, how)
    pieces: list[Piece] = []
    last = len(taken.parts) - 1
    for n, (part, lines) in enumerate(zip(taken.parts, divided, strict=True)):
        own = Taken((part,), taken.head if n == 0 else 0, taken.tail if n == last else 0)
        pieces += _within(part, own, lines, how)
    return pieces


def _within(part: Part, taken: Taken, new: Lines, how: How) -> list[Piece]:
    """An edit of lines of one part only."""
    if isinstance(part, Same):
        return [Same(new)]
    if how != "typed" and part.lines and not (taken.head or taken.tail):
        state = _gone(part) if how == "git" or new == part.base else "stale"
        return [Left(part, state, len(new)), Same(new)]
    lines = (*taken.above, *retyped(taken.lines, new), *taken.below)
    return ended_or_trimmed(replace(part, lines=lines), part)


def _gone(hunk: Hunk) -> AwayState:
    return "rejected" if hunk.rejected else "absent"


def ended_or_trimmed(hunk: Hunk, before: Hunk, state: AwayState | None = None) -> list[Piece]:
    """A hunk without the lines at its edges that are as in base; what it was when nothing of an agent is left in it."""
    above, below = _as_in_base(hunk)
    base, lines = hunk.base[above : len(hunk.base) - below], hunk.lines[above : len(hunk.lines) - below]
    trimmed = replace(hunk, base=base, lines=lines)
    if hunk.texts == hunk.base or not trimmed.has_agent:
        return [Left(before, state or _gone(before), len(hunk.lines)), Same(hunk.texts)]
    upper, lower = hunk.base[:above], hunk.base[len(hunk.base) - below :]
    return [Same(upper), trimmed, Same(lower)]


def _as_in_base(hunk: Hunk) -> tuple[int, int]:
    """How many lines at the upper and at the lower edge are as in base; the user's own stay where they are."""
    most = min(len(hunk.base), len(hunk.lines))
    above = 0
    while above < most and _is(hunk.lines[above], hunk.base[above]):
        above += 1
    below = 0
    while below < most - above and _is(hunk.lines[-1 - below], hunk.base[-1 - below]):
        below += 1
    return above, below


def _is(line: Line, base: str) -> bool:
    return not line.own and line.text == base


def _divided(taken: Taken, new: Lines) -> list[Lines] | None:
    """The new lines of each part, None where nobody can say which are whose."""
    counts = [size(part) for part in taken.parts]
    counts[0] -= taken.head
    counts[-1] -= taken.tail
    if not new:
        return [()] * len(counts)
    versions = dict(pairs([line.text for line in taken.lines], new))
    cuts = [0]
    at = 0
    for upper, lower, count in zip(taken.parts, taken.parts[1:], counts, strict=False):
        at += count
        cut = _cut(versions, at, upper, lower)
        if cut is None:
            return None
        cuts.append(cut)
    cuts.append(len(new))
    if any(one > other for one, other in itertools.pairwise(cuts)):
        return None
    return [new[one:other] for one, other in itertools.pairwise(cuts)]


def _cut(versions: dict[int, int], at: int, upper: Part, lower: Part) -> int | None:
    """Where the new lines of the upper part end: lines inserted at the edge of a hunk are outside of it."""
    if at - 1 not in versions or at not in versions:
        return None
    above, below = versions[at - 1] + 1, versions[at]
    if above == below or isinstance(lower, Same) or not lower.lines:
        return above
    return below if isinstance(upper, Same) else None


def _grown(taken: Taken, new: Lines) -> list[Piece]:
    """One hunk of all parts: it grows over the lines of base that the edit touches."""
    hunks = [part for part in taken.parts if isinstance(part, Hunk)]
    base = tuple(line for part in taken.parts for line in (part.lines if isinstance(part, Same) else part.base))
    lines = (*taken.above, *retyped(taken.lines, new), *taken.below)
    grown = merged(hunks, base, lines)
    return ended_or_trimmed(grown, grown)


def _replaced(taken: Taken, new: Lines, how: How) -> list[Piece]:
    """Hunks that are wholly within the edit are gone; of those at its edges what is outside stays."""
    pieces: list[Piece] = []
    last = len(taken.parts) - 1
    for n, part in enumerate(taken.parts):
        if isinstance(part, Hunk) and not (n == 0 and taken.head) and not (n == last and taken.tail):
            pieces.append(Left(part, _gone(part) if how == "git" else "stale", 0))
    first = [replace(part, lines=taken.above) for part in taken.parts[:1] if isinstance(part, Hunk) and taken.head]
    final = [replace(part, lines=taken.below) for part in taken.parts[-1:] if isinstance(part, Hunk) and taken.tail]
    return [*first, *pieces, Same(new), *final]
