"""Telling commands from prompts, and running them.

What is meant as a command and is none is answered at once: no model need be paid for a mistyped word.
"""

from msgspec import Struct

from sould.agents.base.errors import OptionError
from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.commands.skills import calls_for_skill, require_known
from sould.agents.sessions.commands.slash import CommandRegistry, meant_as_command
from sould.agents.soul.flows.runner import NoChoiceError
from sould.agents.soul.loop import Ending
from sould.agents.soul.skills.catalog import SkillCatalog
from sould.agents.soul.turn import Turn
from sould.agents.wire.content import UserInput, typed_text


class CommandReader(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    registry: CommandRegistry
    catalog: SkillCatalog

    def is_command(self, user_input: UserInput) -> bool:
        """Whether a prompt is a command, or is meant as one; the rest goes to the agent."""
        on_offer = self.registry.find(user_input) is not None
        return on_offer or meant_as_command(user_input) or calls_for_skill(typed_text(user_input))

    async def run(self, turn: Turn, user_input: UserInput) -> Ending:
        """Do what a prompt says that is a command, or say in the conversation what is wrong with it.

        Raises:
            SouldError: it failed for a reason that is not in its words.
        """
        try:
            found = self.registry.find(user_input)
            if found is None:
                return self._answer_unknown(typed_text(user_input).strip())
            handler, argument = found
            return await handler(turn, argument)
        except (OptionError, NoChoiceError) as error:
            return self.conversation.refuse(error.message)

    def _answer_unknown(self, text: str) -> Ending:
        require_known(self.catalog, text)
        word = text.split(None, 1)[0]
        near = [f"`/{name}`" for name in self.registry.nearest(word[1:])]
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        return self.conversation.refuse(
            f"There is no command `{word}`. {meant}`/help` lists all commands. To send it to the agent as text, put a "
            "space or a word before it."
        )
