"""What the agent changed, as a fold over the ledger's events. Pure: no file, no clock, no editor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sould.agents.review.journal import Event, Intent, Settled


@dataclass(frozen=True, slots=True)
class Edit:
    """One write, its texts by digest; None: there was no file, or it was deleted.

    `settled` False: nobody knows yet if it happened.
    """

    n: int
    before: str | None
    after: str | None
    session_id: str
    turn_id: str
    call_id: str
    timestamp: float
    settled: bool = False


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
                edit = Edit(
                    event.n,
                    event.before,
                    event.after,
                    event.session_id,
                    event.turn_id,
                    event.call_id,
                    event.timestamp,
                )
                self._edits[event.n] = (Path(event.path), edit)
            case Settled(written=False):
                self._edits.pop(event.n, None)
            case Settled():
                self._settle(event.n)

    def _settle(self, n: int) -> None:
        if n in self._edits:
            path, edit = self._edits[n]
            settled = Edit(
                edit.n,
                edit.before,
                edit.after,
                edit.session_id,
                edit.turn_id,
                edit.call_id,
                edit.timestamp,
                settled=True,
            )
            self._edits[n] = (path, settled)

    @property
    def edits(self) -> Mapping[Path, Sequence[Edit]]:
        """Every edit by resolved path, in the order they were made."""
        by_path: dict[Path, list[Edit]] = {}
        for path, edit in self._edits.values():
            by_path.setdefault(path, []).append(edit)
        return by_path

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
