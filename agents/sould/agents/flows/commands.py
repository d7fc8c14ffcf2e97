"""Flows as slash commands: `/flow:NAME arguments` for every flow skill."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from sould.agents.config import FlowLimits
from sould.agents.errors import SouldError
from sould.agents.flows.arguments import with_arguments
from sould.agents.flows.graph import FlowError
from sould.agents.flows.runner import Agent, FlowRunner
from sould.agents.flows.source import skill_flow
from sould.agents.sessions.commands import Entry, SlashCommand
from sould.agents.skills.catalog import SkillCatalog
from sould.agents.skills.skill import Skill
from sould.agents.soul.loop import Ending

if TYPE_CHECKING:
    from sould.agents.sessions.session import Session


def flow_commands(catalog: SkillCatalog, limits: Callable[[], FlowLimits]) -> Iterator[Entry]:
    """One command a flow; a flow that cannot run says so when it is asked for."""
    for skill in catalog.skills.values():
        if skill.flow:
            command = SlashCommand(f"flow:{skill.name}", skill.description or "Run this flow", "arguments (optional)")
            yield command, partial(_run, skill, limits)


async def _run(skill: Skill, limits: Callable[[], FlowLimits], session: "Session", arguments: str) -> Ending:
    try:
        flow = with_arguments(skill_flow(skill), arguments)
    except FlowError as error:
        lines = "\n".join(f"{skill.path}:{problem}" for problem in error.problems)
        raise SouldError(f"The flow {skill.name} cannot run:\n{lines}") from error
    agent = Agent(session.log, session.soul, session.current_turn)
    return await FlowRunner(flow, agent, limits()).run()
