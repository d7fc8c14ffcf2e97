"""The MCP servers an editor brings to a session, and their way from one daemon to the next (D11, D14).

Their commands, environments and headers may hold secrets: they are handed from memory to memory and never written down.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

import orjson
from msgspec import Struct

from sould.acp.outbound import Json

if TYPE_CHECKING:
    from sould.agents.soul.session_request import McpServer, SessionRequest

Brought = Mapping[str, list[Json]]
"""By session, each server as the editor would say it."""


class ClientServers(Struct, frozen=True):
    """The MCP servers that one client brought to one session."""

    served: tuple[tuple[str, str], ...] = ()
    """Those it serves itself: name and id."""
    brought: "tuple[McpServer, ...]" = ()
    """The others."""
    missed: tuple[str, ...] = ()
    """The names of those it had brought to a daemon that was killed."""

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
    )


def pack(brought: "Mapping[str, Iterable[McpServer]]") -> bytes:
    """For the next daemon."""
    return orjson.dumps({session: [_said(server) for server in servers] for session, servers in brought.items()})


def unpack(data: bytes) -> Brought:
    """What the last daemon packed; nothing when it was killed."""
    return cast("Brought", orjson.loads(data)) if data else {}


def _said(server: "McpServer") -> Json:
    return {
        "type": server.transport,
        "name": server.name,
        "command": server.command,
        "args": list(server.args),
        "env": _pairs(server.env),
        "url": server.url,
        "headers": _pairs(server.headers),
    }


def _pairs(values: Mapping[str, str]) -> list[Json]:
    return [{"name": name, "value": value} for name, value in values.items()]
