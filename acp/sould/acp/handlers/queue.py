"""The prompts that wait for a running turn: list, remove, edit, move. Ours, under `_sould/queue` (docs/commands.md).

Every answer is the list as it is then, with what became of the request; a prompt that does not wait any more is no error,
because it may have begun a moment ago.
"""

from sould.acp.connection.peer import Peer
from sould.acp.outbound import Json
from sould.acp.schema import SessionParams, WaitingEditParams, WaitingMoveParams, WaitingParams


async def show(peer: Peer, params: SessionParams) -> Json:
    """The list."""
    return {"prompts": peer.attached(params.session_id).updates.waiting.shown()}


async def remove(peer: Peer, params: WaitingParams) -> Json:
    """Take a prompt out; whoever sent it is answered `cancelled`."""
    return _answer(peer, params, peer.attached(params.session_id).session.remove_prompt(params.id))


async def edit(peer: Peer, params: WaitingEditParams) -> Json:
    """Give a prompt another content."""
    return _answer(peer, params, peer.attached(params.session_id).edit_waiting(params.id, params.prompt))


async def move(peer: Peer, params: WaitingMoveParams) -> Json:
    """Let a prompt come at another place."""
    return _answer(peer, params, peer.attached(params.session_id).session.move_prompt(params.id, params.position))


def _answer(peer: Peer, params: SessionParams, outcome: str) -> Json:
    shown = peer.attached(params.session_id).updates.waiting.shown()
    return {"outcome": "notWaiting" if outcome == "not_waiting" else outcome, "prompts": shown}
