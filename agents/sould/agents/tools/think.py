"""Think: a place for the model to reason between tool calls. Off in the default agent; a spec can add it. It does nothing."""

from typing import ClassVar

from pydantic import Field

from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_ok
from sould.agents.wire.messages import ToolKind, ToolReturn


class Params(ToolParams):
    """The thought."""

    thought: str = Field(min_length=1, description="What you think.")


class Think(Tool[Params]):
    """Keep a thought in the conversation."""

    name = "Think"
    title = "Think it over"
    kind: ClassVar[ToolKind] = "think"
    params = Params

    def view(self, params: Params) -> CallView:
        """Its beginning."""
        first = params.thought.strip().partition("\n")[0]
        return CallView(title=f"Think: {first[:80]}")

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Nothing happens; the call itself is the record."""
        del params, call
        return tool_ok(message="Thought kept.")
