"""What editors make of a write while they save it (format on save, trimmed blanks): that belongs to the write. Pure, but for the clock.

An editor that reports its buffers says afterwards that it saved: until then, and for `WAIT` seconds at most, it is waited for.
"""

import time
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.files.edits.editlog import Captured

WAIT: Final = 2.0


class SavedWrite(Struct, frozen=True):
    """A write that an editor saves: `draft` is what this makes of it, with `after` still to be filled in.

    `text` is what was saved, None where the editor does not say its texts; what it holds now may have more that was typed.
    """

    draft: Captured
    until: float
    is_reported: bool = False
    text: str | None = None


class ExpectedSaves(Struct):
    """Of the files of one project that clients have open."""

    _writes: dict[str, SavedWrite] = field(default_factory=dict[str, SavedWrite])

    def wrote(self, draft: Captured) -> None:
        """An editor saves a write now; `draft` is the change that this may make of it, its `after` still to be filled in."""
        self._writes[draft.path] = SavedWrite(draft, time.monotonic() + WAIT)

    def saved(self, path: str, text: str | None) -> None:
        """A client reports that it saved the file, with this text when it says so. A save of just what was written is the end of it."""
        write = self._writes.pop(path, None)
        if write is None or write.is_reported or time.monotonic() >= write.until:
            return
        if text is None or digest_of(text.encode()) != write.draft.before:
            self._writes[path] = replace(write, is_reported=True, text=text)

    def reported(self, path: str) -> bool:
        """Whether a save was, which nobody took yet."""
        return path in self._writes and self._writes[path].is_reported

    def left(self, path: str) -> float:
        """So many seconds such a report is still waited for."""
        write = self._writes.get(path)
        return max(0.0, write.until - time.monotonic()) if write is not None and not write.is_reported else 0.0

    def take(self, path: str) -> SavedWrite | None:
        """The write whose save was reported since it was asked for last: what was saved is that write's."""
        return self._writes.pop(path) if self.reported(path) else None
