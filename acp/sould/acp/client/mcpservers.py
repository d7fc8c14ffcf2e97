"""The MCP servers that a client names when it opens a session, as the session takes them.

Nothing is dropped without a word: an entry that cannot be used stays in the list, with the sentence its user is told.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from sould.acp.schema import McpServerParams, UnusableServer
from sould.agents.soul.mcp_over_client import Carrier
from sould.agents.soul.session_request import McpServer, Transport

TRANSPORTS: tuple[str, ...] = get_args(Transport)


def given_servers(entries: Sequence[McpServerParams | UnusableServer], carrier: Carrier) -> tuple[McpServer, ...]:
    """The entries in order. `carrier`: the connection, for the servers that the client serves itself."""
    return tuple(_told_once(_server(number, entry, carrier) for number, entry in enumerate(entries, 1)))


def _server(number: int, entry: McpServerParams | UnusableServer, carrier: Carrier) -> McpServer:
    if isinstance(entry, UnusableServer):
        return McpServer(entry.name, "stdio", problem=_problem(number, entry))
    return McpServer(
        name=entry.name,
        transport=entry.type,
        command=entry.command,
        args=tuple(entry.args),
        env={pair.name: pair.value for pair in entry.env},
        url=entry.url,
        headers={pair.name: pair.value for pair in entry.headers},
        server_id=entry.server_id,
        carrier=carrier if entry.type == "acp" else None,
    )


def _told_once(servers: Iterable[McpServer]) -> Iterator[McpServer]:
    """The first of a name is the one that is used."""
    names: set[str] = set()
    for server in servers:
        if server.name in names and not server.problem:
            problem = f"The editor names two MCP servers {server.name!r}; the first of them is used."
            yield McpServer(server.name, server.transport, problem=problem)
            continue
        if not server.problem:
            names.add(server.name)
        yield server


def _problem(number: int, entry: UnusableServer) -> str:
    which = (
        f"The editor's MCP server {entry.name[:100]!r}" if entry.name else f"Entry {number} of the editor's MCP servers"
    )
    if entry.type and entry.type not in TRANSPORTS:
        return f"{which} is of a type that sould does not know, {entry.type[:40]!r}, and is not used; it knows {', '.join(TRANSPORTS)}."
    return f"{which} is not a server: it needs a `name` of its own, and `command` or `type` and `url`."
