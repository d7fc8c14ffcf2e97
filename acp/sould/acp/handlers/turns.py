"""Turns and options of an open session: prompt, cancel, steering, set_mode, set_config_option."""

from sould.acp.connection.peer import Peer
from sould.acp.outbound import Json
from sould.acp.projection.options import config_options
from sould.acp.schema import McpMessageParams, ModeParams, OptionParams, PromptParams, SessionParams


async def prompt(peer: Peer, params: PromptParams) -> Json:
    """One turn, queued behind a running one. Registered before the first `await`."""
    attachment = peer.attached(params.session_id)
    prompt = attachment.ask(params.prompt)
    peer.remember()  # which turn it is
    attachment.tell(peer.remark())
    return await attachment.answer(prompt)


async def cancel(peer: Peer, params: SessionParams) -> Json:
    """Cancel the running turn and this client's queued prompts; nothing to cancel is fine."""
    attachment = peer.attachments.get(params.session_id)
    if attachment is not None:
        attachment.session.cancel(peer.id)
    return {}


async def steer(peer: Peer, params: PromptParams) -> Json:
    """More input for the running turn, or word that a prompt is needed."""
    steered = peer.attached(params.session_id).steer(params.prompt)
    return {"outcome": "injected" if steered else "promptRequired"}


async def mcp_message(peer: Peer, params: McpMessageParams) -> Json:
    """What a server of the client says while it works on a request; only ever sent as a notification."""
    peer.carrier.notified(params.server_id, params.request_id, params.method, params.params)
    return {}


async def set_mode(peer: Peer, params: ModeParams) -> Json:
    """The mode option by its older name."""
    await peer.attached(params.session_id).session.set_option("mode", params.mode_id, peer.id)
    return {}


async def set_option(peer: Peer, params: OptionParams) -> Json:
    """Choose an option's value; the answer is the complete list."""
    session = peer.attached(params.session_id).session
    await session.set_option(params.config_id, params.value, peer.id)
    return {"configOptions": config_options(session.options())}
