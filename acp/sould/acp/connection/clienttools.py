"""Tools that an ACP client runs for the agent: the request `_sould/tools/call` for every call of one.

A call belongs to the connection and not to a view of the session, so that a client that opens a session again in the
middle of a call is not asked twice. What the client answers is judged by the session.
"""

import asyncio
import logging
from collections.abc import Collection

import orjson

from sould.acp.outbound import Json
from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.sessions.port import SessionPort
from sould.agents.toolapi.base import tool_error
from sould.agents.wire.messages import ToolCallRequest

logger = logging.getLogger(__name__)

LONGEST_ERROR = 2000
"""Characters of a client's error that the model reads."""


class ClientTools:
    """The calls that one client works on."""

    def __init__(self, connection: Connection, client_id: str) -> None:
        self._connection = connection
        self._client_id = client_id
        self._open: dict[str, tuple[str, asyncio.Task[None]]] = {}
        """The session and the request of each, by the call's id."""

    def offer(self, session: SessionPort, request: ToolCallRequest) -> None:
        """Have the client make a call, when the tool is its own and it does not do so already."""
        if request.client_id != self._client_id or request.id in self._open:
            return
        task = self._connection.spawn(self._call(session, request), f"tool call {request.id}")
        self._open[request.id] = session.id, task
        task.add_done_callback(lambda _: self._open.pop(request.id, None))

    def close(self, call_id: str) -> None:
        """Nobody waits for this call any more (`$/cancel_request`)."""
        if (found := self._open.pop(call_id, None)) is not None:
            found[1].cancel()

    def keep(self, session_id: str, pending: Collection[str]) -> None:
        """Of a session's calls only these are still waited for."""
        for call_id, (of, _) in tuple(self._open.items()):
            if of == session_id and call_id not in pending:
                self.close(call_id)

    async def _call(self, session: SessionPort, request: ToolCallRequest) -> None:
        arguments = orjson.loads(request.arguments or "{}")
        params: Json = {"sessionId": session.id, "id": request.id, "name": request.name, "arguments": arguments}
        try:
            answer = await self._connection.request("_sould/tools/call", params)
        except ConnectionGoneError:
            return  # the session ends the call with the client
        except RpcError as error:
            answer = tool_error(
                f"The client reports: {error.message[:LONGEST_ERROR]}", brief="The client reports an error"
            )
        resolution = session.client_tools.answer(request.id, answer, self._client_id)
        if resolution.outcome != "accepted":
            logger.info("tool call %s: the answer came too late", request.id)
