"""What an editor brought, on its way from one daemon to the next: from memory to memory, never written down (D11, D14)."""

from collections.abc import Mapping
from typing import Any, cast

import orjson
from msgspec import Struct, field
from pydantic import SecretStr

from sould.acp.connection.mcp_servers import ClientServers
from sould.acp.outbound import Json
from sould.agents.llm.given import GivenServer
from sould.agents.llm.server import ServedModel
from sould.agents.soul.session_request import McpServer

_GIVEN = ""
"""Beside the ids of sessions."""


class Handed(Struct, frozen=True):
    """What one connection's client has brought."""

    mcp: Mapping[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    """By session, each server as the editor would say it."""
    given: Mapping[str, GivenServer] = field(default_factory=dict[str, GivenServer])
    """By session, the model server; that for those it opens next is under ""."""


def pack(brought: Mapping[str, ClientServers], given: GivenServer | None) -> bytes:
    """For the next daemon. `given`: for the sessions that it opens next."""
    said: Json = {session: [_said(server) for server in servers.brought] for session, servers in brought.items()}
    models = {session: servers.given for session, servers in brought.items()} | {"": given}
    return orjson.dumps(said | {_GIVEN: {session: _told(each) for session, each in models.items() if each is not None}})


def unpack(data: bytes) -> Handed:
    """What the last daemon packed; nothing when it was killed."""
    if not data:
        return Handed()
    said = cast("Json", orjson.loads(data))
    given: Json = said.pop(_GIVEN, {})  # a daemon of the first release knows none
    return Handed(said, {session: _given(each) for session, each in given.items()})


def _said(server: McpServer) -> Json:
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


def _told(server: GivenServer) -> Json:
    return {
        "url": server.base_url,
        "headers": {name: value.get_secret_value() for name, value in server.headers.items()},
        "address": server.address,
        "models": [(model.name, model.context) for model in server.models],
    }


def _given(said: Any) -> GivenServer:
    return GivenServer(
        base_url=said["url"],
        headers={name: SecretStr(value) for name, value in said["headers"].items()},
        address=said["address"],
        models=tuple(ServedModel(name, context) for name, context in said["models"]),
    )
