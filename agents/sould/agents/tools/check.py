"""Which tools of an agent cannot be loaded, for those who only look: no session, no service, nothing is made of them.

Imports the modules that the tools are in, as a session would; whoever calls has seen to it that they are trusted.
"""

from collections.abc import Mapping
from typing import Any

import sould.agents.tools as api
from sould.agents.soul.spec import AgentSpec, ToolChoice
from sould.agents.soul.tool_conditions import Situation
from sould.agents.toolapi.decorator import SERVICES, InvalidToolError
from sould.agents.toolapi.toolset import check_tool


def tool_problems(spec: AgentSpec, now: Situation) -> Mapping[ToolChoice, str]:
    """Why tools that are offered now cannot be loaded, for each of them."""
    services: dict[Any, object] = {getattr(api, name): None for name in SERVICES.split(", ")}
    names: dict[str, str] = {}
    problems: dict[ToolChoice, str] = {}
    for choice in spec.tools(now):
        try:
            if not choice.reason:
                check_tool(choice.path, services, names)
        except InvalidToolError as error:
            problems[choice] = error.message
    return problems
