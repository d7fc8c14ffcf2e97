"""The MCP transport over an editor's own connection: a request is a request there, with nothing in between.

Only the stateless protocol is spoken so (2026-07-28): there is no handshake, and what a server says on its own it says
while it works on a request of ours. Answers wait for their reader; what is said beside them is dropped when nobody
reads it, so that a flood costs no memory.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final, Unpack

import anyio
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
)
from pydantic import ValidationError

from sould.agents.soul.mcp_over_client import Carrier, CarrierError

MOST_UNREAD: Final = 256
"""Messages of servers that wait to be read."""
CANCELLED: Final = "notifications/cancelled"

Heard = MemoryObjectSendStream[SessionMessage | Exception]


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
        options = transport_options or TransportOptions()
        session_kwargs["log_level"] = None  # a server logs to us only when it is asked to
        heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](MOST_UNREAD)
        outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._carry, said, heard, tasks)
            tasks.start_soon(self._watch, heard)
            try:
                async with options.session_class(incoming, outgoing, **session_kwargs) as session:
                    yield session
            finally:
                tasks.cancel_scope.cancel()
                for stream in (heard, incoming, outgoing, said):
                    stream.close()

    async def _watch(self, heard: Heard) -> None:
        await self._carrier.gone.wait()
        self._end(heard)

    def _end(self, heard: Heard) -> None:
        heard.close()  # nothing more can be asked, so nobody is to wait for an answer
        self._ended.set()

    async def _carry(self, said: MemoryObjectReceiveStream[SessionMessage], heard: Heard, tasks: TaskGroup) -> None:
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
