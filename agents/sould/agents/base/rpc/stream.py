"""What a connection needs of a transport, and nothing more.

Implemented over descriptors by the daemon and over memory by the tests. A stream knows bytes; it never splits, joins
or looks at messages.
"""

from collections.abc import Callable
from typing import Protocol


class ByteStream(Protocol):
    """An ordered byte stream in both directions."""

    @property
    def buffered(self) -> int:
        """Bytes given to `write` that the other side has not taken yet; 0 once it is gone."""
        ...

    async def read(self) -> bytes:
        """The next bytes, at least one; b"" at the end of the stream or when the other side is gone."""
        ...

    def write(self, data: bytes) -> None:
        """Send `data` after everything written before; buffers, never blocks, drops when the other side is gone."""
        ...

    async def drained(self) -> None:
        """Return when nothing is buffered or the other side is gone."""
        ...

    def on_drain(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, from the loop, when nothing is buffered or the other side is gone."""
        ...

    async def aclose(self) -> None:
        """Close both directions. Idempotent."""
        ...
