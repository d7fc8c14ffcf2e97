"""ListAgents: who is at work beside an agent and under which id a D-Mail reaches them. Starts nobody and stops nobody."""

from collections.abc import Iterable
from typing import ClassVar

from sould.agents.soul.dmail.dmail import DenwaRenji
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_ok
from sould.agents.wire.messages import ToolKind, ToolReturn


class ListAgents(Tool[ToolParams]):
    """List the agents at work."""

    name = "ListAgents"
    title = "List the agents"
    kind: ClassVar[ToolKind] = "think"
    params = ToolParams

    def __init__(self, phone: DenwaRenji) -> None:
        self._phone = phone

    def view(self, params: ToolParams) -> CallView:
        """What it does."""
        return CallView(title="List the agents at work")

    async def run(self, params: ToolParams, call: ToolCallContext) -> ToolReturn:
        """One line each, itself first."""
        phone = self._phone
        lines = [f"- {phone.agent_id or 'the main agent'}: you", *_listed(phone.children, "started by you")]
        if phone.parent is not None:
            lines.append(f"- {phone.parent.agent_id or 'the main agent'}: your parent (`to: parent`)")
            lines += _listed(phone.siblings, "beside you (`to: siblings` reaches all of these)")
        return tool_ok("\n".join(lines))


def _listed(phones: Iterable[DenwaRenji], where: str) -> list[str]:
    return [f"- {each.agent_id}: {each.about}, {where}" for each in phones]
