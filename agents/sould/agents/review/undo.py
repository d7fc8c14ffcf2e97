"""Taking calls back: what their writes changed is as it was before them, but for what the user decided or typed since. Pure.

A reject is about base, an undo about the log: each write is turned around and carried forward to the text as it is now.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.review.difference import LineEdit, applied, edits_between
from sould.agents.review.hunk import Hunk, Line, Part, Same, base_lines, current_lines
from sould.agents.review.lines import Lines, without_ends
from sould.agents.review.splice import Piece, Splicing, Taken, lines_of
from sould.agents.review.text import ReviewedText


class Write(Struct, frozen=True):
    """A write of an agent: the text before it, what it changed there, and by which call; "": by any of those that are undone."""

    before: tuple[Part, ...]
    edits: tuple[LineEdit, ...]
    call_id: str = ""


class Undone(Struct, frozen=True):
    """`hunks`: ids of those that are pending no more by it; `kept`: of those of the calls that stay because they were kept.

    `conflicts`: how many changes could not go back.
    """

    text: ReviewedText
    hunks: tuple[int, ...]
    kept: tuple[int, ...]
    conflicts: int


def without_calls(text: ReviewedText, writes: Sequence[Write], calls: Collection[str]) -> Undone:
    """The text without the writes of some calls, given from the first to the last; a turn is all its calls."""
    kept: set[int] = set()
    conflicts = 0
    now = text
    for write in reversed(writes):
        undoing = _Undoing(now, write, frozenset(calls))
        now = undoing.done()
        conflicts += undoing.conflicts
        kept |= undoing.kept
    now = replace(now, parts=tuple(_still_by(part, calls) if isinstance(part, Hunk) else part for part in now.parts))
    pending = {number for each in now.hunks for number in each.hunk.ids}
    gone = (each.hunk.id for each in text.hunks if each.hunk.id not in pending)
    return Undone(now, tuple(gone), tuple(sorted(kept)), conflicts)


def _still_by(hunk: Hunk, undone: Collection[str]) -> Hunk:
    """With the agents that still have a part in it; known only when all is undone, as lines that are gone have no author."""
    left = {line.agent for line in hunk.lines}
    agents = tuple(agent for agent in hunk.agents if agent.call_id not in undone or agent in left)
    return replace(hunk, agents=agents) if agents else hunk


_NOTHING: Final = Taken((), 0, 0)
_BACK: Final = frozenset({"rejected", "undone", "absent"})
"""Of a hunk in such a state nothing is to be taken back where it stood: base stands there already."""


class _Undoing:
    """One write, turned around in the text as it is now. What stayed is told when it is `done`."""

    def __init__(self, text: ReviewedText, write: Write, calls: frozenset[str]) -> None:
        self._text = text
        self._write = write
        self._calls = calls
        self._own = frozenset((write.call_id,)) if write.call_id else calls
        after = applied(current_lines(write.before), write.edits)
        self._later = edits_between(after, text.current)
        self._before = {part.id: part for part in write.before if isinstance(part, Hunk)}
        self._pending = {number for each in text.hunks for number in each.hunk.ids}
        self.kept: set[int] = set()
        self.conflicts = 0

    def done(self) -> ReviewedText:
        """The text without it."""
        splicing = Splicing(self._text.parts)
        edits: list[LineEdit] = []
        lowest = len(self._text.current)
        for edit, start in reversed(_places(self._write.edits)):
            place = self._place_now(edit, start)
            back = self._turned_around(splicing, edit, *place) if place is not None and place[1] <= lowest else None
            if back is not None:
                edits.append(back)
                lowest = back.start
            else:
                self.conflicts += 1
        return self._text.changed(splicing.normal_pieces(self._normal, lambda _: "undone"), edits[::-1])

    def _place_now(self, edit: LineEdit, start: int) -> tuple[int, int] | None:
        """Where the lines of an edit stand now, or the hunk that took lines away; None where a later edit goes across their edge."""
        place = self._carried(start, start + len(edit.lines))
        if place is None or place[0] < place[1]:
            return place
        before = Splicing(self._write.before).take(edit.start, edit.stop)
        holders = [each for each in self._text.hunks if self._is_rest(each.hunk, before)]
        if not holders:
            return place
        nearest = min(holders, key=lambda each: max(each.start - place[0], place[0] - each.stop))
        at = min(max(place[0], nearest.start), nearest.stop)
        return at, at

    def _is_rest(self, hunk: Hunk, before: Taken) -> bool:
        """Whether it holds what the calls took away, or is what is left of a hunk that they took away whole."""
        whole = (own.parts[0] for own in before.each if not (own.head or own.tail))
        ids = {number for part in whole if isinstance(part, Hunk) for number in part.ids}
        rest = not hunk.lines and not ids.isdisjoint(hunk.ids) and bool(hunk.calls & self._calls)
        return rest or self._holds(hunk, _removed(before))

    def _holds(self, hunk: Hunk, removed: Lines) -> bool:
        """Whether it is a hunk of the calls that took these lines of base away, of which the last may have an end by now."""
        if not removed or not hunk.calls & self._calls:
            return False
        base, wanted = without_ends(hunk.base), without_ends(removed)
        return any(base[at : at + len(wanted)] == wanted for at in range(len(base) - len(wanted) + 1))

    def _carried(self, start: int, stop: int) -> tuple[int, int] | None:
        """Where lines that the write left stand now."""
        shift = grown = 0
        for edit in self._later:
            more = len(edit.lines) - (edit.stop - edit.start)
            if edit.stop <= start:
                shift += more
            elif edit.start < start or (edit.start < stop < edit.stop):
                return None
            elif edit.start < stop:
                grown += more
        return start + shift, stop + shift + grown

    def _turned_around(self, splicing: Splicing, edit: LineEdit, start: int, stop: int) -> LineEdit | None:
        """Take the edit back where its lines stand now; what that changes there, None where it cannot be."""
        before = Splicing(self._write.before).take(edit.start, edit.stop)
        above, below = before.crossed
        removed = _removed(before)
        taken = splicing.take(start, stop)
        if any(isinstance(part, Hunk) and self._holds(part, removed) for part in taken.parts):
            removed = ()
        taken = splicing.widened(
            taken,
            lambda hunk: above in hunk.ids or (bool(removed) and self._is_rest(hunk, before)),
            lambda hunk: below in hunk.ids or (bool(removed) and self._is_rest(hunk, before)),
        )
        pieces = self._without(taken, before, edit, start)
        splicing.put(taken.parts if pieces is None else pieces)
        if pieces is None:
            return None
        lines = lines_of(pieces)
        return LineEdit(start, stop, lines[taken.head : len(lines) - taken.tail])

    def _without(self, taken: Taken, before: Taken, edit: LineEdit, start: int) -> list[Piece] | None:
        if self._is_others(taken):
            return None
        if self._is_back(start, start + len(taken.lines), before) and not any(isinstance(p, Hunk) for p in taken.parts):
            return list(taken.parts)
        stays = not taken.parts and self._stays(start, start, before)
        pieces: list[Piece] = [] if taken.parts or stays else self._as_it_was(before)
        written = frozenset(edit.lines)
        changed = not taken.parts or not written
        if taken.parts and not taken.head and not taken.tail and self._is_accepted(before):
            before = _NOTHING
        holder = self._holder(taken, _removed(before))
        at = start - taken.head
        for n, (part, own) in enumerate(zip(taken.parts, taken.each, strict=True)):
            stays = isinstance(part, Same) and self._stays(at, at + len(part.lines))
            at += len(part.lines)
            changed = changed or stays or any(line.agent or line.text in written for line in own.lines)
            pieces += [part] if stays else self._replaced(part, own, before if n == holder else _NOTHING, written)
        return pieces if changed else None

    def _holder(self, taken: Taken, removed: Lines) -> int:
        """Which part gets back what was removed: the one that has it in its base, else the first."""
        hunks = ((n, part) for n, part in enumerate(taken.parts) if isinstance(part, Hunk))
        return next((n for n, hunk in hunks if self._holds(hunk, removed)), 0)

    def _is_others(self, taken: Taken) -> bool:
        """Whether somebody else's words are in the lines."""
        agents = [(line, line.agent) for line in taken.lines]
        return any(line.retyped or agent.call_id not in self._calls for line, agent in agents if agent is not None)

    def _stays(self, start: int, stop: int, before: Taken = _NOTHING) -> bool:
        """Whether a hunk of this call stands at these lines, or took away what was `before`, and was kept, which is told.

        Or this write's stood there and is back.
        """
        there = [
            each
            for each in self._text.away
            if (each.start < stop and start < each.stop)
            or each.start == start == stop == each.stop
            or (each.state == "kept" and self._took(each.hunk, before))
        ]
        kept = {each.hunk.id for each in there if each.state == "kept" and each.hunk.calls & self._own}
        self.kept |= kept
        return bool(kept) or any(each.state in _BACK and each.hunk.calls & self._own for each in there)

    def _is_accepted(self, before: Taken) -> bool:
        """Whether that these lines went was kept, apart from what came in their place."""
        kept = [each.hunk for each in self._text.away if each.state == "kept" and self._own & each.hunk.calls]
        self.kept |= (found := {hunk.id for hunk in kept if self._holds(hunk, _removed(before))})
        return bool(found)

    def _took(self, hunk: Hunk, before: Taken) -> bool:
        """Whether this write took lines away that the hunk has in its base, or that were lines of the hunk."""
        ids = {number for part in before.parts if isinstance(part, Hunk) for number in part.ids}
        mine = not hunk.calls.isdisjoint(self._own)
        return mine and (not ids.isdisjoint(hunk.ids) or self._holds(hunk, _removed(before)))

    def _is_back(self, start: int, stop: int, before: Taken) -> bool:
        """Whether what the write changed at these lines was rejected; lines that they only removed may be back otherwise, too."""
        back = [each for each in self._text.away if each.state != "kept" and each.hunk.calls & self._own]
        removed = _removed(before)
        if start == stop and removed:
            return any(self._holds(each.hunk, removed) for each in back)
        return any(each.state == "rejected" and each.start <= stop and start <= each.stop for each in back)

    def _replaced(self, part: Part, taken: Taken, before: Taken, written: frozenset[str]) -> list[Piece]:
        """A part with what stood there before; what the user typed among its lines stays."""
        if isinstance(part, Same):
            stays = tuple(line.text for line in taken.lines if line.text not in written)
            return [*self._as_it_was(before), Same(stays)]
        own = (line for line in taken.lines if line.own)
        back = [line for line in before.lines if self._comes_back(line, part)]
        lines = (*taken.above, *back, *own, *taken.below)
        return [replace(part, lines=lines).by(*(line.agent for line in back if line.agent is not None))]

    def _comes_back(self, line: Line, hunk: Hunk) -> bool:
        """Whether a line stands in a hunk again; no agent's only where it was not decided apart from the hunk that it went."""
        text = without_ends((line.text,))
        if not line.own or self._has(hunk, text):
            return True
        decided = [each for each in self._text.away if each.state in ("kept", *_BACK) and each.hunk.calls & self._own]
        apart = [each for each in decided if self._has(each.hunk, text)]
        self.kept |= {each.hunk.id for each in apart if each.state == "kept"}
        return not apart

    @staticmethod
    def _has(hunk: Hunk, line: Lines) -> bool:
        return line[0] in without_ends(hunk.base)

    def _as_it_was(self, before: Taken) -> list[Piece]:
        """What stood there before, with its hunks unless they, or the rest of them, are pending elsewhere."""
        if before.head or before.tail:
            return [Same(tuple(line.text for line in before.lines))]
        parts = before.parts
        return [replace(part, id=0, absorbed=()) if self._is_pending(part) else part for part in parts]

    def _is_pending(self, part: Part) -> bool:
        return isinstance(part, Hunk) and not self._pending.isdisjoint(part.ids)

    def _normal(self, hunk: Hunk) -> list[Part]:
        """A hunk as what is left of it; what were hunks of their own before the write are so again, with their ids."""
        earlier = [self._before[number] for number in hunk.ids if number in self._before]
        known = {(each.base, each.texts): each for each in earlier if set(each.ids) <= set(hunk.ids)}
        whole = known.get((hunk.base, hunk.texts))
        if whole is not None:
            return _numbered([whole], hunk.ids)
        parts = _differing(hunk)
        return _numbered(
            [known.pop((part.base, part.texts), part) if isinstance(part, Hunk) else part for part in parts], hunk.ids
        )


