"""What editors make of a write while they save it (format on save, trimmed blanks): that belongs to the write. Pure, but for the clock.

An editor that reports its buffers says afterwards that it saved: until then, and for `WAIT` seconds at most, it is waited for.
"""

import time
from typing import Final

from msgspec import Struct, field

from sould.agents.base.diskfile import digest_of
from sould.agents.files.edits.editlog import Captured

WAIT: Final = 2.0


class SavedWrite(Struct, frozen=True):
    """A write that an editor saved: `draft` is what this made of it, with `after` still to be filled in.

    `text` is what was saved, None where the editor does not say its texts; what it holds now may have more that was typed.
    """

    draft: Captured
    text: str | None = None


class _Write(Struct, frozen=True):
    draft: Captured
    until: float
    saved: SavedWrite | None = None


class ExpectedSaves(Struct):
    """Of the files of one project that clients have open."""

    _writes: dict[str, _Write] = field(default_factory=dict[str, _Write])

    def wrote(self, draft: Captured) -> None:
        """An editor saves a write now; `draft` is the change that this may make of it, its `after` still to be filled in."""
        self._writes[draft.path] = _Write(draft, time.monotonic() + WAIT)

    def saved(self, path: str, text: str | None) -> None:
        """A client reports that it saved the file, with this text when it says so. A save of just what was written is the end of it."""
        write = self._writes.pop(path, None)
        if write is None or write.saved is not None or time.monotonic() >= write.until:
            return
        if text is None or digest_of(text.encode()) != write.draft.before:
            self._writes[path] = _Write(write.draft, write.until, SavedWrite(write.draft, text))

    def reported(self, path: str) -> bool:
        """Whether a save was, which nobody took yet."""
        return path in self._writes and self._writes[path].saved is not None

    def left(self, path: str) -> float:
        """So many seconds such a report is still waited for."""
        write = self._writes.get(path)
        return max(0.0, write.until - time.monotonic()) if write is not None and write.saved is None else 0.0

    def take(self, path: str) -> SavedWrite | None:
        """The write whose save was reported since it was asked for last: what was saved is that write's."""
        return self._writes.pop(path).saved if self.reported(path) else None
