"""What a client's words about a session it opens mean, with what is known of the client and its process."""

import os
from pathlib import Path

from sould.acp.client.mcpservers import given_servers
from sould.acp.connection.peer import Peer
from sould.acp.schema import OpeningParams
from sould.agents.opening.opening import Opening
from sould.agents.rpc.errors import INVALID_PARAMS, RpcError


def opening_of(peer: Peer, params: OpeningParams) -> Opening:
    """What the client says about a session it opens.

    Raises:
        RpcError: a directory that is not absolute, named.
    """
    return Opening(
        cwd=absolute(params.cwd, "cwd"),
        additional=tuple(absolute(path, "additionalDirectories") for path in params.additional_directories),
        environment=peer.services.client.environment,
        umask=peer.services.client.umask,
        mcp_servers=given_servers(params.mcp_servers, peer.carrier),
        default_mode="review" if peer.shows_hunks else "ask",
        capabilities=peer.capabilities.names,
    )


def absolute(path: str, field: str) -> Path:
    """A directory the client names.

    Raises:
        RpcError: it is not absolute.
    """
    if not os.path.isabs(path) or "\0" in path:
        sentence = f"{field} must be an absolute path, not {path[:200]!r}."
        raise RpcError(INVALID_PARAMS, sentence, {"kind": "invalid_params", "field": field})
    return Path(path)
