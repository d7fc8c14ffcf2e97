"""What setup wrote into an editor's configuration: the text before and after, so that exactly this can be taken back.

Kept with the daemon's state, for the user alone: configurations hold keys.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from sould.agents.base.privatefile import write_private
from sould.daemon.paths import Paths, ensure_private


class Record(Struct, frozen=True):
    """Of one editor. `before` None: there was no such file, and `made` are the directories that came with it."""

    file: str
    before: str | None
    after: str
    made: tuple[str, ...] = ()


class Records:
    """Those of one user."""

    def __init__(self, paths: Paths) -> None:
        self._folder = Path(paths.state, "setup")

    @contextmanager
    def locked(self) -> Generator[None]:
        """While this goes on no other `sould setup` changes anything."""
        ensure_private(str(self._folder.parent))
        ensure_private(str(self._folder))
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def of(self, editor: str) -> Record | None:
        """What was written for it; None where nothing was, or what there is cannot be read."""
        try:
            return msgspec.json.decode(self._path(editor).read_bytes(), type=Record)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def keep(self, editor: str, record: Record) -> None:
        """In place of what was kept before."""
        write_private(self._path(editor), msgspec.json.encode(record), durable=True)

    def forget(self, editor: str) -> None:
        """It was taken back."""
        self._path(editor).unlink(missing_ok=True)

    def _path(self, editor: str) -> Path:
        return self._folder / f"{editor}.json"
