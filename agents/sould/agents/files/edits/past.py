"""What was changed in one project, and what its files held, by its log, folded once more. Nothing here changes anything."""

import asyncio
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.directories.nodes import is_link
from sould.agents.files.directories.refs import DIRECTORY, UNKEPT
from sould.agents.files.edits.blobs import BlobMissingError, BlobStore
from sould.agents.files.edits.editlog import (
    Captured,
    Decided,
    EditLogFile,
    Event,
    Intent,
    Noted,
    Range,
    Settled,
    UserChanged,
)
from sould.agents.files.edits.filefold import FileContents, edits_of, ranges_between
from sould.agents.files.edits.reviewed import ReviewedFiles
from sould.agents.files.edits.reviewstate import ReviewState
from sould.agents.files.edits.state import EditState, LoggedEdit
from sould.agents.files.edits.texts import Texts
from sould.agents.files.review.difference import LineEdit, applied
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


def past_writes(events: Sequence[Event], contents: FileContents) -> dict[int, PastWrite]:
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


def _before(state: ReviewState, write: Intent, contents: FileContents) -> TrackedFile | None:
    path = write.moved_from if isinstance(write, Captured) else ""
    return state.before(write, path or write.path, contents)


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


class ProjectPast:
    """Of one project: its edits, the log that they stand in, and the contents of files before and after them."""

    def __init__(self, root: Path, file: EditLogFile, store: BlobStore, state: EditState) -> None:
        self.root = root
        self.review = ReviewedFiles(store)
        self._file = file
        self._store = store
        self._state = state

    def edits(self, session_id: str | None = None) -> Mapping[Path, Sequence[LoggedEdit]]:
        """The edits of all sessions, or those that one made or inherited, by resolved path, oldest first."""
        return self._state.edits(session_id)

    def edits_since(self, session_id: str, mark: int) -> Mapping[Path, Sequence[LoggedEdit]]:
        """The edits that a session has made since `moment` gave the mark."""
        edits = self.edits(session_id).items()
        return {path: new for path, each in edits if (new := [edit for edit in each if edit.order >= mark])}

    def edits_of(self, path: Path) -> Sequence[LoggedEdit]:
        """Those of one file, oldest first."""
        return self._state.edits_of(path)

    def was_written_in_place(self, path: Path) -> bool:
        """Whether an agent wrote the file where it is, so that all its names changed."""
        return any(edit.in_place for edit in self.edits_of(path))

    def unsettled(self, path: Path) -> Sequence[LoggedEdit]:
        """Edits of a file of which nobody knows yet if they happened."""
        return [edit for at, edit in self._state.unsettled() if at == path]

    async def content(self, digest: str) -> bytes:
        """What a file held, nothing for a directory. Raises BlobMissingError."""
        if digest == DIRECTORY:
            return b""
        if digest == UNKEPT:
            raise BlobMissingError("what it held was not saved: it was too large, or there was no time to")
        try:
            return await asyncio.to_thread(self._store.get, digest)
        except BlobMissingError:
            if self._state.is_secret(digest):
                raise BlobMissingError("it held secrets, so what it was ended with the daemon that kept it") from None
            raise

    def made_above(self, path: Path) -> Collection[Path]:
        """The directories above a path that agents made."""
        return [folder for folder in path.parents if self.is_made_directory(folder)]

    def is_made_directory(self, path: Path) -> bool:
        """Whether agents made a directory there, where none was."""
        edits = self.edits_of(path)
        return bool(edits) and edits[-1].after == DIRECTORY and edits[0].before != DIRECTORY

    def history(self, path: Path) -> dict[int, PastWrite]:
        """The writes of agents to a file under review, by number, as far as they are known. Blocks."""
        events = self._file.read(self.review.places(str(path)))
        named = [at_path(event, str(path), self._state.roots, self.root) for event in events]
        return past_writes(named, Texts(self._store))

    async def dropped(self, path: str) -> Sequence[DroppedText]:
        """The user's texts that rejects dropped there, because they chose so."""
        events = await asyncio.to_thread(self._file.read, self.review.places(path))
        return [*dropped_texts(path, events)]

    def mode_before_deletion(self, path: Path) -> int | None:
        """The permissions of a file before it was deleted last, or a link took its place, when somebody looked."""
        gone = (each for each in reversed(self.edits_of(path)) if each.after is None or is_link(each.after_mode))
        mode = next((edit.before_mode for edit in gone if not is_link(edit.before_mode)), None)
        return stat.S_IMODE(mode) if mode is not None else None
