"""Calling one tool of a toolset as a step does: the arguments are checked once, and what is wrong with them is the result."""

from collections.abc import Mapping
from typing import Any

from sould.agents.toolapi.base import ToolCallContext
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.messages import ToolReturn


async def call_tool(tools: Toolset, name: str, arguments: Mapping[str, Any], context: ToolCallContext) -> ToolReturn:
    """The result of the call, or the error that the model is given in place of running it."""
    checked = tools.check(name, arguments)
    return checked if isinstance(checked, ToolReturn) else await tools.call(checked, context)
