"""MCP servers that a client serves over this connection (`type: "acp"`): their requests and what comes back.

Carries messages and understands none of them. A server belongs to the connection that declared it and ends with it.
"""

import asyncio
from typing import Any

from sould.acp.outbound import Json
from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.soul.mcp_over_client import CarrierError, Heard

METHOD = "mcp/message"
SERVER_UNAVAILABLE = -33001
"""The binding's code for a server that is not registered (any more)."""


class McpCarrier:
    """The `Carrier` of one connection. `notified` is told every `mcp/message` notification of the client."""

    def __init__(self, client_id: str, connection: Connection) -> None:
        self._id = client_id
        self._connection = connection
        self._gone = asyncio.Event()
        self._active: dict[tuple[str, str], Heard] = {}

    @property
    def id(self) -> str:
        """See `Carrier`."""
        return self._id

    @property
    def gone(self) -> asyncio.Event:
        """See `Carrier`."""
        return self._gone

    def end(self) -> None:
        """The client is gone."""
        self._gone.set()

    async def ask(self, server_id: str, request_id: str, method: str, params: Json | None, heard: Heard) -> Json:
        """See `Carrier`."""
        key = (server_id, request_id)
        envelope: Json = {"serverId": server_id, "requestId": request_id, "method": method}
        if params is not None:
            envelope["params"] = params
        self._active[key] = heard
        try:
            outcome: Any = await self._connection.request(METHOD, envelope)
        except ConnectionGoneError as error:
            raise CarrierError("The editor that serves it disconnected.", for_good=True) from error
        except RpcError as error:
            gone = error.code == SERVER_UNAVAILABLE
            raise CarrierError(f"The editor says: {error.message[:300]}", for_good=gone) from error
        finally:
            self._active.pop(key, None)
        if not isinstance(outcome, dict):
            raise CarrierError("The editor answered with something that is not an object.", for_good=False)
        return outcome  # pyright: ignore[reportUnknownVariableType] -- JSON

    def notified(self, server_id: str, request_id: str, method: str, params: Json | None) -> None:
        """What a server says about a request; about one that is answered it is dropped."""
        heard = self._active.get((server_id, request_id))
        if heard is not None:
            heard(method, params)
