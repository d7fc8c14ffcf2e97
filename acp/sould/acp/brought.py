"""The MCP servers an editor brings to its sessions, on their way from one daemon to the next (D11, D14).

Their commands, environments and headers may hold secrets: they are handed from memory to memory and never written down.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

import orjson

from sould.acp.outbound import Json

if TYPE_CHECKING:
    from sould.agents.opening.opening import McpServer

Brought = Mapping[str, list[Json]]
"""By session, each server as the editor would say it."""


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
