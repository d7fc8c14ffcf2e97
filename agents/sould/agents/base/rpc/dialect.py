"""How JSON-RPC is spoken on a stream: what separates messages, and how a request is withdrawn. No state."""

from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, TypeAlias

import orjson
from msgspec import Struct

from sould.agents.base.rpc.framing import HeaderSplitter, LineSplitter, Malformed, TooLong, header_of


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
    """`withdraw` is the notification that withdraws a request, named by `withdrawn`."""

    splitter: NewSplitter
    encode: Encode
    withdraw: str
    withdrawn: str


def _as_line(message: dict[str, Any]) -> bytes:
    return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)


def _behind_header(message: dict[str, Any]) -> bytes:
    body = orjson.dumps(message)
    return header_of(len(body)) + body


LINES: Final = Dialect(LineSplitter, _as_line, "$/cancel_request", "requestId")
"""A message is a line, as in ACP."""
HEADERS: Final = Dialect(HeaderSplitter, _behind_header, "$/cancelRequest", "id")
"""As in the language server protocol."""
