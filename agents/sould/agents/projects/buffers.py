"""What clients say of the files they have open: which are, which hold unsaved text, which was looked at last.

A client that says nothing has no entry; for it, others know when it may be asked (`clientfiles`). Pure, but for the clock.
"""

import time
from pathlib import Path

from msgspec import Struct, field

MOST_WRITTEN = 1000
"""Files."""


class _Open(Struct):
    """A file in one client."""

    dirty: bool = False


class Buffers(Struct):
    """Of one project, by client. Paths are resolved."""

    _clients: dict[str, dict[Path, _Open]] = field(default_factory=dict[str, dict[Path, _Open]])
    """The client that was focused last is the last one."""
    _written: dict[Path, float] = field(default_factory=dict[Path, float])
    """When somebody typed in a file or saved it last, the newest last."""

    def opened(self, client_id: str, path: Path) -> None:
        """The client has the file open, as it is on disk."""
        self._clients.setdefault(client_id, {})[path] = _Open()

    def changed(self, client_id: str, path: Path) -> None:
        """Its text is not what the disk holds."""
        self._clients.setdefault(client_id, {})[path] = _Open(dirty=True)
        self._note_written(path)

    def saved(self, client_id: str, path: Path) -> None:
        """Its text is what the disk holds."""
        self.opened(client_id, path)
        self._note_written(path)

    def _note_written(self, path: Path) -> None:
        self._written.pop(path, None)
        self._written[path] = time.monotonic()
        if len(self._written) > MOST_WRITTEN:
            del self._written[next(iter(self._written))]

    def closed(self, client_id: str, path: Path) -> None:
        """The client has the file open no more."""
        self._clients.get(client_id, {}).pop(path, None)

    def focused(self, client_id: str) -> None:
        """The user looks at this client."""
        self._clients[client_id] = self._clients.pop(client_id, {})

    def left(self, client_id: str, root: Path) -> None:
        """The client has nothing below this directory open any more."""
        kept = {path: each for path, each in self._clients.get(client_id, {}).items() if not path.is_relative_to(root)}
        if kept:
            self._clients[client_id] = kept
        else:
            self._clients.pop(client_id, None)

    def holders(self, path: Path) -> tuple[str, ...]:
        """The clients that have the file open, the most recently focused first."""
        return tuple(client_id for client_id, files in reversed(self._clients.items()) if path in files)

    def opened_files(self) -> set[Path]:
        """The files that some client has open."""
        return {path for files in self._clients.values() for path in files}

    def written_since(self, moment: float) -> set[Path]:
        """The files that somebody typed in or saved since then (monotonic seconds)."""
        return {path for path, at in self._written.items() if at >= moment}

    def unsaved(self) -> set[Path]:
        """The files that some client holds unsaved text of."""
        return {path for files in self._clients.values() for path, buffer in files.items() if buffer.dirty}
