"""What clients say of the files they have open: which are, which hold unsaved text, which was looked at last.

A client that says nothing has no entry; for it, others know when it may be asked (`clientfiles`). Pure, but for the clock.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.base.workspace import TextFiles
from sould.agents.files.directories.tree import file_clock

Said: TypeAlias = Literal["nothing", "this", "other"]
"""What clients said of a file that changed on disk: nothing that matters, that it holds this, or that it holds something else."""

MOST_WRITTEN = 1000
"""Files."""


class _Open(Struct):
    """A file in one client."""

    dirty: bool = False
    text: str | None = None
    """What it holds, when the client says so."""


class _Written(Struct, frozen=True):
    """When somebody typed in a file or saved it last; `at` in monotonic seconds, `typed` by the clock of files."""

    at: float
    typed: int
    saved_at: float
    saved: str
    """The digest of what was saved then; "" where the client did not say its text."""


class Buffers(Struct):
    """Of one project, by client. Paths are resolved."""

    _clients: dict[str, dict[Path, _Open]] = field(default_factory=dict[str, dict[Path, _Open]])
    """The client that was focused last is the last one."""
    _workspaces: dict[str, TextFiles] = field(default_factory=dict[str, TextFiles])
    _names: dict[str, str] = field(default_factory=dict[str, str])
    _written: dict[Path, _Written] = field(default_factory=dict[Path, _Written])
    """The file that somebody typed in or saved last is the last one."""

    def opened(self, client_id: str, path: Path) -> None:
        """The client has the file open, as it is on disk."""
        self._clients.setdefault(client_id, {})[path] = _Open()

    def changed(self, client_id: str, path: Path, text: str | None = None) -> None:
        """Its text is not what the disk holds; `text`: it is this."""
        self._clients.setdefault(client_id, {})[path] = _Open(dirty=True, text=text)
        self._note_written(path)

    def saved(self, client_id: str, path: Path, text: str | None = None) -> str | None:
        """Its text is what the disk holds: `text`, else what the client said last; None: it did not say."""
        before = self._clients.get(client_id, {}).get(path)
        if text is None and before is not None:
            text = before.text
        self.opened(client_id, path)
        self._note_written(path, digest_of(text.encode()) if text is not None else "")
        return text

    def saved_since(self, path: Path, digest: str, since: float) -> bool:
        """Whether a client reported that it saved this since then (monotonic seconds)."""
        written = self._written.get(path)
        return written is not None and written.saved == digest and written.saved_at >= since

    def _note_written(self, path: Path, saved: str | None = None) -> None:
        """`saved`: the digest of what was, None where nothing was."""
        known, at = self._written.pop(path, None), time.monotonic()
        if saved is not None or known is None:
            self._written[path] = _Written(at, file_clock(), at, saved or "")
        else:
            self._written[path] = replace(known, at=at, typed=file_clock())
        if len(self._written) > MOST_WRITTEN:
            del self._written[next(iter(self._written))]

    def closed(self, client_id: str, path: Path) -> None:
        """The client has the file open no more."""
        self._clients.get(client_id, {}).pop(path, None)

    def focused(self, client_id: str) -> None:
        """The user looks at this client."""
        self._clients[client_id] = self._clients.pop(client_id, {})

    def serve(self, client_id: str, workspace: TextFiles | None, name: str = "") -> None:
        """The client reads and writes the files it has open through this, None: it does not. `name` is what people call it."""
        if workspace is not None:
            self._workspaces[client_id] = workspace
        self._names[client_id] = name

    def unsaved_of(self, client_id: str) -> Sequence[Path]:
        """The files of which the client holds unsaved text."""
        return [path for path, buffer in self._clients.get(client_id, {}).items() if buffer.dirty]

    def unsaved_in(self, path: Path) -> tuple[str, ...]:
        """The names of the clients that hold unsaved text of a file."""
        holders = [each for each in self.holders(path) if self._clients[each][path].dirty]
        return tuple(filter(None, (self._names.get(each, "") for each in holders)))

    def workspace(self, client_id: str) -> TextFiles | None:
        """Through what the client does, when it said."""
        return self._workspaces.get(client_id)

    def left_by(self, client_id: str, path: Path) -> tuple[str, str] | None:
        """What this client holds unsaved of a file, and what people call it; None: it did not say its text."""
        buffer = self._clients.get(client_id, {}).get(path)
        text = buffer.text if buffer is not None and buffer.dirty else None
        return (text, self._names.get(client_id) or "an editor") if text is not None else None

    def text(self, path: Path) -> str | None:
        """What a client holds unsaved of a file, when it says so; of several, the one that was focused last."""
        holders = self.holders(path)
        buffer = self._clients[holders[0]][path] if holders else None
        return buffer.text if buffer is not None and buffer.dirty else None

    def left(self, client_id: str, root: Path) -> None:
        """The client has nothing below this directory open any more."""
        kept = {path: each for path, each in self._clients.get(client_id, {}).items() if not path.is_relative_to(root)}
        if kept:
            self._clients[client_id] = kept
        else:
            self._clients.pop(client_id, None)
            self._workspaces.pop(client_id, None)
            self._names.pop(client_id, None)

    def holders(self, path: Path) -> tuple[str, ...]:
        """The clients that have the file open: those with unsaved text first, and among them the most recently focused first."""
        having = [client_id for client_id, files in reversed(self._clients.items()) if path in files]
        return tuple(sorted(having, key=lambda client_id: not self._clients[client_id][path].dirty))

    def opened_files(self) -> set[Path]:
        """The files that some client has open."""
        return {path for files in self._clients.values() for path in files}

    def said(self, path: Path, digest: str | None, changed_at: int, since: float) -> Said:
        """What clients said of a file that holds this on disk, which is of the time `changed_at` by the clock of files.

        `this`: one saved it since then (monotonic seconds), or had it before the disk. A text that follows the disk is that of an
        editor that loaded the file again, and says nothing.
        """
        if digest is not None and self.saved_since(path, digest, since):
            return "this"
        written = self._written.get(path)
        text = self.text(path)
        if written is not None and text is not None and digest_of(text.encode()) == digest:
            return "this" if written.typed < changed_at else "nothing" if written.typed > changed_at else "other"
        is_dirty = any(self._clients[each][path].dirty for each in self.holders(path))
        return "other" if is_dirty or (written is not None and written.at >= since) else "nothing"

    def unsaved(self) -> set[Path]:
        """The files that some client holds unsaved text of."""
        return {path for files in self._clients.values() for path, buffer in files.items() if buffer.dirty}
