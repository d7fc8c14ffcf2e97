"""How tools say to the model what a workspace's error is."""

from sould.agents.base.workspace import WorkspaceError
from sould.agents.toolapi.base import tool_error
from sould.agents.wire.messages import ToolReturn


def failure(error: WorkspaceError) -> ToolReturn:
    """A workspace's error as a tool result."""
    return tool_error(sentence(error), brief=str(error))


def sentence(error: WorkspaceError) -> str:
    """What it says, ended as a sentence."""
    text = str(error)
    return text if text.endswith((".", ")", "?")) else f"{text}."
