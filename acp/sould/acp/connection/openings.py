"""What a client's words about a session it opens mean, with what is known of the client and its process."""

from sould.acp.client.mcpservers import given_servers
from sould.acp.connection.client import AcpClient
from sould.acp.schema import OpeningParams
from sould.agents.clients.params import absolute
from sould.agents.soul.session_request import SessionRequest


def opening_of(client: AcpClient, params: OpeningParams) -> SessionRequest:
    """What the client says about a session it opens.

    Raises:
        RpcError: a directory that is not absolute, named.
    """
    return SessionRequest(
        cwd=absolute(params.cwd, "cwd"),
        additional=tuple(absolute(path, "additionalDirectories") for path in params.additional_directories),
        environment=client.services.client.environment,
        umask=client.services.client.umask,
        mcp_servers=given_servers(params.mcp_servers, client.carrier),
        default_mode="review" if client.shows_hunks else "ask",
        restricted=params.own.restricted,
        worktree=params.own.worktree_name,
        capabilities=client.capabilities.names,
    )