def _removed(before: Taken) -> Lines:
    """The lines in it that are in base since they were removed, as far as these can be told: of base, and the user's own."""
    whole = (own for own in before.each if not (own.head or own.tail))
    return tuple(line for own in whole for part in own.parts for line in (*base_lines([part]), *_own(part)))


def _own(part: Part) -> Lines:
    return part.own if isinstance(part, Hunk) else ()


def _differing(hunk: Hunk) -> Iterator[Part]:
    """A hunk as new ones for where its lines differ from base, each with the agents that can have had a part in it."""
    with_lines = {line.agent for line in hunk.lines}
    at = base_at = 0
    for edit in edits_between(hunk.base, hunk.texts):
        yield Same(hunk.base[base_at : edit.start])
        at += edit.start - base_at
        lines = hunk.lines[at : at + len(edit.lines)]
        authors = {line.agent for line in lines}
        agents = tuple(agent for agent in hunk.agents if agent in authors or agent not in with_lines) or hunk.agents
        base = hunk.base[edit.start : edit.stop]
        part = replace(hunk, id=0, base=base, lines=lines, agents=agents, absorbed=())
        yield part if agents and part.has_agent else Same(edit.lines)
        at, base_at = at + len(lines), edit.stop
    yield Same(hunk.base[base_at:])


def _numbered(parts: list[Part], ids: Sequence[int]) -> list[Part]:
    """With the ids that none of them has given to the first one without any, else to the first."""
    hunks = [part for part in parts if isinstance(part, Hunk)]
    taken = {number for hunk in hunks for number in hunk.ids}
    free = [number for number in ids if number and number not in taken]
    heir = next((hunk for hunk in hunks if not hunk.id), hunks[0] if hunks else None)
    if heir is None or not free:
        return parts
    own = [number for number in (*heir.ids, *free) if number]
    return [replace(part, id=own[0], absorbed=tuple(own[1:])) if part is heir else part for part in parts]


def _places(edits: Sequence[LineEdit]) -> list[tuple[LineEdit, int]]:
    """Each edit with the line at which its new lines begin in the text after all of them."""
    places: list[tuple[LineEdit, int]] = []
    shift = 0
    for edit in edits:
        places.append((edit, edit.start + shift))
        shift += len(edit.lines) - (edit.stop - edit.start)
    return places
