"""The writes of agents to one file, each with the file as it was before and after it: the events of its log, folded once more.

What is live is folded elsewhere (`reviewed`); nothing here changes it. Pure: what files held is asked of `Contents`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.directories.refs import DIRECTORY
from sould.agents.files.edits.editlog import Captured, Decided, Event, Intent, Noted, Range, Settled, UserChanged
from sould.agents.files.edits.filefold import Contents, edits_of, ranges_between
from sould.agents.files.edits.reviewstate import ReviewState
from sould.agents.files.review.difference import LineEdit
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.lines import Lines
from sould.agents.files.review.text import ReviewedText


class PastWrite(Struct, frozen=True):
    """A write with what the review knew of the file then.

    `changed`: the lines it changed, in the text before with the line ends of the one after; None where one of them is no text.
    """

    call_id: str
    before: TrackedFile
    after: TrackedFile
    changed: tuple[Range, ...] | None
    takes_back: bool = False
    """It took edits back."""

    @property
    def edits(self) -> tuple[LineEdit, ...]:
        """What it changed, as lines."""
        return tuple(edits_of(self.changed or (), self.after.text.current))

    @property
    def calls(self) -> frozenset[str]:
        """All calls that had a part in what was to be reviewed after it, its own included."""
        return frozenset((self.call_id, *(call for each in self.after.text.hunks for call in each.hunk.calls)))

    @classmethod
    def of_texts(cls, path: Path, before: Lines | None, after: Lines | None, call_id: str) -> "PastWrite":
        """One of which only the texts are known; None: no file."""
        files = [
            TrackedFile(str(path), ReviewedText.of(text or (), 1), text is not None, text is not None)
            for text in (before, after)
        ]
        return cls(call_id, files[0], files[1], ranges_between(before or (), after or ()))


def past_writes(events: Sequence[Event], contents: Contents) -> dict[int, PastWrite]:
    """The writes among the events of one file, by number; those of which nothing can be had any more are left out."""
    state = ReviewState()
    announced: dict[int, Intent] = {}
    found: dict[int, PastWrite] = {}
    moves = {(event.moved_from, event.call_id) for event in events if isinstance(event, Captured)}
    for event in events:
        if isinstance(event, Intent) and not isinstance(event, Captured):
            announced[event.n] = event
        write = _write(event, announced)
        before = _before(state, write, contents) if write is not None else None
        state.apply(event, contents)
        if isinstance(event, Captured) and _is_left(event) and (event.path, event.call_id) not in moves:
            state.files.pop(event.path, None)
        if write is not None and before is not None:
            after = state.files.get(write.path)
            if after is not None:
                found[write.n] = PastWrite(write.call_id, before, after, write.changed, bool(write.becomes))
    return found


def at_path(event: Event, path: str, roots: Iterable[Path], root: Path) -> Event:
    """The event of a file that is at `path` now, in a project whose root was at `roots` before."""
    match event:
        case Intent() | UserChanged() | Decided() | Noted() if event.path != path:
            named = Path(event.path)
            found = (root / named.relative_to(each) for each in roots if named.is_relative_to(each))
            return replace(event, path=path) if Path(path) in found else event
        case _:
            return event


def _write(event: Event, announced: dict[int, Intent]) -> Intent | None:
    """The write that is known to have happened by the event."""
    match event:
        case Captured():
            return event if event.reviewed else None
        case Settled(written=True):
            intent = announced.pop(event.n, None)
            return intent if intent is not None and intent.reviewed else None
        case _:
            return None


def _is_left(event: Captured) -> bool:
    """Whether the file was moved to another path by it, whose event has what was to be reviewed."""
    return event.after is None and event.before != DIRECTORY and not event.reviewed


def _before(state: ReviewState, write: Intent, contents: Contents) -> TrackedFile | None:
    path = write.moved_from if isinstance(write, Captured) else ""
    return state.before(write, path or write.path, contents)
