"""The tools that a client runs for the agent, under `_sould/tools` (docs/clients.md)."""

from sould.acp.connection.client import AcpClient
from sould.acp.outbound import Json
from sould.acp.schema import ToolsParams
from sould.agents.base.rpc.errors import INVALID_REQUEST, RpcError


async def register(client: AcpClient, params: ToolsParams) -> Json:
    """The client's tools for a session, in place of those it registered before; the answer says what became of each."""
    if not client.capabilities.own.tools:
        raise RpcError(INVALID_REQUEST, "Say `tools` in `_meta.sould` of the clientCapabilities to register tools.")
    done = client.attached(params.session_id).session.register_tools(params.tools, client.id)
    rejected = [{"name": each.name, "reason": each.reason} for each in done.rejected]
    return {"accepted": list(done.accepted), "rejected": rejected}
