"""A guarded process as a language server: its standard streams as the byte stream of a JSON-RPC connection, and what it takes.

What the process does not read is kept up to the limit of whoever writes; what it says is read as fast as it is taken. Nothing
is started or ended here. What a process takes is read from /proc; elsewhere nothing is known.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from sould.agents.base.process.guard import GuardedProcess

MOST: Final = 1000
"""Processes of one tree that are looked at."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
Drained: TypeAlias = Callable[[], None]
"""Told that nothing is to be written any more. Must not block."""


class ProcessStream:
    """A `ByteStream`. `pump` runs as long as something is to be written."""

    def __init__(self, process: GuardedProcess) -> None:
        self._process = process
        self._output = process.output()
        self._unsent = bytearray()
        self._sending = 0
        self._work = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._drained: list[Drained] = []
        self._closed = False
        self.ended = False
        """The process says nothing any more."""

    @property
    def buffered(self) -> int:
        """See `ByteStream`."""
        return len(self._unsent) + self._sending

    async def read(self) -> bytes:
        """See `ByteStream`."""
        data = await anext(self._output, b"")
        self.ended = not data
        return data

    def write(self, data: bytes) -> None:
        """See `ByteStream`."""
        if not self._closed:
            self._unsent += data
            self._empty.clear()
            self._work.set()

    async def drained(self) -> None:
        """See `ByteStream`."""
        await self._empty.wait()

    def on_drain(self, callback: Drained) -> None:
        """See `ByteStream`."""
        if self._empty.is_set():
            asyncio.get_running_loop().call_soon(callback)
        else:
            self._drained.append(callback)

    async def aclose(self) -> None:
        """See `ByteStream`; the process is ended by its owner."""
        self._stop()
        await self._output.aclose()

    async def pump(self) -> None:
        """Hand over what is written, until the process listens no more or this is cancelled."""
        try:
            while not self._closed:
                await self._work.wait()
                self._work.clear()
                while self._unsent:
                    data, self._unsent = bytes(self._unsent), bytearray()
                    self._sending = len(data)
                    await self._process.send(data)
                    self._sending = 0
                self._tell_drained()
        except OSError:  # it has ended, or closed its input
            self._stop()

    def _stop(self) -> None:
        self._closed = True
        self._unsent.clear()
        self._sending = 0
        self._work.set()
        self._tell_drained()

    def _tell_drained(self) -> None:
        self._empty.set()
        waiting, self._drained = self._drained, []
        for callback in waiting:
            callback()


class Footprint(Struct, frozen=True):
    """`memory`: resident bytes; `seconds`: of a processor."""

    memory: int = 0
    seconds: float = 0.0


def footprint(pid: int) -> Footprint:
    """Of a process and its descendants; of what has ended, or cannot be looked at, nothing."""
    pending, seen = [pid], set[int]()
    memory = ticks = 0
    while pending and len(seen) < MOST:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        try:
            fields = Path(f"/proc/{each}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
            pages = Path(f"/proc/{each}/statm").read_text("ascii").split()[1]
            tasks = os.listdir(f"/proc/{each}/task")
            children = [Path(f"/proc/{each}/task/{task}/children").read_text("ascii") for task in tasks]
            ticks += int(fields[11]) + int(fields[12])
            memory += int(pages) * _PAGE
        except (OSError, ValueError, IndexError):  # it has ended, or this is no Linux
            continue
        pending += [int(child) for line in children for child in line.split()]
    return Footprint(memory, ticks / _TICKS)
