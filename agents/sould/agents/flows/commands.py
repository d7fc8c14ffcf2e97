"""Flows as slash commands: `/flow:NAME arguments` for every flow skill."""

from collections.abc import Iterator
from functools import partial

from sould.agents.errors import OptionError
from sould.agents.flows.arguments import with_arguments
from sould.agents.flows.graph import FlowError
from sould.agents.flows.runner import Agent, FlowRunner
from sould.agents.flows.source import skill_flow
from sould.agents.sessions.session import Session
from sould.agents.sessions.slash import Entry, SlashCommand, for_people
from sould.agents.skills.skill import Skill
from sould.agents.soul.loop import Ending


def flow_commands(session: Session) -> Iterator[Entry]:
    """One command a flow; a flow that cannot run says so when it is asked for."""
    for skill in session.skills.skills.values():
        if skill.flow:
            command = SlashCommand(
                f"flow:{skill.name}", for_people(skill.description) or "Run this flow", "arguments (optional)"
            )
            yield command, partial(_run, skill, session)


async def _run(skill: Skill, session: Session, arguments: str) -> Ending:
    try:
        flow = with_arguments(skill_flow(skill), arguments)
    except FlowError as error:
        lines = "\n".join(f"{skill.path}:{problem}" for problem in error.problems)
        raise OptionError(f"The flow {skill.name} cannot run:\n{lines}") from error
    silent = next((node.id for node in flow.nodes.values() if not node.label.strip()), "")
    if silent:
        raise OptionError(f"The flow {skill.name} needs words behind it: without them its step {silent} says nothing.")
    agent = Agent(session.log, session.soul, session.current_turn)
    runner = FlowRunner(flow, agent, session.config.flows)
    try:
        return await runner.run()
    finally:
        runner.show(None)  # also when it is cancelled or fails: nothing is under way any more
