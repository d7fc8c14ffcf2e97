"""Going back and returning for clients that know us: `_sould/timeline`, `_sould/rewind`, `_sould/undo`, `_sould/redo`.

They wait for the running turn and are none themselves; every client of the session is told (docs/time-travel.md).
"""

from collections.abc import Awaitable

from sould.acp.connection.client import AcpClient
from sould.acp.outbound import Json
from sould.acp.schema import RewindParams, SessionParams, TimelineParams, UndoTurnParams
from sould.agents.sessions.operations.travel import NothingToGoTo, TravelResult
from sould.agents.sessions.turns.operating import OperationCancelledError


async def show(client: AcpClient, params: TimelineParams) -> Json:
    """The places to go back to. `reachable`: `_sould/rewind` goes there now."""
    places = client.attached(params.session_id).session.timeline()
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


async def rewind(client: AcpClient, params: RewindParams) -> Json:
    """Go to a checkpoint, files included."""
    return await _answer(client.attached(params.session_id).session.rewind(params.checkpoint, client.id))


async def undo(client: AcpClient, params: UndoTurnParams) -> Json:
    """Go to before the last turn, or a clearing since which there was none."""
    return await _answer(client.attached(params.session_id).session.undo(client.id, kept=params.kept))


async def redo(client: AcpClient, params: SessionParams) -> Json:
    """Return from the last going back."""
    return await _answer(client.attached(params.session_id).session.redo(client.id))


async def _answer(operation: Awaitable[TravelResult]) -> Json:
    try:
        done = await operation
    except OperationCancelledError:
        return {"outcome": "cancelled", "files": []}
    if isinstance(done, NothingToGoTo):
        return {"outcome": "nothing", "files": []}
    return {"outcome": "done", "files": [file.model_dump(exclude_defaults=True) for file in done.restored.files]}
