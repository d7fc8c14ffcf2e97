"""What agents changed in a project, as a fold over the events of its edit log. Pure: no file, no clock, no editor."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.files.edits.editlog import (
    Captured,
    Commented,
    Decided,
    Event,
    Inherited,
    Intent,
    MadeSure,
    Noted,
    Rooted,
    Settled,
    UserChanged,
)

EditKey: TypeAlias = tuple[int, float, str]
"""What tells an edit from all others, those of other projects included."""


class LoggedEdit(Struct, frozen=True, array_like=True, gc=False):
    """One change, its contents by digest; None: there was nothing, or it was deleted.

    `settled` False: nobody knows yet if it happened. `captured`: found after a command. `shared`: others may have made it.
    `secret`: its contents were kept in memory only.
    """

    n: int
    before: str | None
    after: str | None
    session_id: str
    turn_id: str
    call_id: str
    timestamp: float
    settled: bool = False
    before_mode: int | None = None
    after_mode: int | None = None
    captured: bool = False
    shared: bool = False
    secret: bool = False
    order: int = 0
    """When it was made by this daemon, in the order of its edits; 0 of what was read from the log."""
    moved_from: str = ""
    """The file was at that path before."""
    in_place: bool = False
    """See `Intent`."""
    unsure: bool = False
    """Of a shared one: the user may have made it, while the call ran a command."""

    @property
    def key(self) -> EditKey:
        """See `EditKey`."""
        return self.n, self.timestamp, self.call_id


class KeptEdits(Struct, frozen=True, array_like=True):
    """All that an `EditState` knows: the paths that edits have, and each edit with which of them is its own."""

    written_at: str | None
    next_n: int
    paths: list[str]
    edits: list[tuple[int, LoggedEdit]]
    of_session: dict[str, list[int]]
    taken: list[tuple[str, int, int]]
    unsettled: list[int]
    roots: list[str] = []


class EditState:
    """The edits by file, in the order they were made. Paths of a project that was moved are those at its root now."""

    def __init__(self, root: Path | None = None, kept: KeptEdits | None = None) -> None:
        """`kept`: where to begin, see `kept`; the project may have been elsewhere then."""
        self.root = root
        self.written_at: Path | None = None
        """The root when the last event was written."""
        self.roots: list[Path] = []
        """All that it ever had."""
        self.next_n = 1
        self._edits: dict[int, tuple[Path, LoggedEdit]] = {}
        self._of_path: dict[Path, list[int]] = {}
        self._of_session: dict[str, list[int]] = {}
        self._taken: dict[tuple[str, int], int] = {}
        self._unsettled: set[int] = set()
        if kept is not None:
            self._begin_as(kept)

    def _begin_as(self, kept: KeptEdits) -> None:
        self.written_at = Path(kept.written_at) if kept.written_at is not None else None
        self.next_n = kept.next_n
        paths = [self._at_root(Path(path)) for path in kept.paths]
        self._take({edit.n: (paths[index], self._edit_at_root(edit)) for index, edit in kept.edits})
        self.roots = [Path(root) for root in kept.roots]
        self._of_session = kept.of_session
        self._taken = {(session_id, number): n for session_id, number, n in kept.taken}
        self._unsettled = set(kept.unsettled)

    def kept(self) -> KeptEdits:
        """To be kept; changes no more with this one."""
        indices: dict[Path, int] = {}
        edits = [(indices.setdefault(path, len(indices)), edit) for path, edit in self._edits.values()]
        return KeptEdits(
            str(self.written_at) if self.written_at is not None else None,
            self.next_n,
            [str(path) for path in indices],
            edits,
            {session_id: [*numbers] for session_id, numbers in self._of_session.items()},
            [(*key, n) for key, n in self._taken.items()],
            [*self._unsettled],
            [str(root) for root in self.roots],
        )

    def apply(self, event: Event, order: int = 0) -> None:
        """Take one event. A `Settled` without its `Intent` (a damaged line) changes nothing."""
        self.next_n = max(self.next_n, event.n + 1)
        match event:
            case Intent():
                path, edit = self._at_root(Path(event.path)), self._edit_at_root(_edit(event, order))
                earlier = self._of_path.setdefault(path, [])
                if earlier:
                    path, last = self._edits[earlier[-1]]
                    edit = _sharing(edit, last)
                self._edits[event.n] = (path, edit)
                earlier.append(event.n)
                self._of_session.setdefault(event.session_id, []).append(event.n)
                if not isinstance(event, Captured):
                    self._unsettled.add(event.n)
                if event.taken_from is not None:
                    self._taken[event.session_id, event.taken_from] = event.n
            case Settled(written=False):
                if event.n in self._edits:
                    self._of_path[self._edits.pop(event.n)[0]].remove(event.n)
                self._unsettled.discard(event.n)
                self._taken = {each: n for each, n in self._taken.items() if n != event.n}
            case Settled():
                self._unsettled.discard(event.n)
                if event.n in self._edits:
                    path, edit = self._edits[event.n]
                    self._edits[event.n] = (path, replace(edit, settled=True))
            case MadeSure():
                self._make_sure(event)
            case Inherited():
                own = self._of_session.setdefault(event.session_id, [])
                own[:] = sorted({*own, *event.numbers})
            case Rooted():
                self.written_at = Path(event.root)
                self.roots.append(self.written_at)
            case _:
                pass  # of the review

    def _make_sure(self, event: MadeSure) -> None:
        call = (event.turn_id, event.call_id)
        for n in self._of_session.get(event.session_id, ()):
            path, edit = self._edits.get(n, (Path(), None))
            if edit is not None and edit.unsure and (edit.turn_id, edit.call_id) == call:
                self._edits[n] = (path, replace(edit, shared=False, unsure=False))

    def unsure_of(self, session_id: str, turn_id: str, call_id: str) -> bool:
        """Whether something that a call may have done may be the user's."""
        edits = (self._edits[n][1] for n in self._of_session.get(session_id, ()) if n in self._edits)
        return any(edit.unsure and (edit.turn_id, edit.call_id) == (turn_id, call_id) for edit in edits)

    def _take(self, edits: dict[int, tuple[Path, LoggedEdit]]) -> None:
        """These are all, in order."""
        self._edits = edits
        self._of_path = {}
        for n, (path, _) in edits.items():
            self._of_path.setdefault(path, []).append(n)

    def _edit_at_root(self, edit: LoggedEdit) -> LoggedEdit:
        if self.root is None or self.written_at is None:
            return edit
        return _edit_moved(edit, self.written_at, self.root)

    def note_moved(self, event: Captured) -> None:
        """By now it is known whether an edit moved the file."""
        if event.moved_from and event.n in self._edits:
            path, edit = self._edits[event.n]
            self._edits[event.n] = (path, replace(edit, moved_from=event.moved_from))

    def located(self, event: Event) -> Event:
        """The event with its paths at the root as it is now."""
        if self.root is None or self.written_at in (None, self.root):
            return event
        match event:
            case Captured(moved_from=before) if before:
                return replace(event, path=self._now(event.path), moved_from=self._now(before))
            case UserChanged(whole="moved"):
                return replace(event, path=self._now(event.path), content=self._now(event.content))
            case Intent() | UserChanged() | Decided() | Noted() | Commented():
                return replace(event, path=self._now(event.path))
            case _:
                return event

    def _now(self, path: str) -> str:
        return str(self._at_root(Path(path)))

    def _at_root(self, path: Path) -> Path:
        """Where a file is now that was there when the last event was written."""
        if self.root is None or self.written_at is None:
            return path
        return _moved(path, self.written_at, self.root)

    def move_to(self, root: Path) -> None:
        """The root is there from now on; so are the files of all edits below it."""
        before, self.root, self.written_at = self.root, root, root
        self.roots.append(root)
        if before is not None:
            moved = {n: (_moved(path, before, root), edit) for n, (path, edit) in self._edits.items()}
            self._take({n: (path, _edit_moved(edit, before, root)) for n, (path, edit) in moved.items()})

    def edits(self, session_id: str | None = None) -> Mapping[Path, Sequence[LoggedEdit]]:
        """Every edit by resolved path, in the order they were made; those of one session, when it is named."""
        numbers = self._edits if session_id is None else self._of_session.get(session_id, ())
        by_path: dict[Path, list[LoggedEdit]] = {}
        for path, edit in (self._edits[n] for n in numbers if n in self._edits):
            by_path.setdefault(path, []).append(edit)
        return by_path

    def edits_of(self, path: Path) -> list[LoggedEdit]:
        """Every edit of one file, in the order they were made."""
        return [self._edits[n][1] for n in self._of_path.get(path, ())]

    def numbers_needed(self, sessions: Iterable[str]) -> set[int]:
        """The edits of these sessions."""
        return {n for session_id in sessions for n in self._of_session.get(session_id, ())}

    def keep_only(self, numbers: Collection[int]) -> None:
        """Forget all edits but these."""
        self._take({n: each for n, each in self._edits.items() if n in numbers})
        left = {session_id: [n for n in own if n in numbers] for session_id, own in self._of_session.items()}
        self._of_session = {session_id: own for session_id, own in left.items() if own}
        self._taken = {key: n for key, n in self._taken.items() if n in numbers}

    def numbers(self, session_id: str) -> Sequence[int]:
        """Those of a session's edits."""
        return self._of_session.get(session_id, ())

    def taken(self, event: Intent) -> int | None:
        """The number that an edit of a session's own log has here, when it was taken over."""
        return self._taken.get((event.session_id, event.n))

    def is_secret(self, digest: str) -> bool:
        """Whether a content was kept in memory only."""
        return any(edit.secret and digest in (edit.before, edit.after) for _, edit in self._edits.values())

    def unsettled(self) -> list[tuple[Path, LoggedEdit]]:
        """Edits of which nobody knows yet if they happened."""
        return [self._edits[n] for n in sorted(self._unsettled)]


