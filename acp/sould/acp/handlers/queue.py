"""The prompts that wait for a running turn: list, remove, edit, move. Ours, under `_sould/queue` (docs/commands.md).

Every answer is the list as it is then, with what became of the request; a prompt that does not wait any more is no error,
because it may have begun a moment ago.
"""

from sould.acp.connection.client import AcpClient
from sould.acp.outbound import Json
from sould.acp.schema import SessionParams, WaitingEditParams, WaitingMoveParams, WaitingParams


async def show(client: AcpClient, params: SessionParams) -> Json:
    """The list."""
    return {"prompts": client.attached(params.session_id).updates.waiting.shown()}


async def remove(client: AcpClient, params: WaitingParams) -> Json:
    """Take a prompt out; whoever sent it is answered `cancelled`."""
    return _answer(client, params, client.attached(params.session_id).session.queue.remove(params.id))


async def edit(client: AcpClient, params: WaitingEditParams) -> Json:
    """Give a prompt another content."""
    return _answer(client, params, client.attached(params.session_id).edit_waiting(params.id, params.prompt))


async def move(client: AcpClient, params: WaitingMoveParams) -> Json:
    """Let a prompt come at another place."""
    return _answer(client, params, client.attached(params.session_id).session.queue.move(params.id, params.position))


def _answer(client: AcpClient, params: SessionParams, outcome: str) -> Json:
    shown = client.attached(params.session_id).updates.waiting.shown()
    return {"outcome": "notWaiting" if outcome == "not_waiting" else outcome, "prompts": shown}
