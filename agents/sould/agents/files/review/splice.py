"""Replacing stretches of a reviewed text from its last line to its first, so that what is above keeps its numbers. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.review.hunk import Hunk, Line, Part, Same, current_lines, size
from sould.agents.files.review.lines import Lines, stacked, without_ends

AwayState: TypeAlias = Literal["absent", "stale", "rejected", "kept", "undone", "ended"]
"""Why a hunk is not pending: its text is gone and base stands there; something else stands there; it was decided; its
turn was undone; an agent wrote base there."""


class HunkMark(Struct, frozen=True):
    """Among parts: here stood a hunk, and the `lines` lines that follow stand at its place."""

    hunk: Hunk
    state: AwayState
    lines: int


class Away(Struct, frozen=True, array_like=True, gc=False):
    """A hunk that is not pending; lines `start` to `stop` of the current text stand at its place.

    `below`: where no line does, the hunks without current lines that have the same place and stand below it. `last`: the last
    line of base, where it had no end before the hunk was kept, and got one then. `astray`: where no line does, and lines of base
    stand that are not beside it in the order they had, because an agent took those above and below away at once.
    """

    hunk: Hunk
    state: AwayState
    start: int
    stop: int
    below: tuple[int, ...] = ()
    last: str = ""
    astray: bool = False


Piece: TypeAlias = Part | HunkMark


Normal: TypeAlias = Callable[[Hunk], Sequence[Part]]
"""What an edited hunk is by now: itself, less, several, or no hunk any more."""


def lines_of(pieces: Iterable[Piece]) -> Lines:
    """The current lines of some pieces."""
    return current_lines(piece for piece in pieces if not isinstance(piece, HunkMark))


class CutRange(Struct, frozen=True):
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
    def each(self) -> "tuple[CutRange, ...]":
        """The same part by part."""
        last = len(self.parts) - 1
        return tuple(
            CutRange((part,), self.head if n == 0 else 0, self.tail if n == last else 0)
            for n, part in enumerate(self.parts)
        )

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
        self._parts = parts
        self._above = list(parts)
        self._length = sum(map(size, parts))
        self._below: list[Piece] = []
        self._head = 0

    def take(self, start: int, stop: int) -> CutRange:
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
        self._head = head
        return CutRange(tuple(reversed(taken)), head, tail)

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
        """What stands where something was taken. Where that began within a hunk, this begins with one, which can be taken again."""
        first = pieces[0] if self._head and pieces else None
        if isinstance(first, Hunk):
            pieces = pieces[1:]
            self._above.append(first)
            self._length += len(first.lines)
        self._below += reversed(pieces)

    def leave_removals(self, ids: Collection[int]) -> None:
        """These hunks without current lines, directly above what was taken last, stand below what is put next."""
        while self._above and isinstance(last := self._above[-1], Hunk) and not last.lines and last.id in ids:
            self._below.append(self._above.pop())

    def put_back(self, new: Lines) -> Lines | None:
        """Put lines that the user took out at an edge of a hunk back into it, where it is directly beside what was taken last.

        The lines that are left, and stand where something was taken; None: nothing was put back.
        """
        above = self._put_back(self._above, new, at_end=True)
        rest = new if above is None else above
        below = self._put_back(self._below, rest, at_end=False)
        return above if below is None else below

    def _put_back(self, beside: list[Part] | list[Piece], new: Lines, *, at_end: bool) -> Lines | None:
        part = beside[-1] if beside else None
        back = part.grown_by(new, at_end=at_end) if isinstance(part, Hunk) and new else None
        if back is None or not isinstance(part, Hunk):
            return None
        beside[-1] = back
        count = len(back.lines) - len(part.lines)
        self._length += count if at_end else 0
        return new[count:] if at_end else new[: len(new) - count]

    def take_removal(self, new: Lines) -> Hunk | None:
        """A hunk without current lines directly above what was taken last: the lowest, or one whose base `new` begins with."""
        first = self._take_above(lambda hunk: not hunk.lines and hunk.base == new[: len(hunk.base)])
        return first or self._take_above(lambda hunk: not hunk.lines)

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

    def normal_pieces(self, normal: Normal, state: Callable[[Hunk], AwayState]) -> Iterator[Piece]:
        """The whole text with hunks that are others now in normal form. Those of which nothing is left are told with their `state`.

        Only here, at the end: in the middle a hunk still lacks the edits further up in it.
        """
        before = {part.id: part for part in self._parts if isinstance(part, Hunk)}
        for piece in self.pieces():
            if not isinstance(piece, Hunk) or before.get(piece.id) is piece:
                yield piece
                continue
            parts = normal(piece)
            if not any(isinstance(part, Hunk) for part in parts):
                gone = (before[number] for number in piece.ids if number in before)
                yield from (HunkMark(hunk, state(hunk), len(piece.lines)) for hunk in gone)
            yield from parts


class Finished(Struct, frozen=True):
    """A text in its normal form, the hunks that are pending no more, and the next free id."""

    parts: tuple[Part, ...]
    away: tuple[Away, ...]
    next_id: int


def finished(pieces: Iterable[Piece], next_id: int, turn_id: str = "") -> Finished:
    """The normal form of a text: new hunks (id 0) get ids from the top, those of `turn_id` alone that touch become one."""
    parts: list[Part] = []
    away: list[Away] = []
    run: list[Same] = []
    at = 0
    for piece in _with_ends(pieces):
        if isinstance(piece, HunkMark):
            away.append(Away(piece.hunk, piece.state, at, at + piece.lines))
            continue
        if isinstance(piece, Hunk) and not piece.lines:
            away = [_above(each, piece, at) for each in away]
        at += size(piece)
        if isinstance(piece, Same):
            run += [piece] if piece.lines else []
            continue
        if run:
            parts.append(_as_run(run))
            run = []
        last = parts[-1] if parts else None
        if isinstance(last, Hunk) and _is_one(last, piece, turn_id):
            parts[-1] = _as_one(last, piece)
        else:
            parts.append(piece)
    if run:
        parts.append(_as_run(run))
    own = {part.id for part in parts if isinstance(part, Hunk)}
    for n, part in enumerate(parts):
        if isinstance(part, Hunk) and not part.id:
            parts[n] = replace(part, id=next_id)
            next_id += 1
        elif isinstance(part, Hunk) and not own.isdisjoint(part.absorbed):
            # it is back, and others have got ids of it since
            parts[n] = replace(part, absorbed=tuple(number for number in part.absorbed if number not in own))
        own.update(part.absorbed if isinstance(part, Hunk) else ())
    return Finished(tuple(parts), tuple(away), next_id)


def _as_run(run: Sequence[Same]) -> Same:
    """Several as one; a single one stays the same object: nothing of a large text is copied that did not change."""
    return run[0] if len(run) == 1 else Same(current_lines(run))


def _above(away: Away, removal: Hunk, at: int) -> Away:
    """What went, with a removal that follows it at the same place."""
    return replace(away, below=(*away.below, removal.id)) if away.start == away.stop == at else away


def _with_ends(pieces: Iterable[Piece]) -> list[Piece]:
    """The same, and no line of base or of the current text is glued to one below it: what was the last line gets an end.

    Where it is the last on one side only, the hunk below has this end. A hunk that was no more than that has ended.
    """
    done: list[Piece] = []
    base: Lines = ()
    lines: Lines = ()
    for piece in reversed(list(pieces)):
        if isinstance(piece, HunkMark):
            done.append(piece)
            continue
        base_above, above = (piece.base, piece.texts) if isinstance(piece, Hunk) else (piece.lines, piece.lines)
        if _is_glued(base_above, base) or _is_glued(above, lines):
            done += reversed(_ended(piece, base, lines, done))
        else:
            done.append(piece)
        base, lines = base_above[:1] or base, above[:1] or lines
    return done[::-1]


def _is_glued(above: Lines, below: Lines) -> bool:
    return bool(above and below) and not above[-1].endswith(("\n", "\r"))


def _ended(piece: Part, base: Lines, lines: Lines, done: list[Piece]) -> Sequence[Piece]:
    """A part with an end where base or the text goes on below it; the hunk there is the last one `done`, and may be taken."""
    if isinstance(piece, Hunk):
        above, *below = without_end(piece)
        rest = below[0] if below else piece
        if isinstance(above, Same) and isinstance(rest, Hunk) and (rest.base or base) and (rest.lines or lines):
            line = max(piece.base[0], piece.lines[0].text, key=len)
            parts = [Same((line,)), *trimmed(rest)]  # it goes on on both sides by now
        else:
            texts = stacked(piece.texts, lines)
            ended = tuple(replace(line, text=text) for line, text in zip(piece.lines, texts, strict=False))
            parts = trimmed(replace(piece, base=stacked(piece.base, base)[: len(piece.base)], lines=ended))
        left = [] if any(isinstance(part, Hunk) for part in parts) else [HunkMark(piece, "ended", len(piece.lines))]
        return [*left, *parts]
    if base and lines:
        return [Same(stacked(piece.lines, lines)[: len(piece.lines)])]
    hunk = next(each for each in reversed(done) if isinstance(each, Hunk))
    done.remove(hunk)
    [was], [now] = (stacked(piece.lines[-1:], below)[:1] for below in (base, lines))
    grown = replace(hunk, base=(was, *hunk.base), lines=(Line(now, hunk.agents[0]), *hunk.lines))
    return [Same(piece.lines[:-1]), grown]


def without_end(part: Part) -> Sequence[Part]:
    """A part; apart from the last line of base, or of the text, where a hunk is more than this line's end."""
    if isinstance(part, Same) or not part.base or not part.lines:
        return [part]
    base, line = part.base[0], part.lines[0].text
    if len(part.base) == 1 < len(part.lines) and base != line and without_ends((line,)) == (base,):
        return [Same((base,)), replace(part, base=(), lines=part.lines[1:])]
    if len(part.lines) == 1 < len(part.base) and base != line and without_ends((base,)) == (line,):
        return [Same((line,)), replace(part, base=part.base[1:], lines=())]
    return [part]


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


def trimmed(hunk: Hunk) -> list[Part]:
    """A hunk without the lines at its edges that are as in base; no hunk when nothing of an agent is left in it."""
    above, below = _as_in_base(hunk)
    base, lines = hunk.base[above : len(hunk.base) - below], hunk.lines[above : len(hunk.lines) - below]
    less = replace(hunk, base=base, lines=lines)
    if hunk.texts == hunk.base or not less.has_agent:
        return [Same(hunk.texts)]
    return [Same(hunk.base[:above]), less, Same(hunk.base[len(hunk.base) - below :])]


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
