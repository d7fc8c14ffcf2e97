"""What agents changed in a project, as a fold over the events of its edit log. Pure: no file, no clock, no editor."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.projects.editlog import Captured, Event, Inherited, Intent, Rooted, Settled

EditKey: TypeAlias = tuple[int, float, str]
"""What tells an edit from all others, those of other projects included."""


class Edit(Struct, frozen=True):
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

    @property
    def key(self) -> EditKey:
        """See `EditKey`."""
        return self.n, self.timestamp, self.call_id


class FileChange(Struct, frozen=True):
    """What the agent did to one file: `base` is the text before its first edit, `current` its last (None: no file).

    Where an edit's `before` is not the `after` of the one above it, somebody else wrote in between.
    """

    path: Path
    base: str | None
    current: str | None
    edits: tuple[Edit, ...]


class EditState:
    """The edits by file, in the order they were made. Paths of a project that was moved are those at its root now."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root
        self.written_at: Path | None = None
        """The root when the last event was written."""
        self.next_n = 1
        self._edits: dict[int, tuple[Path, Edit]] = {}
        self._of_session: dict[str, list[int]] = {}
        self._taken: dict[tuple[str, int], int] = {}
        self._unsettled: set[int] = set()

    def apply(self, event: Event, order: int = 0) -> None:
        """Take one event. A `Settled` without its `Intent` (a damaged line) changes nothing."""
        self.next_n = max(self.next_n, event.n + 1)
        match event:
            case Intent():
                self._edits[event.n] = (self._path(event), _edit(event, order))
                self._of_session.setdefault(event.session_id, []).append(event.n)
                if not isinstance(event, Captured):
                    self._unsettled.add(event.n)
                if event.taken_from is not None:
                    self._taken[event.session_id, event.taken_from] = event.n
            case Settled(written=False):
                self._edits.pop(event.n, None)
                self._unsettled.discard(event.n)
                self._taken = {each: n for each, n in self._taken.items() if n != event.n}
            case Settled():
                self._unsettled.discard(event.n)
                if event.n in self._edits:
                    path, edit = self._edits[event.n]
                    self._edits[event.n] = (path, replace(edit, settled=True))
            case Inherited():
                own = self._of_session.setdefault(event.session_id, [])
                own[:] = sorted({*own, *event.numbers})
            case Rooted():
                self.written_at = Path(event.root)

    def _path(self, event: Intent) -> Path:
        path = Path(event.path)
        if self.root is None or self.written_at is None:
            return path
        return _moved(path, self.written_at, self.root)

    def move_to(self, root: Path) -> None:
        """The root is there from now on; so are the files of all edits below it."""
        before, self.root, self.written_at = self.root, root, root
        if before is not None:
            self._edits = {n: (_moved(path, before, root), edit) for n, (path, edit) in self._edits.items()}

    def edits(self, session_id: str | None = None) -> Mapping[Path, Sequence[Edit]]:
        """Every edit by resolved path, in the order they were made; those of one session, when it is named."""
        numbers = self._edits if session_id is None else self._of_session.get(session_id, ())
        by_path: dict[Path, list[Edit]] = {}
        for path, edit in (self._edits[n] for n in numbers if n in self._edits):
            by_path.setdefault(path, []).append(edit)
        return by_path

    def numbers(self, session_id: str) -> Sequence[int]:
        """Those of a session's edits."""
        return self._of_session.get(session_id, ())

    def taken(self, event: Intent) -> int | None:
        """The number that an edit of a session's own log has here, when it was taken over."""
        return self._taken.get((event.session_id, event.n))

    def is_secret(self, digest: str) -> bool:
        """Whether a content was kept in memory only."""
        return any(edit.secret and digest in (edit.before, edit.after) for _, edit in self._edits.values())

    def unsettled(self) -> list[tuple[Path, Edit]]:
        """Edits of which nobody knows yet if they happened."""
        return [self._edits[n] for n in sorted(self._unsettled)]


def changes_of(edits: Mapping[Path, Sequence[Edit]]) -> Mapping[Path, FileChange]:
    """The files that are not as they were, by resolved path."""
    changes = (FileChange(path, each[0].before, each[-1].after, tuple(each)) for path, each in edits.items())
    return {change.path: change for change in changes if change.base != change.current}


def _moved(path: Path, before: Path, now: Path) -> Path:
    return now / path.relative_to(before) if path.is_relative_to(before) else path


def _edit(event: Intent, order: int) -> Edit:
    captured = isinstance(event, Captured)
    return Edit(
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
        secret=event.secret,
        order=order,
    )
