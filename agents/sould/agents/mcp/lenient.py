"""Connections to MCP servers as they are: what the library would refuse as a whole costs only the part that is wrong.

The library refuses a list of tools for one definition that is not as it should be, and a result whose structured part is not
as the tool's output schema says, with the text that tells why. Both are read more leniently here, whatever the transport.
"""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, Unpack, cast

import mcp_types
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse
from pydantic import ValidationError

from sould.agents.mcp.bounded import cut_lists

logger = logging.getLogger(__name__)


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
