"""Taking turns back: what their writes changed is as it was before them, but for what the user decided or typed since. Pure.

A reject is about base, an undo about the log: each write is turned around and carried forward to the text as it is now.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.review.difference import LineEdit, edits_between
from sould.agents.review.hunk import Hunk, Line, Part, Same, current_lines
from sould.agents.review.splice import Left, Piece, Splicing, Taken
from sould.agents.review.text import ReviewedText, applied


class Write(Struct, frozen=True):
    """A write of an agent: the text before it, and what it changed there."""

    before: tuple[Part, ...]
    edits: tuple[LineEdit, ...]


class Undone(Struct, frozen=True):
    """`kept`: ids of hunks of the turns that stay because they were kept; `conflicts`: how many changes could not go back."""

    text: ReviewedText
    kept: tuple[int, ...]
    conflicts: int


class _Outcome(Struct, frozen=True):
    pieces: Sequence[Piece]
    kept: frozenset[int] = frozenset()
    conflict: bool = False


def without_turns(text: ReviewedText, writes: Sequence[Write], turns: Collection[str]) -> Undone:
    """The text without the writes of some turns, given from the first to the last."""
    kept: set[int] = set()
    conflicts = 0
    for write in reversed(writes):
        one = _Undoing(text, write, frozenset(turns)).done()
        text, conflicts = one.text, conflicts + one.conflicts
        kept.update(one.kept)
    return Undone(text, tuple(sorted(kept)), conflicts)


class _Undoing:
    """One write, turned around in the text as it is now."""

    def __init__(self, text: ReviewedText, write: Write, turns: frozenset[str]) -> None:
        self._text = text
        self._turns = turns
        self._old = [line for part in write.before for line in _authored(part)]
        after = applied(current_lines(write.before), write.edits)
        self._later = edits_between(after, text.current)
        self._write = write

    def done(self) -> Undone:
        """The text without it."""
        splicing = Splicing(self._text.parts)
        edits: list[LineEdit] = []
        kept: set[int] = set()
        conflicts = 0
        for edit, start in reversed(_places(self._write.edits)):
            now = self._now(start, start + len(edit.lines))
            if now is None:
                conflicts += 1
                continue
            outcome = self._turned_around(splicing, edit, *now)
            kept |= outcome.kept
            conflicts += outcome.conflict
            new = current_lines(piece for piece in outcome.pieces if isinstance(piece, Same | Hunk))
            if not outcome.conflict:
                edits.append(LineEdit(*now, new))
        text = self._text.changed(splicing.pieces(), edits[::-1])
        pending = {each.hunk.id for each in text.hunks}
        away = tuple(each for each in text.away if each.hunk.id not in pending)
        return Undone(replace(text, away=away), tuple(kept), conflicts)

    def _now(self, start: int, stop: int) -> tuple[int, int] | None:
        """Where lines that the write left stand now; None where a later edit goes across their edge."""
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

    def _turned_around(self, splicing: Splicing, edit: LineEdit, start: int, stop: int) -> _Outcome:
        """What stands at lines `start` to `stop` without the edit; they are taken out and put back here."""
        taken = splicing.take(start, stop)
        removal = splicing.take_removal(self._turns) if start == stop and not taken.parts else None
        if removal is not None:
            taken = Taken((removal,), 0, 0)
        before = Splicing(self._write.before).take(edit.start, edit.stop)
        upper, lower = (before.parts[0], before.parts[-1]) if before.parts else (None, None)
        above = upper.id if isinstance(upper, Hunk) and before.head else 0
        below = lower.id if isinstance(lower, Hunk) and before.tail else 0
        taken = splicing.widened(taken, above, below)
        outcome = self._without(taken, edit, start)
        splicing.put(outcome.pieces)
        return outcome

    def _without(self, taken: Taken, edit: LineEdit, start: int) -> _Outcome:
        if self._is_others(taken):
            return _Outcome(taken.parts, conflict=True)
        if not taken.parts:
            kept = self._kept(start, start)
            return _Outcome([] if kept else self._before(edit), kept)
        pieces: list[Piece] = []
        kept: frozenset[int] = frozenset()
        at = start - taken.head
        changed = not edit.lines
        first = True
        for n, part in enumerate(taken.parts):
            own = Taken((part,), taken.head if n == 0 else 0, taken.tail if n == len(taken.parts) - 1 else 0)
            ids = self._kept(at, at + len(part.lines)) if isinstance(part, Same) else frozenset[int]()
            at += len(part.lines)
            if ids:
                pieces.append(part)
                kept |= ids
                continue
            changed = changed or any(line.text in edit.lines for line in own.lines)
            pieces += (
                self._replaced(part, own, edit) if first else self._replaced(part, own, replace(edit, stop=edit.start))
            )
            first = False
        return _Outcome(pieces, kept) if changed or kept else _Outcome(taken.parts, conflict=True)

    def _is_others(self, taken: Taken) -> bool:
        """Whether somebody else's words are in the lines."""
        agents = [(line, line.agent) for line in taken.lines]
        return any(line.retyped or agent.turn_id not in self._turns for line, agent in agents if agent is not None)

    def _kept(self, start: int, stop: int) -> frozenset[int]:
        """The hunks of the turns that were kept and stand at these lines."""
        return frozenset(
            each.hunk.id
            for each in self._text.away
            if each.state == "kept"
            and each.hunk.turns & self._turns
            and ((each.start < stop and start < each.stop) or each.start == start == stop == each.stop)
        )

    def _replaced(self, part: Part, taken: Taken, edit: LineEdit) -> list[Piece]:
        """A part as it was before the edit; what the user typed among its lines stays."""
        if isinstance(part, Same):
            stays = tuple(line.text for line in taken.lines if line.text not in edit.lines)
            return [*self._before(edit), Same(stays)]
        own = (line for line in taken.lines if line.own)
        lines = (*taken.above, *self._old[edit.start : edit.stop], *own, *taken.below)
        left = {line.agent for line in lines}
        agents = tuple(agent for agent in part.agents if agent.turn_id not in self._turns or agent in left)
        return _compared(replace(part, lines=lines, agents=agents), part)

    def _before(self, edit: LineEdit) -> list[Piece]:
        """What the edit replaced, with the hunks that ended by it."""
        taken = Splicing(self._write.before).take(edit.start, edit.stop)
        if taken.head or taken.tail:
            return [Same(tuple(line.text for line in taken.lines))]
        return list(taken.parts)


