"""The standard streams of a guarded process as the byte stream of a JSON-RPC connection. Starts and ends nothing itself.

What the process does not read is kept up to the limit of whoever writes; what it says is read as fast as it is taken.
"""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from sould.agents.base.process.guard import GuardedProcess

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