def _moved(path: Path, before: Path, now: Path) -> Path:
    return now / path.relative_to(before) if path.is_relative_to(before) else path


def _edit_moved(edit: LoggedEdit, before: Path, now: Path) -> LoggedEdit:
    if not edit.moved_from or before == now:
        return edit
    return replace(edit, moved_from=str(_moved(Path(edit.moved_from), before, now)))


def _sharing(edit: LoggedEdit, last: LoggedEdit) -> LoggedEdit:
    """The same, and what it has in common with the one before it is in memory once: there are thousands."""
    return replace(
        edit,
        before=last.after if edit.before == last.after else edit.before,
        session_id=last.session_id if edit.session_id == last.session_id else edit.session_id,
        turn_id=last.turn_id if edit.turn_id == last.turn_id else edit.turn_id,
    )


def _edit(event: Intent, order: int) -> LoggedEdit:
    captured = isinstance(event, Captured)
    return LoggedEdit(
        event.n,
        event.before,
        event.after,
        event.session_id,
        event.turn_id,
        event.call_id,
        event.timestamp,
        settled=captured,
        before_mode=event.before_mode,
        after_mode=event.after_mode,
        captured=captured,
        shared=isinstance(event, Captured) and event.shared,
        unsure=isinstance(event, Captured) and event.unsure,
        secret=event.secret,
        moved_from=event.moved_from if isinstance(event, Captured) else "",
        order=order,
        in_place=event.in_place,
    )
