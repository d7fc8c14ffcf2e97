"""What an agent wrote: new hunks, or more of those it touches. Lines of the user that it changed come back on reject. Pure."""

from collections.abc import Iterator, Sequence

from sould.agents.review.difference import LineEdit
from sould.agents.review.hunk import AgentCall, Hunk, Line, Part, Same
from sould.agents.review.lines import Lines
from sould.agents.review.splice import Piece, Splicing, Taken, merged
from sould.agents.review.useredit import ended_or_trimmed


def agent_pieces(parts: Sequence[Part], edits: Sequence[LineEdit], agent: AgentCall, *, allowed: bool) -> list[Piece]:
    """The text after edits of an agent, in order. `allowed`: a person saw the diff before, so only hunks it meets grow."""
    text = Splicing(parts)
    for edit in reversed(edits):
        taken = text.take(edit.start, edit.stop)
        hunks = [part for part in taken.parts if isinstance(part, Hunk)]
        if allowed and not hunks:
            text.put([Same(edit.lines)])
        else:
            text.put(_written(taken, hunks, edit.lines, agent))
    return text.pieces()


def _written(taken: Taken, hunks: Sequence[Hunk], new: Lines, agent: AgentCall) -> list[Piece]:
    lines = (*taken.above, *(Line(text, agent) for text in new), *taken.below)
    hunk = merged(hunks, tuple(_base(taken)), lines).by(agent)
    return ended_or_trimmed(hunk, hunk, "ended")


def _base(taken: Taken) -> Iterator[str]:
    """Base of the whole; the user's own lines that go are in it from now on, below the base lines of their hunk."""
    last = len(taken.parts) - 1
    for n, part in enumerate(taken.parts):
        if isinstance(part, Same):
            yield from part.lines
            continue
        yield from part.base
        start, stop = taken.head if n == 0 else 0, len(part.lines) - (taken.tail if n == last else 0)
        yield from (line.text for line in part.lines[start:stop] if line.own)
