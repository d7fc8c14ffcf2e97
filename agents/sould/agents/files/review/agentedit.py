"""What an agent wrote: new hunks, or more of those it touches. Lines of the user that it changed come back on reject. Pure."""

from collections.abc import Iterable, Sequence

from sould.agents.files.review.difference import LineEdit
from sould.agents.files.review.hunk import AgentCall, Hunk, Line, Part, Same
from sould.agents.files.review.lines import Lines, stacked
from sould.agents.files.review.splice import Piece, Splicing, Taken, merged, trimmed


def agent_pieces(
    parts: Sequence[Part], edits: Sequence[LineEdit], agent: AgentCall, *, allowed: bool
) -> Iterable[Piece]:
    """The text after edits of an agent, in order. `allowed`: a person saw the diff before, so only hunks it meets grow."""
    text = Splicing(parts)
    for edit in reversed(edits):
        taken = text.take(edit.start, edit.stop)
        hunks = [part for part in taken.parts if isinstance(part, Hunk)]
        if allowed and not hunks:
            text.put([Same(edit.lines)])
        else:
            text.put([_written(taken, hunks, edit.lines, agent)])
    return text.normal_pieces(trimmed, lambda _: "ended")


def _written(taken: Taken, hunks: Sequence[Hunk], new: Lines, agent: AgentCall) -> Hunk:
    lines = (*taken.above, *(Line(text, agent) for text in new), *taken.below)
    return merged(hunks, _base(taken), lines).by(agent)


def _base(taken: Taken) -> Lines:
    """Base of the whole; the user's own lines that go are in it from now on, below the base lines of their hunk."""
    base: Lines = ()
    for own in taken.each:
        for part in own.parts:
            base = stacked(base, part.base) if isinstance(part, Hunk) else base
        base = stacked(base, tuple(line.text for line in own.lines if line.own))
    return base
