"""TaskList, TaskOutput, TaskStop: the tasks that run in the background, as the model sees and ends them."""

import asyncio
import time
from typing import ClassVar

from pydantic import Field, JsonValue

from sould.agents.base.text import plural
from sould.agents.permissions.approval import Approval
from sould.agents.toolapi.background import BackgroundTasks, TaskError, TaskRecord
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.wire.messages import ToolKind, ToolReturn


class ListParams(ToolParams):
    """Which ones."""

    active_only: bool = Field(default=True, description="Only those that run.")
    limit: int = Field(default=20, ge=1, le=100, description="How many at most, newest first.")


class TaskList(Tool[ListParams]):
    """List the tasks."""

    name = "TaskList"
    title = "List the background tasks"
    kind: ClassVar[ToolKind] = "read"
    params = ListParams

    def __init__(self, tasks: BackgroundTasks) -> None:
        self._tasks = tasks

    async def run(self, params: ListParams, call: ToolCallContext) -> ToolReturn:
        """One line each."""
        tasks = await self._tasks.settled()
        found = [record for record in tasks if record.status == "running" or not params.active_only]
        shown = found[::-1][: params.limit]
        self._tasks.saw(*shown)
        return tool_ok(
            "\n".join(map(described, shown)),
            message=f"{plural(len(found), 'task')}." if found else "No task runs.",
            display=tuple(record.block for record in shown),
        )


class OutputParams(ToolParams):
    """Whose output."""

    task_id: str = Field(description="The task's id.")
    block: bool = Field(default=False, description="Wait until it has ended.")
    timeout: int = Field(default=30, ge=0, le=3600, description="Seconds to wait at most.")


class TaskOutput(Tool[OutputParams]):
    """Read what a task has printed."""

    name = "TaskOutput"
    title = "Show a background task"
    kind: ClassVar[ToolKind] = "read"
    example: ClassVar[dict[str, JsonValue]] = {"task_id": "shell_1", "block": True, "timeout": 60}
    params = OutputParams

    def __init__(self, tasks: BackgroundTasks) -> None:
        self._tasks = tasks

    def view(self, params: OutputParams) -> CallView:
        """Which one."""
        return CallView(title=f"{'Wait for' if params.block else 'Show'} {params.task_id}")

    async def run(self, params: OutputParams, call: ToolCallContext) -> ToolReturn:
        """The status and the end of the output."""
        try:
            if params.block:
                await self._tasks.wait(params.task_id, params.timeout)
            record = self._tasks.find(params.task_id)
            text, path = await asyncio.to_thread(self._tasks.output, params.task_id)
        except TaskError as error:
            return tool_error(error.message, brief="No such task")
        self._tasks.saw(record)
        return tool_ok(text, message=f"{described(record)} The full output is in {path}.", display=(record.block,))


class StopParams(ToolParams):
    """Which one, and why."""

    task_id: str = Field(description="The task's id.")
    reason: str = Field(default="", description="Why, for the record.")


class TaskStop(Tool[StopParams]):
    """End a task."""

    name = "TaskStop"
    title = "Stop a background task"
    kind: ClassVar[ToolKind] = "execute"
    example: ClassVar[dict[str, JsonValue]] = {"task_id": "shell_1"}
    params = StopParams

    def __init__(self, tasks: BackgroundTasks, approval: Approval) -> None:
        self._tasks = tasks
        self._approval = approval

    def view(self, params: StopParams) -> CallView:
        """Which one."""
        return CallView(title=f"Stop {params.task_id}")

    async def run(self, params: StopParams, call: ToolCallContext) -> ToolReturn:
        """End it and say how it stands."""
        if self._approval.mode == "plan":
            return tool_error("In plan mode nothing is stopped; put it into the plan.", brief="Plan mode")
        try:
            record = await self._tasks.stop(params.task_id, params.reason)
        except TaskError as error:
            return tool_error(error.message, brief="No such task")
        self._tasks.saw(record)
        return tool_ok(message=described(record), display=(record.block,))


def described(record: TaskRecord) -> str:
    """One line for the model."""
    seconds = (record.ended or time.time()) - record.started
    said = f" {record.message}" if record.message else ""
    return f"{record.id} ({record.agent_id or record.kind}): {record.description} -- {record.status}, {seconds:.0f} s.{said}"
