"""The writing side of `wire.jsonl`: append in memory, write and sync in one thread for the whole daemon.

`append` never touches the disk; `commit` is a promise that everything appended is on it. Deltas are coalesced: a
streaming message is one record when it is finished, and until then at most 250 ms or 4 KiB of it are only in memory
(D21). Nothing already written is ever rewritten in place.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sould.agents.wire.records import Damage, JournalRecord, Recovery, read_records
from sould.agents.wire.stream import Record

__all__ = ["Damage", "Journal", "JournalRecord", "JournalWriter", "Recovery", "read_records"]


class JournalWriter:
    """The daemon's writer thread: group commit for all journals. Starts with its first journal."""

    def __init__(
        self, *, retry_interval: float = 5.0, partial_interval: float = 0.25, partial_bytes: int = 4096
    ) -> None:
        """Seconds between attempts on a disk that refuses, and how much of a streaming message may be in memory only."""

    def close(self) -> None:
        """Write and sync what is left, end the thread. Blocks; call it off the loop, after the journals are closed."""
        raise NotImplementedError


class Journal:
    """One session's journal; its lock is held from `open` to `aclose`."""

    recovered: Recovery

    @classmethod
    def create(cls, path: Path, writer: JournalWriter, metadata: Mapping[str, Any]) -> "Journal":
        """A new file whose first line is Wire's metadata with ours added.

        Raises:
            FileExistsError: there is one already.
        """
        raise NotImplementedError

    @classmethod
    def open(cls, path: Path, writer: JournalWriter) -> "Journal":
        """Lock, check, set a torn tail aside, finish a message that was cut. Reads the whole file: call it off the loop.

        Raises:
            SessionOpenElsewhereError: another process holds it.
            SouldError: it cannot be read or locked.
        """
        raise NotImplementedError

    def append(self, record: Record) -> None:
        """Take a durable record; O(1), no system call. Call it in the loop that publishes."""
        raise NotImplementedError

    async def commit(self) -> None:
        """Return when everything appended is on disk.

        Raises:
            JournalFullError: the disk refuses; the session is read-only. What was appended is kept and tried again.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Finish the open message, commit, give up the lock. Idempotent."""
        raise NotImplementedError
