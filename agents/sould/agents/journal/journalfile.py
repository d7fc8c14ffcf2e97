"""A journal's file: what is in memory, what the system has, what is on disk, and what happens when the disk refuses.

All system calls on an open journal are here. The loop gives what it takes to the system before anybody is shown it
(`save`), which waits for no disk; the writer thread syncs, and repairs. A refused write is cut back and kept in memory.
After a failed sync nothing since the last good one is trusted: it is cut off, the rest is read back from the disk, and
what followed is written anew.
"""

import contextlib
import errno
import logging
import os
from pathlib import Path
from threading import Lock

from sould.agents.base.errors import JournalFullError, why_refused
from sould.agents.journal.records import Scan

logger = logging.getLogger(__name__)


class JournalFile:
    """The append-only file behind a descriptor, `end` bytes of which are good."""

    def __init__(self, path: Path, descriptor: int, end: int) -> None:
        self.path = path
        self.error: JournalFullError | None = None
        """Why the journal is read-only, while it is."""
        self._descriptor = descriptor
        self._end = end
        self._synced = end
        self._unsynced = bytearray()
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._lock = Lock()
        self._owed = False
        """A whole line is written and not synced; an open one is never synced for its own sake."""
        self._suspect = False
        self._linked = False

    # --- the loop's side ---

    def add(self, data: bytes) -> int:
        """Take a line or a part of one; it is written at the next `save` or `flush`. How many bytes wait for that."""
        with self._lock:
            self._waiting.append(data)
            self._waiting_size += len(data)
            return self._waiting_size

    def save(self) -> bool:
        """Give the system what waits: it survives this process. True when the writer thread has work by it."""
        with self._lock:
            if self.error or not self._waiting:
                return False
            try:
                return self._write()
            except OSError as error:
                self._refuse(error)
                return True

    def snapshot(self) -> tuple[int, bytes]:
        """How far the file is good, and what follows but is not in it yet."""
        with self._lock:
            return self._end, b"".join(self._waiting)

    # --- the writer thread's side ---

    @property
    def dirty(self) -> bool:
        """Something is to be written or synced."""
        return bool(self._waiting) or self._owed

    def flush(self, *, sync: bool) -> None:
        """Write what waits; with `sync`, return when it is on disk. A failure is in `error` afterwards, never raised."""
        try:
            if self.error:
                self._repair()
            with self._lock:
                self._write()
        except OSError as error:
            with self._lock:
                self._refuse(error)
            return
        try:
            if sync and self._synced != self._end:
                self._sync()
        except OSError as error:
            with self._lock:
                self._distrust()
                self._refuse(error)
            return
        if self.error:
            logger.info("journal %s accepts records again", self.path)
        self.error = None

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)

    def _write(self) -> bool:
        """Whether a line was ended."""
        if not self._waiting:
            return False
        data = b"".join(self._waiting)
        written = os.write(self._descriptor, data)
        while written < len(data):
            written += os.write(self._descriptor, memoryview(data)[written:])
        self._waiting.clear()
        self._waiting_size = 0
        self._unsynced += data
        self._end += written
        ended = b"\n" in data
        self._owed = self._owed or ended
        return ended

    def _sync(self) -> None:
        end = self._end  # the loop may write on
        os.fdatasync(self._descriptor)
        if not self._linked:
            # once: a new file is only safe when its name is, in the session's directory and that in its parent; a link may lead there
            kept = Path(os.path.realpath(self.path.parent))
            for directory in {kept, kept.parent, self.path.parent.parent}:
                _sync_directory(directory)
            self._linked = True
        with self._lock:
            del self._unsynced[: end - self._synced]
            self._synced = end
            self._owed = b"\n" in self._unsynced

    def _refuse(self, error: OSError) -> None:
        with contextlib.suppress(OSError):  # tried again before the next write
            os.ftruncate(self._descriptor, self._end)
        if self.error is None:
            logger.warning("journal %s is read-only: %s", self.path, error.strerror)
        self.error = JournalFullError(
            f"This session is read-only because {why_refused(error)}. What is not saved yet is kept in memory and tried again."
        )

    def _distrust(self) -> None:
        self._waiting.insert(0, bytes(self._unsynced))
        self._waiting_size += len(self._unsynced)
        self._unsynced.clear()
        self._end = self._synced
        self._suspect = True

    def _repair(self) -> None:
        os.ftruncate(self._descriptor, self._end)
        if not self._suspect:
            return
        os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        with self.path.open("rb") as source:
            scan = Scan(source)
            for _ in scan:
                pass
        if scan.good_end != self._end:
            raise OSError(errno.EIO, "the journal on disk is not what was written; open the session again")
        self._suspect = False


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
