"""What an MCP server may send at once: answers are read to a limit, however long they claim or turn out to be.

The library reads an answer whole before anybody sees it, so the limit stands where the bytes arrive; and it looks at
every entry of a list, for which a few megabytes of tiny ones take it many seconds, so lists are cut before that.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final, cast

import httpx2

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of an answer, or of one event of a stream."""


MOST: Final = {"tools": 256} | dict.fromkeys(
    ("content", "contents", "messages", "prompts", "resources", "resourceTemplates"), 2000
)
"""Entries of the lists in a server's messages."""


def cut_lists(message: dict[str, Any]) -> None:
    """Shorten the lists of a JSON-RPC message in place. The model is told where the parts of a result were cut."""
    for outer in ("result", "params"):
        fields = message.get(outer)
        if not isinstance(fields, dict):
            continue
        for name, most in MOST.items():
            found = cast("dict[str, Any]", fields).get(name)
            entries = cast("list[Any]", found) if isinstance(found, list) else []
            if len(entries) > most:
                more = len(entries) - most
                del entries[most:]
                if name == "content":
                    entries.append({"type": "text", "text": f"[... {more} further parts left out ...]"})


class TooMuchError(httpx2.ReadError):
    """A server sent more than any answer may have."""


def bound(response: httpx2.Response) -> None:
    """Read no more of it than the limit. A stream of events has no end, so there each event is counted."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TooMuchError("it compressed its answer, which it was not asked to")
    kind = response.headers.get("content-type", "")
    stream = response.stream
    if isinstance(stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(stream, events=kind.startswith("text/event-stream"))


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, *, events: bool) -> None:
        self._inner = inner
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._counted():
            yield chunk

    async def _counted(self) -> AsyncGenerator[bytes, None]:
        seen = 0
        async for chunk in self._inner:
            end = max(chunk.rfind(b"\n\n"), chunk.rfind(b"\r\n\r\n")) if self._events else -1
            seen = len(chunk) - end - 1 if end >= 0 else seen + len(chunk)
            if seen > LARGEST:
                raise TooMuchError(f"it sent more than {LARGEST // 1024**2} MiB at once")
            yield chunk

    async def aclose(self) -> None:
        """See `AsyncByteStream`."""
        await self._inner.aclose()
