"""CreateSubagent: a new type of subagent for this session, with no more tools than its creator has."""

from typing import ClassVar

from pydantic import Field, JsonValue

from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import BELOW, EXTERNAL, SubagentError
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.toolapi.toolset import Toolset
from sould.agents.wire.messages import SubagentCreated, ToolKind, ToolReturn


class Params(ToolParams):
    """The new type."""

    name: str = Field(description="What Agent calls it as `subagent_type`.")
    system_prompt: str = Field(min_length=1, description="Who it is and how it works.")
    description: str = Field(default="", description="What it is for, in one sentence.")
    tools: tuple[str, ...] | None = Field(default=None, description="Names of tools it has, of yours.")


class CreateSubagent(Tool[Params]):
    """Make a dynamic type."""

    name = "CreateSubagent"
    title = "Create a subagent type"
    kind: ClassVar[ToolKind] = "other"
    example: ClassVar[dict[str, JsonValue]] = {
        "name": "translator",
        "system_prompt": "You translate documentation into German, faithfully and in plain words.",
        "tools": ["ReadFile", "WriteFile"],
    }
    params = Params

    def __init__(self, crew: Crew, toolset: Toolset) -> None:
        self._crew = crew
        self._toolset = toolset

    def view(self, params: Params) -> CallView:
        """The name."""
        return CallView(title=f"Create the subagent type {params.name}")

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Check and publish it."""
        patterns = self._crew.spec.fields.mcp_tools
        external = {name: f"{EXTERNAL}{name}" for name in self._toolset.external}
        own = {**external, **self._toolset.paths}
        everything = tuple(name for name in self._toolset.paths if name not in BELOW)
        wanted = params.tools if params.tools is not None else everything
        lacking = [name for name in wanted if name not in own]
        if lacking:
            return tool_error(
                f"A subagent cannot have tools that you do not have: {', '.join(lacking)}. Yours are {', '.join(own)}.",
                brief="Unknown tools",
            )
        further = (
            [f"{EXTERNAL}{each}" for each in patterns or ("*",)] if params.tools is None and patterns != () else ()
        )
        made = SubagentCreated(
            name=params.name,
            description=params.description,
            system_prompt=params.system_prompt,
            tools=(*(own[name] for name in wanted), *further),
            creator=self._crew.agent_id,
        )
        try:
            self._crew.market.create(made, self._crew.kinds)
        except SubagentError as error:
            return tool_error(error.message, brief="Not created")
        return tool_ok(message=f"The subagent type {params.name} exists now, with {', '.join(wanted) or 'no tools'}.")
