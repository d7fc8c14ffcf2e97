"""How JSON-RPC is spoken on a stream: lines, or each message behind a header that says its length; never keeping what is too long.

Sans-IO: bytes go in, messages come out; nothing here parses JSON (but for finding the id of a discarded message) or
answers anybody.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol, TypeAlias

import orjson
from msgspec import Struct

MAX_LINE = 50_000_000
HEAD = 4096
"""How much of a line that is too long is kept, to find its id."""
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n\v\f"


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


class TooLong(Struct, frozen=True):
    """A line that was discarded as it arrived: its size, and its request id if that was within the first bytes."""

    size: int
    id: int | str | None = None


class Malformed(Struct, frozen=True):
    """Bytes that are no message, with one sentence why; they were discarded."""

    reason: str


class LineSplitter:
    """Feed it bytes, take lines: without line end, byte order mark or surrounding blanks; blank lines are skipped."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        """Bytes of the line so far, kept or not. Beyond the limit only the first `HEAD` bytes are kept."""

    @property
    def is_too_long(self) -> bool:
        """The line so far is longer than one may be."""
        return self._size > self._limit

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


LONGEST_HEADER = 4096
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_NO_HEADER = Malformed("A message begins with a Content-Length header.")


class _Header:
    """A header was read."""


_HEADER = _Header()


class HeaderSplitter:
    """Feed it bytes, take messages that stand behind headers, as in the language server protocol.

    The first that is no header is the last that is taken: nothing tells where the next message would begin.
    """

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._bytes = bytearray()
        self._size = -1
        """Of the message whose header was read; -1: a header is to come."""
        self._discarded = 0
        """Bytes of a message that is too long which came and were not kept."""
        self._ended = False

    def feed(self, data: bytes) -> Iterator[bytes | TooLong | Malformed]:
        """The messages that `data` completes. To be exhausted before the next call."""
        if not self._ended:
            self._bytes += data
        while self._bytes:
            found = self._header() if self._size < 0 else self._body()
            if found is None:
                return
            if not isinstance(found, _Header):
                yield found

    def finish(self) -> Iterator[bytes | TooLong | Malformed]:
        """At the end of the stream: what is cut off is no message."""
        return iter(())

    @property
    def rest(self) -> bytes:
        """What was fed and not taken, for another splitter. What is too long is, as far as it came, its beginning only."""
        if self._size < 0:
            return bytes(self._bytes)
        return header_of(self._size - self._discarded) + bytes(self._bytes)

    def _header(self) -> "Malformed | _Header | None":
        """Read one; None: it has not come yet."""
        end = _HEADER_END.search(self._bytes, 0, LONGEST_HEADER)
        if end is None:
            if len(self._bytes) < LONGEST_HEADER and not self._bytes.lstrip().startswith((b"{", b"[")):
                return None
            return self._end()
        length = _LENGTH.search(self._bytes, 0, end.end())
        if length is None or int(length[1]) == 0:
            return self._end()
        self._size, self._discarded = int(length[1]), 0
        del self._bytes[: end.end()]
        return _HEADER

    def _end(self) -> Malformed:
        self._ended = True
        self._bytes.clear()
        return _NO_HEADER

    def _body(self) -> bytes | TooLong | None:
        missing = self._size - self._discarded - len(self._bytes)
        if self._size > self._limit and len(self._bytes) > HEAD:
            excess = min(len(self._bytes), self._size - self._discarded) - HEAD
            del self._bytes[HEAD : HEAD + excess]
            self._discarded += excess
        if missing > 0:
            return None
        kept = self._size - self._discarded
        body = bytes(self._bytes[:kept])
        del self._bytes[:kept]
        size, self._size = self._size, -1
        return body if size <= self._limit else TooLong(size, find_id(body))


def header_of(size: int) -> bytes:
    """What stands before a message of so many bytes."""
    return b"Content-Length: %d\r\n\r\n" % size


class Splitter(Protocol):
    """Takes messages out of the bytes of one stream."""

    def feed(self, data: bytes) -> Iterator[bytes | TooLong | Malformed]:
        """The messages that `data` completes. To be exhausted before the next call."""
        ...

    def finish(self) -> Iterator[bytes | TooLong | Malformed]:
        """At the end of the stream: what is left."""
        ...


NewSplitter: TypeAlias = Callable[[int], Splitter]
"""Makes a splitter for a new stream. `limit`: longer messages are discarded."""
Encode: TypeAlias = Callable[[dict[str, Any]], bytes]
"""Makes the bytes of a message, with what separates it from others."""


class Dialect(Struct, frozen=True):
    """`withdraw` is the notification that withdraws a request, named by `withdrawn`; "": requests are not withdrawn.

    `string_ids`: a request whose id is no string is refused, and an answer whose id is a number.
    """

    splitter: NewSplitter
    encode: Encode
    withdraw: str = ""
    withdrawn: str = ""
    string_ids: bool = False


def _as_line(message: dict[str, Any]) -> bytes:
    return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)


def _behind_header(message: dict[str, Any]) -> bytes:
    body = orjson.dumps(message)
    return header_of(len(body)) + body


LINES: Final = Dialect(LineSplitter, _as_line, "$/cancel_request", "requestId")
"""A message is a line, as in ACP."""
HEADERS: Final = Dialect(HeaderSplitter, _behind_header, "$/cancelRequest", "id")
"""As in the language server protocol."""
