"""Flows as slash commands: `/flow:NAME arguments` for every flow skill."""

from collections.abc import Iterator
from functools import partial

from sould.agents.errors import OptionError
from sould.agents.flows.arguments import with_arguments
from sould.agents.flows.graph import Flow, FlowError
from sould.agents.flows.runner import Agent, FlowRunner
from sould.agents.flows.source import skill_flow
from sould.agents.sessions.session import Session
from sould.agents.sessions.slash import Entry, SlashCommand, for_people
from sould.agents.skills.skill import Skill
from sould.agents.soul.loop import Ending
from sould.agents.wire.notice import notice

_MOST_TOLD = 5
"""Lines of a notice."""


def flow_commands(session: Session) -> Iterator[Entry]:
    """One command a flow; a flow that cannot run says so when it is asked for."""
    for skill in session.skills.skills.values():
        if skill.flow:
            command = SlashCommand(
                f"flow:{skill.name}", for_people(skill.description) or "Run this flow", "arguments (optional)"
            )
            yield command, partial(_run, skill, session)


async def _run(skill: Skill, session: Session, arguments: str) -> Ending:
    return await run_flow(session, sound_flow(session, skill, arguments))


async def run_flow(session: Session, flow: Flow) -> Ending:
    """From its beginning to its end, once, within the turn."""
    agent = Agent(session.log, session.soul, session.current_turn, session.live_config)
    runner = FlowRunner(flow, agent, session.config.flows)
    try:
        return await runner.run()
    finally:
        runner.show(None)  # also when it is cancelled or fails: nothing is under way any more


def sound_flow(session: Session, skill: Skill, arguments: str) -> Flow:
    """The flow of a flow skill, with what the user wrote behind it.

    Raises:
        OptionError: it cannot run.
    """
    try:
        flow = with_arguments(skill_flow(skill), arguments)
    except FlowError as error:
        lines = "\n".join(f"{skill.path}:{problem}" for problem in error.problems)
        raise OptionError(f"The flow {skill.name} cannot run:\n{lines}") from error
    silent = next((node.id for node in flow.nodes.values() if not node.label.strip()), "")
    if silent:
        raise OptionError(f"The flow {skill.name} needs an argument: without one its step {silent} says nothing.")
    _tell_passed_over(skill, flow, session)
    return flow


def _tell_passed_over(skill: Skill, flow: Flow, session: Session) -> None:
    """What of the drawing does not count, once a session for each version of it."""
    said = [f"{skill.path}:{warning}" for warning in flow.warnings]
    if said and session.skills.is_news("\n".join(said)):
        shown = said if len(said) <= _MOST_TOLD else said[: _MOST_TOLD - 1]
        more = (
            f"\nand {len(said) - len(shown)} more: `sould flow check {skill.name}` lists them" if said != shown else ""
        )
        title = f"Not everything in the drawing of the flow {skill.name} counts"
        session.log.publish(notice("flow", title, "\n".join(shown) + more))
