"""The public API of tools: what a tool of your own imports (D30).

Built-in tools are modules beside this one and are loaded by path only; importing this package must not load them.
"""

from sould.agents.tools.base import (
    CallView,
    PerCall,
    Tool,
    ToolCallContext,
    ToolParams,
    tool_error,
    tool_ok,
    tool_rejected,
)
from sould.agents.tools.result import ToolResultBuilder
from sould.agents.tools.toolset import CheckedCall, InvalidToolError, Toolset
from sould.agents.wire.messages import Location, ToolKind, ToolReturn

__all__ = [
    "CallView",
    "CheckedCall",
    "InvalidToolError",
    "Location",
    "PerCall",
    "Tool",
    "ToolCallContext",
    "ToolKind",
    "ToolParams",
    "ToolResultBuilder",
    "ToolReturn",
    "Toolset",
    "tool_error",
    "tool_ok",
    "tool_rejected",
]
