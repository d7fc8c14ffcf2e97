"""The editor's byte stream, counted by messages: the next daemon must complete one that was cut off (D11). Knows no protocol."""

from collections import deque
from collections.abc import Callable

from sould.agents.base.rpc.stream import ByteStream


class CountedStream:
    """A `ByteStream` over another one. Each `write` is one message."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._sizes: deque[int] = deque()
        """Of the messages that may not have left, oldest first."""

    @property
    def buffered(self) -> int:
        """See `ByteStream`."""
        return self._stream.buffered

    @property
    def owed(self) -> int:
        """So many bytes are missing of the message of which the editor has the beginning; 0: it has only whole ones."""
        left = self._stream.buffered
        for size in reversed(self._sizes):
            if left < size:
                return left
            left -= size
        return 0

    async def read(self) -> bytes:
        """See `ByteStream`."""
        return await self._stream.read()

    def write(self, data: bytes) -> None:
        """See `ByteStream`."""
        if not self._stream.buffered:
            self._sizes.clear()
        self._sizes.append(len(data))
        self._stream.write(data)

    async def drained(self) -> None:
        """See `ByteStream`."""
        await self._stream.drained()

    def on_drain(self, callback: Callable[[], None]) -> None:
        """See `ByteStream`."""
        self._stream.on_drain(callback)

    async def aclose(self) -> None:
        """See `ByteStream`."""
        await self._stream.aclose()
