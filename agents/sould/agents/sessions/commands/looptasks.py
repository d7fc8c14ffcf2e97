"""Which task a loop is asked to repeat, by what the user wrote."""

from msgspec import Struct

from sould.agents.base.errors import OptionError
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.sessions.commands.flows import FlowCommands
from sould.agents.sessions.commands.skills import require_known, skill_prompt
from sould.agents.sessions.commands.slash import CommandRegistry
from sould.agents.soul.flows.ralph import LoopTask


class LoopTasks(Struct, frozen=True):
    """Of one session: prompts, skills and flows can be repeated, other commands cannot."""

    config: LiveConfig
    flows: FlowCommands
    registry: CommandRegistry

    def plain(self, prompt: str) -> LoopTask:
        """The prompt itself."""
        return LoopTask(prompt, self.config.now.flows)

    def find(self, prompt: str) -> LoopTask:
        """The task that a prompt stands for.

        Raises:
            OptionError: it names a skill or flow that cannot be used, or another command.
        """
        limits, catalog = self.config.now.flows, self.flows.catalog
        word, _, rest = prompt.strip().partition(" ")
        kind, _, name = word.removeprefix("/").partition(":")
        skill = catalog.skills.get(name) if word.startswith("/") else None
        if skill is not None and kind == ("flow" if skill.flow else "skill"):
            if skill.flow:
                return LoopTask(prompt, limits, self.flows.flow(skill, rest.strip()))
            return LoopTask(skill_prompt(skill, rest.strip()), limits)
        require_known(catalog, prompt)
        if word.startswith("/") and word[1:] in self.registry.names():
            raise OptionError(f"`{word}` cannot be the task of a loop; a prompt, a skill or a flow can.")
        return self.plain(prompt)
