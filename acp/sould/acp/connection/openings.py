"""What a client's words about a session it opens mean, with what is known of the client and its process."""

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from sould.acp.clients import origin_of
from sould.acp.connection.client import AcpClient
from sould.acp.schema import McpServerParams, OpeningParams, SystemPromptParams, UnusableServer
from sould.agents.base.rpc.errors import INVALID_REQUEST, RpcError
from sould.agents.clients.frontend.routes import wrong
from sould.agents.clients.params import absolute
from sould.agents.llm.given import GivenServer
from sould.agents.soul.mcp_over_client import Carrier
from sould.agents.soul.session_request import McpServer, OwnConfiguration, SessionRequest, Transport
from sould.agents.wire.messages import GivenPrompt

MOST_GIVEN = 100_000
"""Characters of a client's instructions: every model call has them."""
TRANSPORTS: tuple[str, ...] = get_args(Transport)


NOT_KNOWN = (
    "The model server that this editor has set is not known: it is being asked, or sould was stopped since. Wait for "
    "the answer of providers/set, or start the editor again."
)


def opening_of(client: AcpClient, params: OpeningParams) -> SessionRequest:
    """What the client says about a session it opens.

    Raises:
        RpcError: a directory that is not absolute, named; instructions that are empty or too long; the client has set a model
            server, and it is not known: its user's own is not asked in that place.
    """
    if client.given_unknown:
        raise RpcError(INVALID_REQUEST, NOT_KNOWN, {"kind": "no_model", "details": NOT_KNOWN})
    return reopening_of(client, params, client.given)


def reopening_of(client: AcpClient, params: OpeningParams, given: GivenServer | None) -> SessionRequest:
    """The same of a session that it had open, with the model server it had given then. Raises as above but for that."""
    return SessionRequest(
        cwd=absolute(params.cwd, "cwd"),
        additional=tuple(absolute(path, "additionalDirectories") for path in params.additional_directories),
        environment=client.services.client.environment,
        umask=client.services.client.umask,
        mcp_servers=given_servers(params.mcp_servers, client.carrier),
        default_mode="review" if client.shows_hunks else "ask",
        restricted=params.own.restricted,
        worktree=params.own.worktree_name,
        configuration=OwnConfiguration(server=given) if given is not None else None,
        origin=origin_of(client.info, attended=client.speaks_for_user),
        system_prompt=_given(params.system_prompt),
        capabilities=client.capabilities.names,
    )


def _given(params: SystemPromptParams | None) -> GivenPrompt | None:
    if params is None:
        return None
    text = "\n\n".join(block.text for block in params.content)
    if not text.strip():
        raise wrong("systemPrompt", "The system prompt is empty; leave it out, or give it a text.")
    if len(text) > MOST_GIVEN:
        raise wrong("systemPrompt", f"The system prompt has {len(text)} characters; it may have {MOST_GIVEN}.")
    return GivenPrompt(mode=params.mode, text=text)


def given_servers(entries: Sequence[McpServerParams | UnusableServer], carrier: Carrier) -> tuple[McpServer, ...]:
    """The entries in order; one that cannot be used stays, with the sentence its user is told.

    `carrier`: the connection, for the servers that the client serves itself.
    """
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
