"""The MCP transport over an editor's own connection: a request is a request there, with nothing in between.

Only the stateless protocol is spoken so (2026-07-28): there is no handshake, and what a server says on its own it says
while it works on a request of ours. Answers wait for their reader; what is said beside them is dropped when nobody
reads it, so that a flood costs no memory.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final, Unpack, cast

import anyio
import orjson
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from sould.agents.base.process.guard import GuardedProcess
from sould.agents.soul.mcp_over_client import Carrier, CarrierError

# The MCP transport over a process of the guard: one JSON message a line, its complaints kept apart.
# The library's own stdio transport starts processes itself, which would outlive a killed daemon; this one is given a
# process that the guard owns and that its supervisor ends. What is no message is no error: servers print banners.


LONGEST_LINE: Final = 8 * 1024 * 1024
LOGGED: Final = "notifications/message"

Heard = MemoryObjectSendStream[SessionMessage | Exception]
Said = MemoryObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def _session(
    begin: Callable[[TaskGroup, Heard, Said], None],
    unread: int,
    options: TransportOptions | None,
    session_kwargs: SessionKwargs,
) -> AsyncGenerator[ClientSession]:
    """A session over what `begin` starts: it sends what is `Said` and tells what is `Heard`, of which `unread` may wait."""
    heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](unread)
    outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        begin(tasks, heard, said)
        try:
            session_class = (options or TransportOptions()).session_class
            async with session_class(incoming, outgoing, **session_kwargs) as session:
                yield session
        finally:
            tasks.cancel_scope.cancel()
            for stream in (heard, incoming, outgoing, said):
                stream.close()


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
        async with _session(self._begin, 0, transport_options, session_kwargs) as session:
            yield session

    def _begin(self, tasks: TaskGroup, heard: Heard, said: Said) -> None:
        tasks.start_soon(self._read, heard)
        tasks.start_soon(self._write, said, heard)

    async def _read(self, heard: Heard) -> None:
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

    async def _write(self, said: Said, heard: Heard) -> None:
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


MOST_UNREAD: Final = 256
"""Messages of servers that wait to be read."""
CANCELLED: Final = "notifications/cancelled"


class CarriedTransport(ClientTransport):
    """One conversation with one server of an editor. `ended` is set when there can be none any more."""

    def __init__(self, carrier: Carrier, server_id: str, ended: asyncio.Event) -> None:
        self._carrier = carrier
        self._server_id = server_id
        self._ended = ended
        self._asked: dict[RequestId, anyio.CancelScope] = {}

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession]:
        """See `ClientTransport`."""
        session_kwargs["log_level"] = None  # a server logs to us only when it is asked to
        async with _session(self._begin, MOST_UNREAD, transport_options, session_kwargs) as session:
            yield session

    def _begin(self, tasks: TaskGroup, heard: Heard, said: Said) -> None:
        tasks.start_soon(self._carry, said, heard, tasks)
        tasks.start_soon(self._watch, heard)

    async def _watch(self, heard: Heard) -> None:
        await self._carrier.gone.wait()
        self._end(heard)

    def _end(self, heard: Heard) -> None:
        heard.close()  # nothing more can be asked, so nobody is to wait for an answer
        self._ended.set()

    async def _carry(self, said: Said, heard: Heard, tasks: TaskGroup) -> None:
        async with said:
            async for each in said:
                message = each.message
                if isinstance(message, JSONRPCRequest):
                    tasks.start_soon(self._ask, message, heard)
                elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED:
                    scope = self._asked.get((message.params or {}).get("requestId", ""))
                    if scope is not None:
                        scope.cancel()

    async def _ask(self, request: JSONRPCRequest, heard: Heard) -> None:
        def told(method: str, params: dict[str, Any] | None) -> None:
            notice = JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
            try:
                heard.send_nowait(SessionMessage(notice))
            except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # see the module's text

        with anyio.CancelScope() as scope:
            self._asked[request.id] = scope
            try:
                outcome = await self._carrier.ask(
                    self._server_id, str(request.id), request.method, request.params, told
                )
                answer = _answer(request.id, outcome)
            except CarrierError as error:
                if error.for_good:
                    self._end(heard)
                    return
                answer = _refusal(request.id, str(error))
            finally:
                del self._asked[request.id]
            try:
                await heard.send(SessionMessage(answer))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return


def _answer(request_id: RequestId, outcome: dict[str, Any]) -> JSONRPCMessage:
    """The inner outcome; `result` wins where a server gives both."""
    try:
        if "result" in outcome:
            return JSONRPCResponse(jsonrpc="2.0", id=request_id, result=outcome["result"])
        return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData.model_validate(outcome.get("error")))
    except ValidationError:
        return _refusal(request_id, "The editor's answer holds neither a result nor an error of MCP.")


def _refusal(request_id: RequestId, sentence: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=INTERNAL_ERROR, message=sentence))
