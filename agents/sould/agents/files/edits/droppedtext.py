"""Texts of users that a reject dropped because they chose so (`replace`): in the log they stay. Pure."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from sould.agents.files.edits.editlog import Decided, Event, Settled, UserChanged
from sould.agents.files.review.difference import applied
from sould.agents.files.review.lines import Lines


class DroppedText(Struct, frozen=True):
    """What a user had written where a reject put back what agents had deleted. `n` is the decision's number."""

    n: int
    path: str
    text: str


def dropped_texts(path: str, events: Iterable[Event]) -> Iterator[DroppedText]:
    """Those of one file, by its events in order, oldest first. What the user wrote in it begins where they made it anew."""
    lines: Lines | None = None
    waiting: dict[int, Lines] = {}
    for event in events:
        match event:
            case UserChanged(whole="made"):
                lines = tuple(line for edit in event.edits for line in edit.lines)
            case UserChanged(whole="") if lines is not None:
                lines = applied(lines, event.edits)
            case UserChanged():
                lines = None
            case Decided(verdict="reject", choice="replace") if lines is not None:
                waiting[event.n] = lines
            case Settled(written=True) if event.n in waiting:
                yield DroppedText(event.n, path, "".join(waiting.pop(event.n)))
                lines = None
            case _:
                pass
