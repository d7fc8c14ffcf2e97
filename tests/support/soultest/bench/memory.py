"""A pair of byte streams in memory, joined like two pipes of the kernel's: bounded, ordered, with ends that can vanish."""

import asyncio
from collections import deque
from collections.abc import Callable

PIPE = 64 * 1024


class MemoryStream:
    """One end; a ByteStream of `sould.agents.base.rpc.framing`."""

    def __init__(self, pipe: int = PIPE) -> None:
        self._pipe = pipe
        self._inbox: deque[bytes] = deque()
        self._inbox_size = 0
        self._outbox: deque[bytes] = deque()
        self.buffered = 0
        self._arrived = asyncio.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._ended = False
        self._closed = False
        self.peer: MemoryStream = self

    async def read(self) -> bytes:
        """The next bytes; b"" at the end."""
        while not self._inbox:
            if self._ended or self._closed:
                return b""
            self._arrived.clear()
            self.peer.flush()
            if not self._inbox:
                await self._arrived.wait()
        data = self._inbox.popleft()
        self._inbox_size -= len(data)
        self.peer.flush()
        return data

    def write(self, data: bytes) -> None:
        """Send, as far as the pipe takes it; the rest is buffered."""
        if self._closed or self.peer.closed or not data:
            return
        self._outbox.append(data)
        self.buffered += len(data)
        self.flush()

    def flush(self) -> None:
        """Move what the pipe takes."""
        while self._outbox and self.peer.room > 0:
            data = self._outbox.popleft()
            piece, rest = data[: self.peer.room], data[self.peer.room :]
            if rest:
                self._outbox.appendleft(rest)
            self.buffered -= len(piece)
            self.peer.take(piece)
        if self.buffered == 0:
            self._drain()

    async def drained(self) -> None:
        """Return when nothing is buffered."""
        if self.buffered:
            done = asyncio.get_running_loop().create_future()
            self.on_drain(lambda: None if done.done() else done.set_result(None))
            await done

    def on_drain(self, callback: Callable[[], None]) -> None:
        """Call once when nothing is buffered."""
        if self.buffered == 0:
            asyncio.get_running_loop().call_soon(callback)
        else:
            self._callbacks.append(callback)

    async def aclose(self) -> None:
        """Close both directions; what the other end has not read stays readable there."""
        self.vanish()

    def vanish(self) -> None:
        """Close at once, as a killed process does."""
        if self._closed:
            return
        self._closed = True
        self.end()
        self._arrived.set()
        self._discard()
        self.peer.gone()

    def end(self) -> None:
        """Close the writing side only: the other end reads what was sent, then b""."""
        self.flush()
        self.peer.finish()

    # --- called by the other end ---

    @property
    def closed(self) -> bool:
        """This end is closed."""
        return self._closed

    @property
    def room(self) -> int:
        """Bytes the pipe to this end still takes."""
        return 0 if self._closed else self._pipe - self._inbox_size

    def take(self, data: bytes) -> None:
        """Bytes arrive."""
        self._inbox.append(data)
        self._inbox_size += len(data)
        self._arrived.set()

    def finish(self) -> None:
        """No more bytes will arrive."""
        self._ended = True
        self._arrived.set()

    def gone(self) -> None:
        """The other end is closed: nothing can be sent any more."""
        self._discard()

    def _discard(self) -> None:
        self._outbox.clear()
        self.buffered = 0
        self._drain()

    def _drain(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            asyncio.get_running_loop().call_soon(callback)


def stream_pair(pipe: int = PIPE) -> tuple[MemoryStream, MemoryStream]:
    """Two joined ends; `pipe` bytes fit into each direction."""
    one, two = MemoryStream(pipe), MemoryStream(pipe)
    one.peer, two.peer = two, one
    return one, two
