"""Connections to MCP servers as they are: what the library would refuse as a whole costs only the part that is wrong.

The library refuses a list of tools for one definition that is not as it should be, and a result whose structured part is not
as the tool's output schema says, with the text that tells why. Both are read more leniently here, whatever the transport.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self, Unpack, cast

import httpx2
import mcp_types
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse
from pydantic import ValidationError

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of an answer, or of one event of a stream."""
MOST: Final = {"tools": 256} | dict.fromkeys(
    ("content", "contents", "messages", "prompts", "resources", "resourceTemplates"), 2000
)
"""Entries of the lists in a server's messages."""
logger = logging.getLogger(__name__)


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


class LenientTransport(ClientTransport):
    """Another transport, whose messages are mended before the library judges them."""

    def __init__(self, inner: ClientTransport) -> None:
        self._inner = inner
        self.legacy_only = inner.legacy_only

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession]:
        """See `ClientTransport`."""
        options = replace(transport_options or TransportOptions(), session_class=LenientSession)
        async with self._inner.connect_session(transport_options=options, **session_kwargs) as session:
            yield session

    async def close(self) -> None:
        """See `ClientTransport`."""
        await self._inner.close()

    def get_session_id(self) -> str | None:
        """See `ClientTransport`."""
        return self._inner.get_session_id()


class LenientSession(ClientSession):
    """A session over a stream that mends what it hears."""

    def __init__(self, read_stream: Any, write_stream: Any, **more: Unpack[SessionKwargs]) -> None:
        super().__init__(_Mended(read_stream), write_stream, **more)

    async def validate_tool_result(self, name: str, result: mcp_types.CallToolResult) -> None:
        """A result is what its tool says, also where that is not what its output schema promised."""


class _Mended:
    """The messages of a stream, their lists bounded and their tools sound."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @property
    def last_context(self) -> object:
        """Where the last message was sent from, which the library asks of streams that know it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return _mended(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return _mended(await anext(self._inner))

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(exc_type, exc_val, exc_tb)


def _mended(heard: SessionMessage | Exception) -> SessionMessage | Exception:
    if isinstance(heard, SessionMessage) and isinstance(heard.message, JSONRPCResponse | JSONRPCNotification):
        cut_lists(vars(heard.message))
        result: object = getattr(heard.message, "result", None)
        tools = cast("dict[str, Any]", result).get("tools") if isinstance(result, dict) else None
        if isinstance(tools, list):
            tools[:] = [tool for raw in cast("list[Any]", tools) if (tool := sound_tool(raw)) is not None]
    return heard


def sound_tool(raw: object) -> dict[str, Any] | None:
    """A definition that the library takes; None where it has no name, or is beyond mending."""
    if not isinstance(raw, dict):
        return None
    given = cast("dict[str, Any]", raw)
    # what a result has to be is not checked here, and a schema of it that is odd costs the whole list
    made = {key: value for key, value in given.items() if key != "outputSchema"}
    made["inputSchema"] = _schema(given.get("inputSchema"))
    needed = {key: made[key] for key in ("name", "description", "inputSchema") if key in made}
    bare = {key: needed[key] for key in ("name", "inputSchema") if key in needed}
    sound = next(filter(_is_sound, (made, needed, bare)), None)
    if sound is None:
        logger.info("a tool was left out, because its definition cannot be used: %.200r", given)
    return sound


def _is_sound(tool: dict[str, Any]) -> bool:
    try:
        mcp_types.Tool.model_validate(tool, by_name=False)
    except ValidationError:
        return False
    return True


def _schema(schema: object) -> dict[str, Any]:
    """An object. What stands among the properties and is no schema is none."""
    made = dict(cast("dict[str, Any]", schema)) if isinstance(schema, dict) else {}
    made["type"] = "object"
    properties = made.get("properties")
    named = cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}
    made["properties"] = {name: value for name, value in named.items() if isinstance(value, dict | bool)}
    if not isinstance(made.get("required"), list):
        made.pop("required", None)
    return made
