"""Messages of tools and hooks of the user's own (D35), for clients that say they know such messages. Pure."""

import orjson

from sould.acp.outbound import Json
from sould.agents.wire import messages as wire


def custom_in(message: object) -> tuple[wire.Custom, str] | None:
    """The message, and the subagent whose tool sent it ("": none's); None for all others."""
    agent = ""
    while isinstance(message, wire.SubagentEvent):
        agent, message = message.agent_id or "", message.event
    return (message, agent) if isinstance(message, wire.Custom) else None


def custom_line(session_id: str, message: wire.Custom, agent_id: str) -> bytes:
    """`_sould/custom`, a notification of ours."""
    params: Json = {"sessionId": session_id, "name": message.name, "data": message.data}
    if agent_id:
        params["agentId"] = agent_id
    return orjson.dumps({"jsonrpc": "2.0", "method": "_sould/custom", "params": params}) + b"\n"
