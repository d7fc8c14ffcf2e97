"""The daemon's journals on their way to the disk: a write before each to a client, and one thread for what waits for a disk.

`save` gives the system what was added to any journal, before a client is shown it: so a killed daemon loses nothing that
was seen. What nobody is shown is saved in the same turn of the loop, text that streams after a moment. The thread syncs,
many journals at once; what arrives while it works is its next group. Bytes and files only, never what is in them.
"""

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, field

from sould.agents.base.errors import JournalFullError
from sould.agents.journal.journalfile import JournalFile

Waiter = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]
MOST_UNSAVED = 4096
"""Bytes of a streaming message that wait at most for the next write to a client, and"""
LONGEST_UNSAVED = 0.25
"""seconds."""
Job: TypeAlias = Callable[[], None]
"""Short, blocking, run once in the thread; it does not raise."""


class _Work(Struct, eq=False):
    """What the writer thread is asked to do with one file."""

    file: JournalFile
    sync: bool = False
    waiters: list[Waiter] = field(default_factory=list[Waiter])

    def sync_for(self, waiter: Waiter) -> None:
        """Sync it, too, and tell the waiter."""
        self.sync = True
        self.waiters.append(waiter)


class JournalWriter:
    """For all journals of one loop. The thread starts with its first work."""

    def __init__(self, *, retry_interval: float = 5.0, sync_delay: float = 0.25) -> None:
        """Seconds between attempts on a disk that refuses; seconds after which what nobody waits for is synced."""
        self._unsaved: dict[JournalFile, None] = {}
        self._save_planned = False
        self._timer: asyncio.TimerHandle | None = None
        self._sync_delay = sync_delay
        self._retry_interval = retry_interval
        self._condition = threading.Condition()
        self._work: dict[JournalFile, _Work] = {}
        self._jobs: deque[Job] = deque()
        self._due: dict[JournalFile, float] = {}
        self._closing = False
        self._thread: threading.Thread | None = None

    def note(self, file: JournalFile) -> None:
        """Something was added to `file`: it is saved in this turn of the loop. Call it in the loop."""
        self._unsaved[file] = None
        if not self._save_planned:
            self._save_planned = True
            asyncio.get_running_loop().call_soon(self._save_now)

    def note_more(self, file: JournalFile, waiting: int) -> None:
        """A message that streams grew, so that `waiting` bytes are to be saved: soon when nobody is shown it before (D21)."""
        self._unsaved[file] = None
        if waiting >= MOST_UNSAVED:
            self.note(file)
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LONGEST_UNSAVED, self._save_late)

    def save(self) -> None:
        """Give the system all that was added to journals. Call it in the loop, before clients are written to; else cheap."""
        if self._unsaved:
            files, self._unsaved = self._unsaved, {}
            for file in files:
                if file.save():
                    self.wake(file)

    def _save_now(self) -> None:
        self._save_planned = False
        self.save()

    def _save_late(self) -> None:
        self._timer = None
        self.save()

    def wake(self, file: JournalFile, waiter: Waiter | None = None) -> None:
        """Have what was added to `file` written; with a waiter also synced, and the waiter told."""
        with self._condition:
            work = self._work.get(file)
            if work is None:
                work = self._work[file] = _Work(file)
            if waiter:
                work.sync_for(waiter)
            self._start()

    def post(self, job: Job) -> None:
        """Run a short blocking job in the thread, in order. It must not raise."""
        with self._condition:
            self._jobs.append(job)
            self._start()

    def forget(self, file: JournalFile) -> None:
        """No more attempts on this file; it is closed in the thread."""

        def close() -> None:
            self._due.pop(file, None)
            file.close()

        self.post(close)

    def close(self) -> None:
        """Do what is left, end the thread. Blocks; for the end of the process, after the logs are closed."""
        with self._condition:
            self._closing = True
            self._condition.notify()
        if self._thread:
            self._thread.join()

    def _start(self) -> None:
        if self._closing:
            raise RuntimeError("the journal writer is closed; close the logs first")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
            self._thread.start()
        self._condition.notify()

    def _run(self) -> None:
        while True:
            with self._condition:
                while not (self._work or self._jobs or self._closing or self._overdue()):
                    self._condition.wait(self._patience())
                if self._closing and not self._work and not self._jobs:
                    return
                work, self._work = self._work, {}
                jobs, self._jobs = self._jobs, deque()
            for item in work.values():
                item.file.flush(sync=item.sync)
                self._schedule(item.file)
            for job in jobs:
                job()
            for item in work.values():
                _tell(item)
            self._catch_up()

    def _schedule(self, file: JournalFile) -> None:
        """Come back to a file that is not synced: soon, or after a while when its disk refuses."""
        if not file.dirty:
            self._due.pop(file, None)
        elif file not in self._due:
            self._due[file] = time.monotonic() + (self._retry_interval if file.error else self._sync_delay)

    def _catch_up(self) -> None:
        for file in self._overdue():
            del self._due[file]
            file.flush(sync=True)
            self._schedule(file)

    def _overdue(self) -> list[JournalFile]:
        now = time.monotonic()
        return [file for file, due in self._due.items() if due <= now]

    def _patience(self) -> float | None:
        return max(0.0, min(self._due.values()) - time.monotonic()) if self._due else None


def _tell(work: _Work) -> None:
    for loop, future in work.waiters:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, future, work.file.error)


def _settle(future: "asyncio.Future[None]", error: JournalFullError | None) -> None:
    if future.done():
        return
    if error:
        future.set_exception(JournalFullError(error.message))
    else:
        future.set_result(None)
