"""Replacing stretches of a reviewed text from its last line to its first, so that what is above keeps its numbers. Pure."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.review.hunk import Hunk, Line, Part, Same, size
from sould.agents.review.lines import Lines

AwayState: TypeAlias = Literal["absent", "stale", "rejected", "kept", "undone", "ended"]
"""Why a hunk is not pending: its text is gone and base stands there; something else stands there; it was decided; its
turn was undone; an agent wrote base there."""


class Left(Struct, frozen=True):
    """Among parts: here stood a hunk, and the `lines` lines that follow stand at its place."""

    hunk: Hunk
    state: AwayState
    lines: int


class Away(Struct, frozen=True):
    """A hunk that is not pending; lines `start` to `stop` of the current text stand at its place."""

    hunk: Hunk
    state: AwayState
    start: int
    stop: int


Piece: TypeAlias = Part | Left


class Taken(Struct, frozen=True):
    """What stood in a stretch. Of hunks at its edges `head` and `tail` lines lie outside it, above and below."""

    parts: tuple[Part, ...]
    head: int
    tail: int

    @property
    def lines(self) -> list[Line]:
        """The current lines of the stretch; those that are in base, too, are the user's."""
        lines = [line for part in self.parts for line in _lines(part)]
        return lines[self.head : len(lines) - self.tail]

    @property
    def above(self) -> tuple[Line, ...]:
        """The lines of the first hunk that lie above the stretch."""
        first = self.parts[0] if self.head else None
        return first.lines[: self.head] if isinstance(first, Hunk) else ()

    @property
    def below(self) -> tuple[Line, ...]:
        """The lines of the last hunk that lie below the stretch."""
        last = self.parts[-1] if self.tail else None
        return last.lines[len(last.lines) - self.tail :] if isinstance(last, Hunk) else ()


def _lines(part: Part) -> Iterable[Line]:
    return part.lines if isinstance(part, Hunk) else map(Line, part.lines)


class Splicing:
    """A text that is cut from its end: `take` a stretch above all that was taken before, then `put` what stands there now."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._above = list(parts)
        self._length = sum(map(size, parts))
        self._below: list[Piece] = []

    def take(self, start: int, stop: int) -> Taken:
        """Take lines `start` to `stop` out, with every hunk that has lines on both sides of one of these edges.

        Where `start` is `stop`, that is the hunk it lies within, if any. A hunk without current lines is taken when it
        lies within the stretch; at its edge it stays above where it begins and below where it ends.
        """
        self._leave_below(start, stop)
        tail = self._length - stop
        taken: list[Part] = []
        head = 0
        while self._length > start:
            part = self._above.pop()
            self._length -= size(part)
            cut = start - self._length
            if cut > 0 and isinstance(part, Same):
                self._above.append(Same(part.lines[:cut]))
                self._length = start
                part = Same(part.lines[cut:])
            elif cut > 0:
                head = cut
            taken.append(part)
        return Taken(tuple(reversed(taken)), head, tail)

    def _leave_below(self, start: int, stop: int) -> None:
        """What stands below the stretch is done with."""
        while self._above:
            last = self._above[-1]
            at = self._length - size(last)
            if at < stop or (at == stop == start and not last.lines):
                break
            self._below.append(self._above.pop())
            self._length = at
        if self._above and self._length > stop and isinstance(last := self._above[-1], Same):
            cut = len(last.lines) - (self._length - stop)
            self._below.append(Same(last.lines[cut:]))
            self._above[-1] = Same(last.lines[:cut])
            self._length = stop

    def put(self, pieces: Sequence[Piece]) -> None:
        """What stands where something was taken."""
        self._below += reversed(pieces)

    def take_removal(self, turns: Collection[str] = ()) -> Hunk | None:
        """The lowest hunk without current lines that stands directly above what was taken last, of `turns` where these are given."""
        return self._take_above(lambda hunk: not hunk.lines and (not turns or not hunk.turns.isdisjoint(turns)))

    def widened(self, taken: Taken, above: int, below: int) -> Taken:
        """What was taken last, with the hunk of id `above` when that stands directly above, and that of `below` likewise."""
        parts, head, tail = taken.parts, taken.head, taken.tail
        upper = None if head or parts else self._take_above(lambda hunk: above in hunk.ids)
        if upper is not None:
            parts, head = (upper,), len(upper.lines)
        lower = self._below[-1] if self._below else None
        if isinstance(lower, Hunk) and below in lower.ids and not tail:
            self._below.pop()
            parts, tail = (*parts, lower), len(lower.lines)
        return Taken(parts, head, tail)

    def _take_above(self, wanted: Callable[[Hunk], bool]) -> Hunk | None:
        """The nearest such hunk above; hunks without current lines that stand between are below what is put next."""
        for n, part in enumerate(reversed(self._above), 1):
            if not isinstance(part, Hunk):
                break
            if wanted(part):
                self._below += reversed(self._above[len(self._above) - n + 1 :])
                del self._above[len(self._above) - n :]
                self._length -= len(part.lines)
                return part
            if part.lines:
                break
        return None

    def pieces(self) -> list[Piece]:
        """The whole text."""
        return [*self._above, *reversed(self._below)]


class Finished(Struct, frozen=True):
    """A text in its normal form, the hunks that are pending no more, and the next free id."""

    parts: tuple[Part, ...]
    away: tuple[Away, ...]
    next_id: int


def finished(pieces: Iterable[Piece], next_id: int, turn_id: str = "") -> Finished:
    """The normal form of a text: new hunks (id 0) get ids from the top, those of `turn_id` alone that touch become one."""
    parts: list[Part] = []
    away: list[Away] = []
    run: list[str] = []
    at = 0
    for piece in pieces:
        if isinstance(piece, Left):
            away.append(Away(piece.hunk, piece.state, at, at + piece.lines))
            continue
        at += size(piece)
        if isinstance(piece, Same):
            run += piece.lines
            continue
        if run:
            parts.append(Same(tuple(run)))
            run = []
        last = parts[-1] if parts else None
        if isinstance(last, Hunk) and _is_one(last, piece, turn_id):
            parts[-1] = _as_one(last, piece)
        else:
            parts.append(piece)
    if run:
        parts.append(Same(tuple(run)))
    for n, part in enumerate(parts):
        if isinstance(part, Hunk) and not part.id:
            parts[n] = replace(part, id=next_id)
            next_id += 1
    return Finished(tuple(parts), tuple(away), next_id)


def _is_one(upper: Hunk, lower: Hunk, turn_id: str) -> bool:
    """Lines of the user would change their order if hunks with such became one."""
    alone = frozenset((turn_id,))
    return upper.turns == lower.turns == alone and not (upper.own and lower.base)


def _as_one(upper: Hunk, lower: Hunk) -> Hunk:
    return merged((upper, lower), upper.base + lower.base, upper.lines + lower.lines)


def merged(hunks: Sequence[Hunk], base: Lines, lines: tuple[Line, ...]) -> Hunk:
    """Several hunks as one, with the oldest id (0 where all are new)."""
    ids = sorted({number for hunk in hunks for number in hunk.ids if number})
    agents = dict.fromkeys(agent for hunk in hunks for agent in hunk.agents)
    return Hunk(ids[0] if ids else 0, base, lines, tuple(agents), tuple(ids[1:]))
