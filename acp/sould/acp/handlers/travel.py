"""Going back and returning for clients that know us: `_sould/timeline`, `_sould/rewind`, `_sould/undo`, `_sould/redo`.

They do what the slash commands do, as a turn that every client of the session sees, behind the running one (docs/time-travel.md).
"""

from sould.acp.outbound import Json
from sould.acp.peer import Peer
from sould.acp.schema import RewindParams, SessionParams, TimelineParams


async def show(peer: Peer, params: TimelineParams) -> Json:
    """The places to go back to. `reachable`: `_sould/rewind` goes there now."""
    from sould.agents.timetravel.timeline import timeline  # noqa: PLC0415 -- initialize is answered without Wire's models

    session = peer.attached(params.session_id).session
    context = session.log.context
    moments = timeline((record.message, record.timestamp) for record in session.log.replay())
    shown: list[Json] = [
        {
            "kind": moment.kind,
            "checkpoint": moment.checkpoint,
            "timestamp": moment.timestamp,
            "text": moment.text,
            "did": moment.did,
            "files": moment.files,
            "reachable": moment.kind != "event" and context.reaches(moment.checkpoint),
        }
        for moment in moments
        if params.steps or moment.kind != "step"
    ]
    return {"moments": shown, "canUndo": context.undoable is not None, "canRedo": bool(context.undone)}


async def rewind(peer: Peer, params: RewindParams) -> Json:
    """Go to a checkpoint, files included."""
    return await _asked(peer, params, f"/rewind {params.checkpoint}")


async def undo(peer: Peer, params: SessionParams) -> Json:
    """Go to before the last turn, or a clearing since which there was none."""
    return await _asked(peer, params, "/undo")


async def redo(peer: Peer, params: SessionParams) -> Json:
    """Return from the last going back."""
    return await _asked(peer, params, "/redo")


async def _asked(peer: Peer, params: SessionParams, command: str) -> Json:
    session = peer.attached(params.session_id).session
    prompt = session.prompt(command, peer.id)
    end = await prompt.outcome()
    done = session.rewinder.outcomes.pop(prompt.turn_id, None)
    if done is None:
        return {"outcome": "cancelled" if end.stop_reason == "cancelled" else "nothing", "files": []}
    return {"outcome": "done", "files": [file.model_dump(exclude_defaults=True) for file in done.files]}
