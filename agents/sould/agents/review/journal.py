"""The ledger's file: one JSON line per event, appended. An intent is on disk before the write it announces begins.

A torn last line is cut off at open; a damaged line before it is skipped and counted. Blocks: use it in a thread.
"""

import fcntl
import os
import threading
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    n: int


class Intent(_Event):
    """Write number `n` is about to begin: both texts are in the blob store. None: there was no file, there will be none."""

    type: Literal["intent"] = "intent"
    path: str
    before: str | None
    after: str | None
    session_id: str
    turn_id: str
    call_id: str
    timestamp: float


class Settled(_Event):
    """Write `n` is in the file, or is not. Without this event nobody knows yet."""

    type: Literal["settled"] = "settled"
    written: bool


Event: TypeAlias = Annotated[Intent | Settled, Field(discriminator="type")]
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class LedgerFile:
    """The open file; `events` is what it held. One holder at a time (flock)."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._lock = threading.Lock()
        self.damaged = 0
        """Lines that could not be read."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.events = self._recover()
        except OSError:
            os.close(self._fd)
            raise

    def append(self, event: Event, *, sync: bool) -> None:
        """Add one event; with `sync` it survives a power cut. Raises OSError with the file as it was."""
        line = event.model_dump_json().encode() + b"\n"
        with self._lock:
            end = os.fstat(self._fd).st_size
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
                if sync:
                    os.fsync(self._fd)
            except OSError:
                os.ftruncate(self._fd, end)
                raise

    def close(self) -> None:
        """Give the file up."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def _recover(self) -> list[Event]:
        with open(os.dup(self._fd), "rb") as file:
            file.seek(0)
            data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._fd, whole)
        events: list[Event] = []
        for line in data[:whole].splitlines():
            try:
                events.append(_EVENT.validate_json(line))
            except ValidationError:
                self.damaged += 1
        return events
