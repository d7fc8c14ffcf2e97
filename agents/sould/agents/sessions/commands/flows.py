"""Flows as slash commands: `/flow:NAME arguments` for every flow skill."""

from collections.abc import Iterator
from functools import partial

from msgspec import Struct

from sould.agents.base.errors import OptionError
from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.commands.slash import Entry, SlashCommand, for_people
from sould.agents.soul.flows.arguments import with_arguments
from sould.agents.soul.flows.graph import Flow, FlowError
from sould.agents.soul.flows.runner import FlowRunner
from sould.agents.soul.loop import Ending
from sould.agents.soul.skills.catalog import SkillCatalog
from sould.agents.soul.skills.skill import Skill
from sould.agents.soul.turn import Turn
from sould.agents.wire.notice import notice

_MOST_TOLD = 5
"""Lines of a notice."""


class FlowCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    catalog: SkillCatalog

    def entries(self) -> Iterator[Entry]:
        """See `CommandSource`: one for each flow; a flow that cannot run says so when it is asked for."""
        for skill in self.catalog.skills.values():
            if skill.flow:
                about = for_people(skill.description) or "Run this flow"
                yield SlashCommand(f"flow:{skill.name}", about, "arguments (optional)"), partial(self._run, skill)

    async def _run(self, skill: Skill, turn: Turn, argument: str) -> Ending:
        return await self.run(turn, self.flow(skill, argument))

    async def run(self, turn: Turn, flow: Flow) -> Ending:
        """From its beginning to its end, once, within the turn."""
        agent = self.conversation.agent(turn)
        runner = FlowRunner(flow, agent, agent.config.now.flows)
        try:
            return await runner.run()
        finally:
            runner.show(None)  # also when it is cancelled or fails: nothing is under way any more

    def flow(self, skill: Skill, arguments: str) -> Flow:
        """The flow of a flow skill, with what the user wrote behind it.

        Raises:
            OptionError: it cannot run.
        """
        from sould.agents.soul.flows.source import skill_flow  # noqa: PLC0415 -- parsers that few sessions need

        try:
            flow = with_arguments(skill_flow(skill), arguments)
        except FlowError as error:
            lines = "\n".join(f"{skill.path}:{problem}" for problem in error.problems)
            raise OptionError(f"The flow {skill.name} cannot run:\n{lines}") from error
        silent = next((node.id for node in flow.nodes.values() if not node.label.strip()), "")
        if silent:
            raise OptionError(f"The flow {skill.name} needs an argument: without one its step {silent} has no prompt.")
        self._tell_passed_over(skill, flow)
        return flow

    def _tell_passed_over(self, skill: Skill, flow: Flow) -> None:
        """What of the drawing does not count, once a session for each version of it."""
        said = [f"{skill.path}:{warning}" for warning in flow.warnings]
        if said and self.catalog.is_news("\n".join(said)):
            shown = said if len(said) <= _MOST_TOLD else said[: _MOST_TOLD - 1]
            left = len(said) - len(shown)
            more = f"\nand {left} more: `sould flow check {skill.name}` lists them" if left else ""
            title = f"The flow {skill.name} has constructs that are ignored"
            self.conversation.log.publish(notice("flow", title, "\n".join(shown) + more))
