"""What editors make of a write while they save it (format on save, trimmed blanks): that belongs to the write. Pure, but for the clock.

An editor that reports its buffers says afterwards that it saved: until then, and for `WAIT` seconds at most, it is waited for.
"""

import time
from typing import Final

from msgspec import Struct, field

from sould.agents.files.edits.editlog import Captured

WAIT: Final = 2.0


class _Write(Struct, frozen=True):
    draft: Captured
    until: float
    saved: bool = False


class ExpectedSaves(Struct):
    """Of the files of one project that clients have open."""

    _writes: dict[str, _Write] = field(default_factory=dict[str, _Write])

    def wrote(self, draft: Captured) -> None:
        """An editor saves a write now; `draft` is the change that this may make of it, its `after` still to be filled in."""
        self._writes[draft.path] = _Write(draft, time.monotonic() + WAIT)

    def saved(self, path: str) -> None:
        """A client reports that it saved the file."""
        write = self._writes.pop(path, None)
        if write is not None and not write.saved and time.monotonic() < write.until:
            self._writes[path] = _Write(write.draft, write.until, saved=True)

    def reported(self, path: str) -> bool:
        """Whether a save was, which nobody took yet."""
        return path in self._writes and self._writes[path].saved

    def left(self, path: str) -> float:
        """So many seconds such a report is still waited for."""
        write = self._writes.get(path)
        return max(0.0, write.until - time.monotonic()) if write is not None and not write.saved else 0.0

    def take(self, path: str) -> Captured | None:
        """The write whose save was reported since it was asked for last: what the file holds now is that write's."""
        return self._writes.pop(path).draft if self.reported(path) else None
