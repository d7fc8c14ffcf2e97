"""What an editor brings to a session: MCP servers and models; and messages to the servers that it serves itself.

Commands, environments and headers may hold secrets: they are never written down (D14). `handing` hands them to the next daemon.
"""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sould.acp.outbound import Json
from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.soul.mcp_over_client import CarrierError, Heard

if TYPE_CHECKING:
    from sould.agents.llm.given import GivenServer
    from sould.agents.soul.session_request import McpServer, SessionRequest

METHOD = "mcp/message"
SERVER_UNAVAILABLE = -33001
"""The binding's code for a server that is not registered (any more)."""


class ClientServers(Struct, frozen=True):
    """The MCP servers that one client brought to one session, and where it gets its models."""

    served: tuple[tuple[str, str], ...] = ()
    """Those it serves itself: name and id."""
    brought: "tuple[McpServer, ...]" = ()
    """The others."""
    missed: tuple[str, ...] = ()
    """The names of those it had brought to a daemon that was killed."""

    given: "GivenServer | None" = None
    """The model server that the client had given by then."""

    @property
    def names(self) -> tuple[str, ...]:
        """What may be written down of those it does not serve itself."""
        return (*(server.name for server in self.brought), *self.missed)


def servers_of(opening: "SessionRequest", missed: Iterable[str] = ()) -> ClientServers:
    """What a client brings with an opening; those that are no use are left out."""
    return ClientServers(
        served=tuple((each.name, each.server_id) for each in opening.mcp_servers if each.carrier is not None),
        brought=tuple(each for each in opening.mcp_servers if each.carrier is None and not each.problem),
        missed=tuple(missed),
        given=opening.configuration.server if opening.configuration is not None else None,
    )


class McpCarrier:
    """The `Carrier` of one connection (`type: "acp"`): it carries messages and understands none of them.

    A server belongs to the connection that declared it and ends with it. `notified` is told every `mcp/message` notification.
    """

    def __init__(self, client_id: str, connection: Connection) -> None:
        self.id = client_id
        """See `Carrier`."""
        self._connection = connection
        self.gone = asyncio.Event()
        """See `Carrier`."""
        self._active: dict[tuple[str, str], Heard] = {}

    def end(self) -> None:
        """The client is gone."""
        self.gone.set()

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
