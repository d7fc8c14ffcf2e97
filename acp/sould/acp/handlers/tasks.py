"""The background tasks of a session: list, stop, read. Ours, under `_sould/session/tasks` (docs/session-clients.md)."""

import asyncio

from msgspec import to_builtins

from sould.acp.connection.client import AcpClient
from sould.acp.outbound import Json
from sould.acp.schema import SessionParams, TaskParams
from sould.acp.shapes import BackgroundTask, BackgroundTasks, TaskOutput
from sould.agents.base.text import iso_time


async def show(client: AcpClient, params: SessionParams) -> Json:
    """All of them."""
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


async def stop(client: AcpClient, params: TaskParams) -> Json:
    """End one; the answer is the list when nothing of it runs."""
    await client.attached(params.session_id).session.tasks.stop(params.id)
    return await show(client, params)


async def output(client: AcpClient, params: TaskParams) -> Json:
    """The end of what one has printed."""
    text, _ = await asyncio.to_thread(client.attached(params.session_id).session.tasks.output, params.id)
    return to_builtins(TaskOutput(text))
