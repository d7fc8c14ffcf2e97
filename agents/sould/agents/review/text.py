"""The text of one file under review: what base and current hold and which hunks lie between, folded from events. Pure.

Base plus the pending hunks is current by construction: both are read off the same parts.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from sould.agents.review.agentedit import agent_pieces
from sould.agents.review.difference import LineEdit
from sould.agents.review.hunk import AgentCall, Hunk, Part, PlacedHunk, Same, base_lines, current_lines, placed
from sould.agents.review.lines import Lines
from sould.agents.review.places import moved, returned
from sould.agents.review.splice import Away, Piece, finished
from sould.agents.review.useredit import How, user_pieces


class ReviewedText(Struct, frozen=True):
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

    def agent_wrote(self, edits: Sequence[LineEdit], agent: AgentCall, *, allowed: bool = False) -> "ReviewedText":
        """After edits of an agent; `allowed`: a person saw their diff and said yes before."""
        return self.changed(agent_pieces(self.parts, edits, agent, allowed=allowed), edits, agent.turn_id)

    def user_wrote(self, edits: Sequence[LineEdit], how: How = "typed", *, returning: bool = True) -> "ReviewedText":
        """After edits that no agent made. `returning`: hunks whose text they bring back are pending again."""
        after = self.changed(user_pieces(self.parts, edits, how), edits)
        if not returning:
            return after
        pieces, away = returned(after.parts, self.current, edits, self.away)
        gone = {each.hunk.id for each in self.away} - {each.hunk.id for each in away}
        done = finished(pieces, after.next_id)
        return ReviewedText(done.parts, done.next_id, tuple(each for each in after.away if each.hunk.id not in gone))

    def changed(self, pieces: Iterable[Piece], edits: Sequence[LineEdit], turn_id: str = "") -> "ReviewedText":
        """With other parts; `edits` say what that did to the current text, `turn_id` whose agent did it."""
        done = finished(pieces, self.next_id, turn_id)
        return ReviewedText(done.parts, done.next_id, (*moved(self.away, edits), *done.away))

    def pending(self, hunk_id: int) -> PlacedHunk | None:
        """The pending hunk of this id, or the one that took it over."""
        return next((each for each in self.hunks if hunk_id in each.hunk.ids), None)

    def gone(self, hunk_id: int) -> Away | None:
        """The hunk of this id that is not pending."""
        found = (each for each in reversed(self.away) if hunk_id in each.hunk.ids)
        return next(found, None)

    def replaced(self, hunk: PlacedHunk, pieces: Sequence[Piece]) -> "ReviewedText":
        """With something else in place of a pending hunk."""
        new = [line for piece in pieces if isinstance(piece, Same | Hunk) for line in current_lines([piece])]
        edit = LineEdit(hunk.start, hunk.stop, tuple(new))
        edits = [edit] if edit.lines != hunk.hunk.texts else []
        parts = [piece for part in self.parts for piece in (pieces if part is hunk.hunk else (part,))]
        return self.changed(parts, edits)


def applied(lines: Lines, edits: Sequence[LineEdit]) -> Lines:
    """Lines after edits of them, in order."""
    result = list(lines)
    for edit in reversed(edits):
        result[edit.start : edit.stop] = edit.lines
    return tuple(result)
