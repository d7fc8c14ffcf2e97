"""Tools that are loaded by path in tests: good ones, and ones that cannot be loaded."""

import asyncio
import errno
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from sould.agents.tools import Tool, ToolCallContext, ToolParams, ToolReturn, Workspace, tool, tool_ok
from sould.agents.tools.todo import SetTodoList

if TYPE_CHECKING:
    from fractions import Fraction


SetTodoListToo = SetTodoList


class NotATool:
    pass


class CountingParams(ToolParams):
    count: int = Field(ge=1, le=5)
    name: str = "x"


class Counting(Tool[CountingParams]):
    name = "Counting"
    params = CountingParams

    async def run(self, params: CountingParams, call: ToolCallContext) -> ToolReturn:
        return tool_ok(params.name * params.count)


class CountingToo(Counting):
    pass


class Plain(Tool[ToolParams]):
    params = ToolParams

    async def run(self, params: ToolParams, call: ToolCallContext) -> ToolReturn:
        return tool_ok()


class Juggling(Plain):
    name = "Juggling"
    kind = "juggle"  # pyright: ignore[reportAssignmentType] -- its maker's mistake


class NeedsMore(Plain):
    name = "NeedsMore"

    def __init__(self, clock: Path) -> None:
        self.clock = clock


class Unresolvable(Plain):
    name = "Unresolvable"

    def __init__(self, number: "Fraction") -> None:
        self.number = number


class Failing(Plain):
    name = "Failing"

    async def run(self, params: ToolParams, call: ToolCallContext) -> ToolReturn:
        return tool_ok(str(1 // 0))


class Forbidden(Plain):
    name = "Forbidden"

    async def run(self, params: ToolParams, call: ToolCallContext) -> ToolReturn:
        raise PermissionError(errno.EACCES, "Permission denied", "/proc/1/root/etc")


class Waiting(Plain):
    name = "Waiting"

    async def run(self, params: ToolParams, call: ToolCallContext) -> ToolReturn:
        await asyncio.Event().wait()
        return tool_ok()


class Announcer:
    def __init__(self, who: str) -> None:
        self.who = who

    def for_call(self, call: ToolCallContext) -> "Announcer":
        return Announcer(call.id)


class Announced(Plain):
    name = "Announced"

    def __init__(self, announcer: Announcer) -> None:
        self.announcer = announcer

    async def run(self, params: ToolParams, call: ToolCallContext) -> ToolReturn:
        return tool_ok(self.announcer.who)


@tool(kind="read")
async def count_lines(path: str, workspace: Workspace) -> str:
    """Count the lines of a file."""
    file = await workspace.read_text(workspace.resolve(path).path)
    return f"{len(file.text.splitlines())} lines"
