"""The text of one file under review: what base and current hold and which hunks lie between, folded from events. Pure.

Base plus the pending hunks is current by construction: both are read off the same parts.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.review.difference import LineEdit
from sould.agents.files.review.hunk import (
    AgentCall,
    Hunk,
    Line,
    Part,
    PlacedHunk,
    Same,
    base_lines,
    current_lines,
    placed,
)
from sould.agents.files.review.lines import Lines, stacked
from sould.agents.files.review.places import (
    above_removals,
    bounded,
    gone_astray,
    moved,
    moved_to,
    returned,
    with_below,
    with_gone_below,
)
from sould.agents.files.review.splice import Away, CutRange, Piece, Splicing, finished, lines_of, merged, trimmed
from sould.agents.files.review.useredit import How, by_hunk, user_pieces

UNORDERED: Final[Mapping[int, int]] = MappingProxyType({})


class ReviewedText(Struct, frozen=True, gc=False):
    """A text with its hunks. `next_id` is the id the next new hunk gets."""

    parts: tuple[Part, ...]
    next_id: int
    away: tuple[Away, ...] = ()
    """Hunks that are not pending, the one that went last at the end."""

    @classmethod
    def of(cls, lines: Lines, next_id: int) -> "ReviewedText":
        """A text that no agent has changed."""
        return cls((Same(lines),) if lines else (), next_id)

    @property
    def base(self) -> Lines:
        """What the user accepted."""
        return base_lines(self.parts)

    @property
    def current(self) -> Lines:
        """What the file holds."""
        return current_lines(self.parts)

    @property
    def hunks(self) -> tuple[PlacedHunk, ...]:
        """What is pending, from the top."""
        return tuple(placed(self.parts))

    @property
    def has_lines(self) -> bool:
        """There is a line in the file."""
        return any(part.lines for part in self.parts)

    @property
    def has_hunks(self) -> bool:
        """Something is pending."""
        return any(isinstance(part, Hunk) for part in self.parts)

    @property
    def has_missing(self) -> bool:
        """Some hunk was never decided about, and is not pending because its text is not there."""
        return any(each.state in ("absent", "stale") for each in self.away)

    def agent_wrote(self, edits: Sequence[LineEdit], agent: AgentCall, *, allowed: bool = False) -> "ReviewedText":
        """After edits of an agent; `allowed`: a person saw their diff and said yes before."""
        return self.changed(_agent_pieces(self.parts, edits, agent, allowed=allowed), edits, agent.turn_id)

    def user_wrote(self, edits: Sequence[LineEdit], how: How = "typed", *, returning: bool = True) -> "ReviewedText":
        """After edits that no agent made. `returning`: hunks whose text they bring back are pending again."""
        edits = by_hunk(self.parts, edits)
        after = self.changed(user_pieces(self.parts, edits, how), edits)
        if not returning:
            return after
        back = returned(after.parts, self.current, edits, self.away) if self.away else None
        if back is None and not any(each.below for each in after.away):
            return after
        return after.changed(after.parts if back is None else back, ())

    def changed(
        self,
        pieces: Iterable[Piece],
        edits: Sequence[LineEdit],
        turn_id: str = "",
        order: Mapping[int, int] = UNORDERED,
    ) -> "ReviewedText":
        """With other parts; `edits` say what that did to the current text, `turn_id` whose agent did it.

        `order`: in which hunks that are gone went, by id, when it was not from the top.
        """
        done = finished(pieces, self.next_id, turn_id)
        pending = {number for part in done.parts if isinstance(part, Hunk) for number in part.ids}
        places = moved([self._with_taken_below(each, edits, done.parts) for each in self.away], edits)
        both = zip(self.away, places, strict=True)
        earlier = [with_gone_below(was, now, edits, done.away) for was, now in both]
        earlier = above_removals(earlier, done.parts) if any(each.below for each in earlier) else earlier
        earlier = gone_astray(self.away, earlier, edits, self.parts, done.parts) if turn_id and earlier else earlier
        known = {each.hunk.id for each in earlier}  # one that was about to return, and ended at once
        gone = [with_below(each, earlier) for each in done.away if each.hunk.id not in known]
        gone.sort(key=lambda each: order.get(each.hunk.id, 0))
        away = [each for each in (*earlier, *gone) if each.hunk.id not in pending]
        return ReviewedText(done.parts, done.next_id, bounded(away))

    def _with_taken_below(self, away: Away, edits: Sequence[LineEdit], after: Sequence[Part]) -> Away:
        """Where no line stands at its place and those below were taken away, what took them stands below it."""
        taken = [edit for edit in edits if away.stop == away.start == edit.start < edit.stop]
        if not taken:
            return away
        before = {each.hunk.id for each in self.hunks if each.start == each.stop == away.start}
        place = moved([away], edits)[0].start
        ids = (each.hunk.id for each in placed(after) if each.start == each.stop == place)
        return replace(away, below=(*away.below, *(number for number in ids if number not in before)))

    def pending(self, hunk_id: int) -> PlacedHunk | None:
        """The pending hunk of this id, or the one that took it over."""
        return next((each for each in self.hunks if hunk_id in each.hunk.ids), None)

    def gone(self, hunk_id: int) -> Away | None:
        """The hunk of this id that is not pending."""
        found = (each for each in reversed(self.away) if hunk_id in each.hunk.ids)
        return next(found, None)

    def replaced(self, hunk: PlacedHunk, pieces: Sequence[Piece]) -> "ReviewedText":
        """With something else in place of a pending hunk."""
        edit = LineEdit(hunk.start, hunk.stop, lines_of(pieces))
        edits = [edit] if edit.lines != hunk.hunk.texts else []
        parts = [piece for part in self.parts for piece in (pieces if part is hunk.hunk else (part,))]
        after = self.changed(parts, edits)
        above = {each.hunk.id: each for each in self.away if each.start == each.stop == hunk.start == hunk.stop}
        above = {number: each for number, each in above.items() if not set(each.below).isdisjoint(hunk.hunk.ids)}
        return replace(after, away=tuple(moved_to(each, above.get(each.hunk.id)) for each in after.away))


def _agent_pieces(
    parts: Sequence[Part], edits: Sequence[LineEdit], agent: AgentCall, *, allowed: bool
) -> Iterable[Piece]:
    """The text after edits of an agent, in order: new hunks, or more of those it touches.

    `allowed`: a person saw the diff before, so only hunks it meets grow. Lines of the user that it changed come back on reject.
    """
    text = Splicing(parts)
    for edit in reversed(edits):
        taken = text.take(edit.start, edit.stop)
        hunks = [part for part in taken.parts if isinstance(part, Hunk)]
        if allowed and not hunks:
            text.put([Same(edit.lines)])
        else:
            text.put([_written(taken, hunks, edit.lines, agent)])
    return text.normal_pieces(trimmed, lambda _: "ended")


def _written(taken: CutRange, hunks: Sequence[Hunk], new: Lines, agent: AgentCall) -> Hunk:
    lines = (*taken.above, *(Line(text, agent) for text in new), *taken.below)
    return merged(hunks, _base(taken), lines).by(agent)


def _base(taken: CutRange) -> Lines:
    """Base of the whole; the user's own lines that go are in it from now on, below the base lines of their hunk."""
    base: Lines = ()
    for own in taken.each:
        for part in own.parts:
            base = stacked(base, part.base) if isinstance(part, Hunk) else base
        base = stacked(base, tuple(line.text for line in own.lines if line.own))
    return base
