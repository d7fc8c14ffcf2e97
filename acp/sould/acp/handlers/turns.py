"""Turns and options of an open session: prompt, cancel, steering, set_mode, set_config_option."""

from sould.acp.connection.client import AcpClient
from sould.acp.outbound import Json
from sould.acp.projection.options import config_options
from sould.acp.schema import McpMessageParams, ModeParams, OptionParams, PromptParams, SessionParams


async def prompt(client: AcpClient, params: PromptParams) -> Json:
    """One turn, queued behind a running one. Registered before the first `await`."""
    attachment = client.attached(params.session_id)
    prompt = attachment.ask(params.prompt)
    client.remember()  # which turn it is
    attachment.tell(client.remark())
    return await attachment.answer(prompt)


async def cancel(client: AcpClient, params: SessionParams) -> Json:
    """Cancel the running turn and this client's queued prompts; nothing to cancel is fine."""
    attachment = client.attachments.get(params.session_id)
    if attachment is not None:
        attachment.session.cancel(client.id)
    return {}


async def steer(client: AcpClient, params: PromptParams) -> Json:
    """More input for the running turn, or word that a prompt is needed."""
    steered = client.attached(params.session_id).steer(params.prompt)
    return {"outcome": "injected" if steered else "promptRequired"}


async def mcp_message(client: AcpClient, params: McpMessageParams) -> Json:
    """What a server of the client says while it works on a request; only ever sent as a notification."""
    client.carrier.notified(params.server_id, params.request_id, params.method, params.params)
    return {}


async def set_mode(client: AcpClient, params: ModeParams) -> Json:
    """The mode option by its older name."""
    await client.attached(params.session_id).session.options.choose("mode", params.mode_id, client.id)
    return {}


async def set_option(client: AcpClient, params: OptionParams) -> Json:
    """Choose an option's value; the answer is the complete list."""
    session = client.attached(params.session_id).session
    await session.options.choose(params.config_id, params.value, client.id)
    return {"configOptions": config_options(session.options.all())}
