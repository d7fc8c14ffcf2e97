"""What the agent changed, as a fold over the ledger's events. Pure: no file, no clock, no editor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sould.agents.projects.journal import Captured, Event, Intent, Settled

DIRECTORY: Final = "directory"
"""In place of a digest: a directory."""
UNKEPT: Final = "unkept"
"""In place of a digest: a content that was not saved."""


@dataclass(frozen=True, slots=True)
class Edit:
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


@dataclass(frozen=True, slots=True)
class FileChange:
    """What the agent did to one file: `base` is the text before its first edit, `current` its last (None: no file).

    Where an edit's `before` is not the `after` of the one above it, somebody else wrote in between.
    """

    path: Path
    base: str | None
    current: str | None
    edits: tuple[Edit, ...]


@dataclass(slots=True)
class LedgerState:
    """The edits by file, in the order they were made."""

    _edits: dict[int, tuple[Path, Edit]] = field(default_factory=dict[int, tuple[Path, Edit]])
    next_n: int = 1

    def apply(self, event: Event) -> None:
        """Take one event. A `Settled` without its `Intent` (a damaged line) changes nothing."""
        self.next_n = max(self.next_n, event.n + 1)
        match event:
            case Intent():
                self._edits[event.n] = (Path(event.path), _edit(event))
            case Settled(written=False):
                self._edits.pop(event.n, None)
            case Settled():
                if event.n in self._edits:
                    path, edit = self._edits[event.n]
                    self._edits[event.n] = (path, replace(edit, settled=True))

    @property
    def edits(self) -> Mapping[Path, Sequence[Edit]]:
        """Every edit by resolved path, in the order they were made."""
        return self.since(0)

    def since(self, n: int) -> Mapping[Path, Sequence[Edit]]:
        """The edits from number `n` on, by resolved path."""
        by_path: dict[Path, list[Edit]] = {}
        for path, edit in self._edits.values():
            if edit.n >= n:
                by_path.setdefault(path, []).append(edit)
        return by_path

    def is_secret(self, digest: str) -> bool:
        """Whether a content was kept in memory only."""
        return any(edit.secret and digest in (edit.before, edit.after) for _, edit in self._edits.values())

    @property
    def changes(self) -> Mapping[Path, FileChange]:
        """The files that are not as they were, by resolved path."""
        changes = (
            FileChange(path, edits[0].before, edits[-1].after, tuple(edits)) for path, edits in self.edits.items()
        )
        return {change.path: change for change in changes if change.base != change.current}

    def unsettled(self, path: Path | None = None) -> list[tuple[Path, Edit]]:
        """Edits of which nobody knows yet if they happened, of one file or of all."""
        return [(at, edit) for at, edit in self._edits.values() if not edit.settled and path in {None, at}]


def _edit(event: Intent) -> Edit:
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
    )
