"""Going back and returning for clients that know us: `_sould/timeline`, `_sould/rewind`, `_sould/undo`, `_sould/redo`.

They wait for the running turn and are none themselves; every client of the session is told (docs/time-travel.md).
"""

from collections.abc import Awaitable

from sould.acp.connection.peer import Peer
from sould.acp.outbound import Json
from sould.acp.schema import RewindParams, SessionParams, TimelineParams, UndoTurnParams
from sould.agents.sessions.operations.travel import NothingToGoTo, TravelResult
from sould.agents.sessions.turns.operating import OperationCancelledError


async def show(peer: Peer, params: TimelineParams) -> Json:
    """The places to go back to. `reachable`: `_sould/rewind` goes there now."""
    places = peer.attached(params.session_id).session.timeline()
    shown: list[Json] = [
        {
            "kind": moment.kind,
            "checkpoint": moment.checkpoint,
            "timestamp": moment.timestamp,
            "text": moment.text,
            "did": moment.did,
            "files": moment.files,
            "reachable": moment.kind != "event" and moment.checkpoint in places.reachable,
        }
        for moment in places.moments
        if params.steps or moment.kind != "step"
    ]
    return {"moments": shown, "canUndo": places.can_undo, "canRedo": places.can_redo}


async def rewind(peer: Peer, params: RewindParams) -> Json:
    """Go to a checkpoint, files included."""
    return await _answer(peer.attached(params.session_id).session.rewind(params.checkpoint, peer.id))


async def undo(peer: Peer, params: UndoTurnParams) -> Json:
    """Go to before the last turn, or a clearing since which there was none."""
    return await _answer(peer.attached(params.session_id).session.undo(peer.id, kept=params.kept))


async def redo(peer: Peer, params: SessionParams) -> Json:
    """Return from the last going back."""
    return await _answer(peer.attached(params.session_id).session.redo(peer.id))


async def _answer(operation: Awaitable[TravelResult]) -> Json:
    try:
        done = await operation
    except OperationCancelledError:
        return {"outcome": "cancelled", "files": []}
    if isinstance(done, NothingToGoTo):
        return {"outcome": "nothing", "files": []}
    return {"outcome": "done", "files": [file.model_dump(exclude_defaults=True) for file in done.restored.files]}
