"""The public API of tools: what a tool of your own imports (D30).

Built-in tools are modules beside this one and are loaded by path only; importing this package must not load them.
The services, and `Command`, are looked up when they are first asked for, because some of them are built upon this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sould.agents.toolapi.base import (
    CallView,
    PerCall,
    Tool,
    ToolCallContext,
    ToolParams,
    tool_error,
    tool_ok,
    tool_rejected,
)
from sould.agents.toolapi.custom import CustomMessage
from sould.agents.toolapi.decorator import tool
from sould.agents.toolapi.result import ToolResultBuilder
from sould.agents.toolapi.session import PromptArguments, Session
from sould.agents.toolapi.toolset import CheckedCall, InvalidToolError, Toolset
from sould.agents.wire.content import ImagePart, MediaUrl, TextPart
from sould.agents.wire.display import BriefBlock, DiffBlock, ShellBlock, TodoBlock, TodoItem
from sould.agents.wire.messages import Custom, Location, ToolKind, ToolReturn

if TYPE_CHECKING:
    from sould.agents.base.config import Config
    from sould.agents.base.environment import Environment
    from sould.agents.base.workspace import Command, Workspace
    from sould.agents.permissions.approval import Approval
    from sould.agents.soul.dmail.dmail import DenwaRenji
    from sould.agents.soul.subagents.market import LaborMarket

_LATER = {
    "Approval": "sould.agents.permissions.approval",
    "Command": "sould.agents.base.workspace",
    "Config": "sould.agents.base.config",
    "DenwaRenji": "sould.agents.soul.dmail.dmail",
    "Environment": "sould.agents.base.environment",
    "LaborMarket": "sould.agents.soul.subagents.market",
    "Workspace": "sould.agents.base.workspace",
}

__all__ = [
    "Approval",
    "BriefBlock",
    "CallView",
    "CheckedCall",
    "Command",
    "Config",
    "Custom",
    "CustomMessage",
    "DenwaRenji",
    "DiffBlock",
    "Environment",
    "ImagePart",
    "InvalidToolError",
    "LaborMarket",
    "Location",
    "MediaUrl",
    "PerCall",
    "PromptArguments",
    "Session",
    "ShellBlock",
    "TextPart",
    "TodoBlock",
    "TodoItem",
    "Tool",
    "ToolCallContext",
    "ToolKind",
    "ToolParams",
    "ToolResultBuilder",
    "ToolReturn",
    "Toolset",
    "Workspace",
    "tool",
    "tool_error",
    "tool_ok",
    "tool_rejected",
]


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(name)
    return getattr(import_module(_LATER[name]), name)
