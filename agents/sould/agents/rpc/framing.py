"""Lines out of bytes: newline-delimited messages, bounded, without ever keeping what is too long.

Sans-IO: bytes go in, lines come out; nothing here parses JSON (but for finding the id of a discarded message) or
answers anybody.
"""

import re
from collections.abc import Iterable, Iterator

import orjson
from msgspec import Struct

MAX_LINE = 50_000_000
HEAD = 4096
"""How much of a line that is too long is kept, to find its id."""

_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n\v\f"


class TooLong(Struct, frozen=True):
    """A line that was discarded as it arrived: its size, and its request id if that was within the first bytes."""

    size: int
    id: int | str | None = None


class LineSplitter:
    """Feed it bytes, take lines: without line end, byte order mark or surrounding blanks; blank lines are skipped."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        """Bytes of the line so far, kept or not. Beyond the limit only the first `HEAD` bytes are kept."""

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        """The lines that `data` completes. To be exhausted before the next call."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start:end])
            yield from self._take()
            start = end + 1
        if start < len(data):
            self._keep(data[start:])

    def finish(self) -> Iterator[bytes | TooLong]:
        """At the end of the stream: the last line, if it lacked its line end."""
        yield from self._take()

    def _keep(self, piece: bytes) -> None:
        discarding = self._size > self._limit
        self._size += len(piece)
        if discarding:
            return
        self._pieces.append(piece)
        if self._size > self._limit:
            self._pieces = [head_of(self._pieces)]

    def _take(self) -> Iterator[bytes | TooLong]:
        pieces, size = self._pieces, self._size
        self._pieces, self._size = [], 0
        line = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if size > self._limit:
            yield TooLong(size, find_id(line))
            return
        line = line.removeprefix(_BOM).strip(_BLANK)
        if line:
            yield line


def head_of(pieces: Iterable[bytes]) -> bytes:
    """The first `HEAD` bytes of a line in pieces, without joining all of them."""
    head = b""
    for piece in pieces:
        head += piece[: HEAD - len(head)]
        if len(head) == HEAD:
            break
    return head


_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+|"', re.DOTALL)


def find_id(head: bytes) -> int | str | None:
    """The `id` member of the object that `head` begins, if it lies within `head`."""
    depth = 0
    previous: tuple[bytes, ...] = ()
    for match in _TOKEN.finditer(head):
        token = match[0]
        if token == b'"':  # a string that `head` cuts
            return None
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
        elif depth == 1 and previous[-2:] == (b'"id"', b":") and match.end() < len(head):
            return _scalar(token)
        previous = (*previous[-1:], token)
    return None


def _scalar(token: bytes) -> int | str | None:
    try:
        value = orjson.loads(token)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None
