"""The file of a project's edit log: one JSON line per event, appended. An intent is on disk before the write it announces begins.

A torn last line is cut off at open; a damaged line before it is skipped and counted. Blocks: use it in a thread.
"""

import os
import threading
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sould.agents.filelock import lock_after


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    n: int


class Intent(_Event):
    """Write number `n` is about to begin: both contents are in the blob store. None: there was nothing, there will be nothing.

    The modes are those of `lstat`, file type included; None where nobody looked. `secret`: the contents are in memory only.
    """

    type: Literal["intent"] = "intent"
    path: str
    before: str | None
    after: str | None
    before_mode: int | None = None
    after_mode: int | None = None
    session_id: str
    turn_id: str
    call_id: str
    timestamp: float
    secret: bool = False
    taken_from: int | None = None
    """Its number in the session's own log, where earlier versions kept it."""


class Captured(Intent):
    """A change that was found after a command, or another program that a call ran, had made it.

    `shared`: somebody else may have made it as well.
    """

    type: Literal["captured"] = "captured"  # pyright: ignore[reportIncompatibleVariableOverride] -- the discriminator
    shared: bool = False


class Settled(_Event):
    """Write `n` is in the file, or is not. Without this event nobody knows yet."""

    type: Literal["settled"] = "settled"
    written: bool


class Inherited(_Event):
    """A session goes on where another one was: these edits count as its own, too."""

    type: Literal["inherited"] = "inherited"
    session_id: str
    numbers: tuple[int, ...]


class Rooted(_Event):
    """From here on the project's root is this directory: it was moved, or the log begins."""

    type: Literal["rooted"] = "rooted"
    root: str


Event: TypeAlias = Annotated[Intent | Captured | Settled | Inherited | Rooted, Field(discriminator="type")]
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class EditLogFile:
    """The open file; `events` is what it held. One holder at a time (flock)."""

    def __init__(self, path: Path, holder: str = "") -> None:
        """`holder`: the pid of whoever held it last, "" when nobody knows."""
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._lock = threading.Lock()
        self.damaged = 0
        """Lines that could not be read."""
        try:
            lock_after(self._fd, holder)
            self.events = self._recover()
        except OSError:
            os.close(self._fd)
            raise

    def append(self, *events: Event, sync: bool) -> None:
        """Add events; with `sync` they survive a power cut. Raises OSError with the file as it was."""
        line = b"".join(event.model_dump_json().encode() + b"\n" for event in events)
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
        events, self.damaged = read_events(data[:whole])
        return events


def read_events(data: bytes) -> tuple[list[Event], int]:
    """The events of a log's whole lines, and how many lines could not be read."""
    events: list[Event] = []
    damaged = 0
    for line in data.splitlines():
        try:
            events.append(_EVENT.validate_json(line))
        except ValidationError:
            damaged += 1
    return events, damaged
