"""The places in a context to go back to, and which of them undoing takes next. Pure; knows entries only as far as that."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Literal, TypeVar

from msgspec import Struct

from sould.agents.journal.entries import Said

EntryT = TypeVar("EntryT")


class ContextCheckpoint(Struct, frozen=True):
    """A place in the context to which `ContextReverted` can go back: before a turn, a slash command's, or a step."""

    id: int
    kind: Literal["turn", "command", "step"] = "step"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ContextCheckpoint) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


class Undoable(Struct, frozen=True):
    """What the user would undo next: the turn that began at the checkpoint, or the clearing that was asked for there."""

    checkpoint: int
    cleared: bool = False


def turns_in(entries: Iterable[object]) -> Iterator[int]:
    """Where turns began: prompts, and those commands at which the model then did something."""
    command: int | None = None
    for entry, following in pairwise((*entries, None)):
        match entry:
            case ContextCheckpoint(kind="turn"):
                command = None
                if isinstance(following, Said):
                    yield entry.id
            case ContextCheckpoint(kind="command"):
                command = entry.id
            case ContextCheckpoint() if command is not None:
                yield command
                command = None
            case _:
                pass


def older(entries: Sequence[EntryT], than: Sequence[object]) -> Sequence[EntryT]:
    """What of `entries` was there before the first checkpoint of `than`."""
    first = next((entry.id for entry in than if isinstance(entry, ContextCheckpoint)), None)
    if first is None:
        return entries
    return list(takewhile(lambda entry: not (isinstance(entry, ContextCheckpoint) and entry.id >= first), entries))


def newest(entries: Sequence[object]) -> int | None:
    """The last checkpoint."""
    return next((entry.id for entry in reversed(entries) if isinstance(entry, ContextCheckpoint)), None)
