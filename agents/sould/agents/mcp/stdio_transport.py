"""The MCP transport over a process of the guard: one JSON message a line, its complaints kept apart.

The library's own stdio transport starts processes itself, which would outlive a killed daemon; this one is given a
process that the guard owns and that its supervisor ends. What is no message is no error: servers print banners.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final, Unpack, cast

import anyio
import orjson
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from sould.agents.base.process.guard import GuardedProcess

LONGEST_LINE: Final = 8 * 1024 * 1024
LOGGED: Final = "notifications/message"


class ProcessTransport(ClientTransport):
    """One connection over one process; when it ends, `ended` is set and `reason` may say why."""

    legacy_only = True

    def __init__(self, process: GuardedProcess, ended: asyncio.Event) -> None:
        self._process = process
        self.ended = ended
        self.reason = ""
        self.noise: list[str] = []
        """The first and the last line that was no message: servers print banners, and complain on their standard output."""

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession]:
        """See `ClientTransport`."""
        options = transport_options or TransportOptions()
        heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, heard)
            tasks.start_soon(self._write, said, heard)
            try:
                async with options.session_class(incoming, outgoing, **session_kwargs) as session:
                    yield session
            finally:
                tasks.cancel_scope.cancel()
                for stream in (heard, incoming, outgoing, said):
                    stream.close()

    async def _read(self, heard: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        try:
            async with heard, aclosing(self._lines()) as lines:
                async for line in lines:
                    try:
                        message = _parsed(line)
                    except ValidationError:
                        self._note(line)
                        continue
                    if message is not None:
                        await heard.send(SessionMessage(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        finally:
            self.ended.set()

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        kept = bytearray()
        async with aclosing(self._process.output()) as output:
            async for chunk in output:
                start = 0
                while (end := chunk.find(b"\n", start)) >= 0:
                    kept += chunk[start:end]
                    start = end + 1
                    if kept.strip():
                        yield bytes(kept)
                    kept.clear()
                kept += chunk[start:]
                if len(kept) > LONGEST_LINE:
                    self.reason = f"it sent a line of more than {LONGEST_LINE // 1024**2} MiB"
                    return

    async def _write(
        self,
        said: MemoryObjectReceiveStream[SessionMessage],
        heard: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        try:
            async with said:
                async for message in said:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._process.send(text.encode() + b"\n")
        except (OSError, anyio.ClosedResourceError):
            heard.close()  # nothing more can be asked, so nobody is to wait for an answer
            self.ended.set()

    def _note(self, line: bytes) -> None:
        self.noise[1:] = [line[:300].decode(errors="replace").strip()]


def _parsed(line: bytes) -> JSONRPCMessage | None:
    """The message of a line; None for what a server logs, which nobody here reads: a flood of it must cost little.

    Raises:
        ValidationError: it is no message.
    """
    try:
        found: object = orjson.loads(line)
    except orjson.JSONDecodeError:  # the library takes more than the standard allows, and servers send more
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    if isinstance(found, dict):
        members = cast("dict[str, Any]", found)
        if members.get("method") == LOGGED and "id" not in members:
            return None
    return jsonrpc_message_adapter.validate_python(found, by_name=False)
