"""What was read of a message that is not complete: it is handed to the next daemon, which must begin where that begins (D11)."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from sould.agents.base.rpc.framing import MAX_LINE, HeaderSplitter, head_of


class Tail(Protocol):
    """Of one stream. Told of all that is read."""

    def note(self, data: bytes) -> None:
        """Take what was read."""
        ...

    def whole(self) -> bytes:
        """What to hand over."""
        ...


NewTail: TypeAlias = Callable[[], Tail]
"""Makes one for a new stream."""


class LineTail:
    """The bytes after the last newline; of a line that is too long no more than shows the next reader that it is."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def note(self, data: bytes) -> None:
        """Take what was read. Keeps the same bytes the reader keeps, so that a long line is in memory once."""
        newline = data.rfind(b"\n")
        if newline >= 0:
            self._pieces, self._size = [], 0
            data = data[newline + 1 :]
        if self._size <= MAX_LINE:
            self._pieces.append(data)
            self._size += len(data)
            if self._size > MAX_LINE:
                self._pieces = [head_of(self._pieces)]

    def whole(self) -> bytes:
        """What to hand over."""
        known = b"".join(self._pieces)
        return known if self._size <= MAX_LINE else known.ljust(MAX_LINE + 1)


class FrameTail:
    """The bytes since the header of a message that has not come whole."""

    def __init__(self) -> None:
        self._splitter = HeaderSplitter()

    def note(self, data: bytes) -> None:
        """See `Tail`."""
        for _ in self._splitter.feed(data):
            pass

    def whole(self) -> bytes:
        """See `Tail`."""
        return self._splitter.rest