def _compared(hunk: Hunk, before: Hunk) -> list[Piece]:
    """A hunk as what is left of it where its lines differ from base; what it was, when that is nothing of an agent's."""
    pieces: list[Piece] = []
    at = base_at = 0
    number = hunk.id
    for edit in edits_between(hunk.base, hunk.texts):
        same = edit.start - base_at
        lines = hunk.lines[at + same : at + same + len(edit.lines)]
        part = replace(hunk, id=number, base=hunk.base[edit.start : edit.stop], lines=lines)
        is_agents = any(not line.own for line in lines) or (hunk.agents and part.base)
        pieces += [Same(hunk.base[base_at : edit.start]), part if is_agents else Same(edit.lines)]
        number = 0 if is_agents else number
        at, base_at = at + same + len(lines), edit.stop
    pieces.append(Same(hunk.base[base_at:]))
    if any(isinstance(piece, Hunk) for piece in pieces):
        return pieces
    return [Left(before, "undone", len(hunk.lines)), *pieces]


def _authored(part: Part) -> Sequence[Line]:
    return part.lines if isinstance(part, Hunk) else [Line(text) for text in part.lines]


def _places(edits: Sequence[LineEdit]) -> list[tuple[LineEdit, int]]:
    """Each edit with the line at which its new lines begin in the text after all of them."""
    places: list[tuple[LineEdit, int]] = []
    shift = 0
    for edit in edits:
        places.append((edit, edit.start + shift))
        shift += len(edit.lines) - (edit.stop - edit.start)
    return places
