"""An open session: its turns, options, queued prompts, background tasks, ways back, and the tools its client runs.

Ours, below `_sould/`, are described in docs/clients.md and docs/session-clients.md.
"""

import asyncio
from collections.abc import Awaitable
from typing import Literal

from msgspec import to_builtins

from sould.acp.connection.client import AcpClient
from sould.acp.outbound import Json
from sould.acp.projection.status import config_options
from sould.acp.schema import (
    McpMessageParams,
    ModeParams,
    OptionParams,
    PromptParams,
    RegisterToolsParams,
    RewindParams,
    SessionParams,
    TaskParams,
    TimelineParams,
    UndoTurnParams,
    WaitingEditParams,
    WaitingMoveParams,
    WaitingParams,
)
from sould.acp.shapes import (
    BackgroundTask,
    BackgroundTasks,
    ChangedQueue,
    Queue,
    ShownMoment,
    ShownTimeline,
    TaskOutput,
    Travelled,
    TravelledFile,
)
from sould.agents.base.rpc.errors import INVALID_REQUEST, RpcError
from sould.agents.base.text import iso_time
from sould.agents.sessions.operations.travel import NothingToGoTo, TravelResult
from sould.agents.sessions.turns.operating import OperationCancelledError


async def prompt(client: AcpClient, params: PromptParams) -> Json:
    """One turn, queued behind a running one. Registered before the first `await`."""
    attachment = client.attached(params.session_id)
    prompt = attachment.prompts.ask(params.prompt)
    client.services.memory.remember()  # which turn it is
    attachment.tell(client.remark())
    return await attachment.prompts.answer(prompt)


async def cancel(client: AcpClient, params: SessionParams) -> Json:
    """Cancel the running turn and this client's queued prompts; nothing to cancel is fine."""
    attachment = client.attachments.get(params.session_id)
    if attachment is not None:
        attachment.session.turns.cancel(client.id)
    return {}


async def steer(client: AcpClient, params: PromptParams) -> Json:
    """More input for the running turn, or word that a prompt is needed."""
    steered = client.attached(params.session_id).prompts.steer(params.prompt)
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


async def show_queue(client: AcpClient, params: SessionParams) -> Json:
    """The prompts that wait for the running turn."""
    return to_builtins(Queue(client.attached(params.session_id).updates.waiting.shown()))


async def remove_waiting(client: AcpClient, params: WaitingParams) -> Json:
    """Take a prompt out; whoever sent it is answered `cancelled`."""
    return _answer(client, params, client.attached(params.session_id).session.queue.remove(params.id))


async def edit_waiting(client: AcpClient, params: WaitingEditParams) -> Json:
    """Give a prompt another content."""
    return _answer(client, params, client.attached(params.session_id).prompts.edit_waiting(params.id, params.prompt))


async def move_waiting(client: AcpClient, params: WaitingMoveParams) -> Json:
    """Let a prompt come at another place."""
    return _answer(client, params, client.attached(params.session_id).session.queue.move(params.id, params.position))


def _answer(
    client: AcpClient, params: SessionParams, outcome: Literal["edited", "moved", "not_waiting", "removed"]
) -> Json:
    shown = client.attached(params.session_id).updates.waiting.shown()
    return to_builtins(ChangedQueue("notWaiting" if outcome == "not_waiting" else outcome, shown))


async def show_tasks(client: AcpClient, params: SessionParams) -> Json:
    """The background tasks."""
    tasks = await client.attached(params.session_id).session.tasks.settled()
    shown = [
        BackgroundTask(
            id=task.id,
            kind=task.kind,
            description=task.description,
            status=task.status,
            message=task.message,
            started_at=iso_time(task.started),
            ended_at=iso_time(task.ended) if task.ended is not None else None,
            tool_call_id=task.call_id or None,
        )
        for task in tasks
    ]
    return to_builtins(BackgroundTasks(shown))


async def stop_task(client: AcpClient, params: TaskParams) -> Json:
    """End a background task; the answer is the list when nothing of it runs."""
    await client.attached(params.session_id).session.tasks.stop(params.id)
    return await show_tasks(client, params)


async def task_output(client: AcpClient, params: TaskParams) -> Json:
    """The end of what a background task has printed."""
    text, _ = await asyncio.to_thread(client.attached(params.session_id).session.tasks.output, params.id)
    return to_builtins(TaskOutput(text))


async def timeline(client: AcpClient, params: TimelineParams) -> Json:
    """The places to go back to."""
    places = client.attached(params.session_id).session.travel.timeline()
    shown = [
        ShownMoment(
            kind=moment.kind,
            checkpoint=moment.checkpoint,
            timestamp=moment.timestamp,
            text=moment.text,
            did=moment.did,
            files=moment.files,
            reachable=moment.kind != "event" and moment.checkpoint in places.reachable,
        )
        for moment in places.moments
        if params.steps or moment.kind != "step"
    ]
    return to_builtins(ShownTimeline(shown, places.can_undo, places.can_redo))


async def rewind(client: AcpClient, params: RewindParams) -> Json:
    """Go to a checkpoint, files included."""
    return await _travelled(client.attached(params.session_id).session.travel.rewind(params.checkpoint, client.id))


async def undo(client: AcpClient, params: UndoTurnParams) -> Json:
    """Go to before the last turn, or a clearing since which there was none."""
    return await _travelled(client.attached(params.session_id).session.travel.undo(client.id, kept=params.kept))


async def redo(client: AcpClient, params: SessionParams) -> Json:
    """Return from the last going back."""
    return await _travelled(client.attached(params.session_id).session.travel.redo(client.id))


async def _travelled(operation: Awaitable[TravelResult]) -> Json:
    try:
        done = await operation
    except OperationCancelledError:
        return to_builtins(Travelled("cancelled", []))
    if isinstance(done, NothingToGoTo):
        return to_builtins(Travelled("nothing", []))
    return to_builtins(Travelled("done", [TravelledFile(**file.model_dump()) for file in done.restored.files]))


async def register_tools(client: AcpClient, params: RegisterToolsParams) -> Json:
    """The client's tools for a session, in place of those it registered before; the answer says what became of each."""
    if not client.capabilities.own.tools:
        raise RpcError(INVALID_REQUEST, "Say `tools` in `_meta.sould` of the clientCapabilities to register tools.")
    tools = client.attached(params.session_id).session.client_tools
    accepted, rejected = tools.register(params.tools, client.id)
    return {"accepted": list(accepted), "rejected": [{"name": name, "reason": reason} for name, reason in rejected]}
