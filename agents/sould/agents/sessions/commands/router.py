"""Who takes a prompt: what a session does at once, a slash command, or the agent. The first word says it.

What is meant as a command and is none is answered at once: no model need be paid for a mistyped word.
"""

from collections.abc import Mapping

from sould.agents.base.errors import OptionError
from sould.agents.sessions.commands.skills import calls_for_skill, require_known
from sould.agents.sessions.commands.slash import CommandRegistry, Conversation, meant_as_command
from sould.agents.sessions.turns.immediate_commands import ImmediateCommand
from sould.agents.sessions.turns.turns import Prompt
from sould.agents.soul.flows.runner import NoChoiceError
from sould.agents.soul.loop import Ending
from sould.agents.soul.skills.catalog import SkillCatalog
from sould.agents.soul.turn import Turn
from sould.agents.wire.content import UserInput, typed_text


class PromptRouter:
    """Of one session."""

    def __init__(self, conversation: Conversation, registry: CommandRegistry, skills: SkillCatalog) -> None:
        self._conversation = conversation
        self._registry = registry
        self._skills = skills
        self._at_once: dict[str, ImmediateCommand] = {}

    def add(self, commands: Mapping[str, ImmediateCommand]) -> None:
        """From now on they are asked about what begins with their words."""
        self._at_once |= commands

    def take(self, user_input: UserInput, client_id: str) -> Prompt | None:
        """Do what a prompt says that cannot wait, or begin to; None: it waits for its turn.

        Synchronous, so that a cancel right behind it finds it.
        """
        command = self._at_once.get(_first_word(user_input))
        return command(user_input, client_id) if command is not None else None

    def is_command(self, user_input: UserInput) -> bool:
        """Whether a prompt is a command, or is meant as one; the rest goes to the agent."""
        if not _first_word(user_input):
            return False
        on_offer = self._registry.find(user_input) is not None
        return on_offer or meant_as_command(user_input) or calls_for_skill(typed_text(user_input))

    async def run(self, turn: Turn, user_input: UserInput) -> Ending:
        """Do what a prompt says that is a command, or say in the conversation what is wrong with it.

        Raises:
            SouldError: it failed for a reason that is not in its words.
        """
        try:
            found = self._registry.find(user_input)
            if found is None:
                return self._answer_unknown(typed_text(user_input).strip())
            handler, argument = found
            return await handler(turn, argument)
        except (OptionError, NoChoiceError) as error:
            return self._conversation.refuse(error.message)

    def _answer_unknown(self, text: str) -> Ending:
        require_known(self._skills, text)
        word = text.split(None, 1)[0]
        near = [f"`/{name}`" for name in self._registry.nearest(word[1:])]
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        return self._conversation.refuse(
            f"There is no command `{word}`. {meant}`/help` lists all commands. To send it to the agent as text, put a "
            "space or a word before it."
        )


def _first_word(user_input: UserInput) -> str:
    """The word with a slash that a prompt begins with; "" when it begins with another."""
    text = typed_text(user_input).lstrip()
    return text.split(None, 1)[0] if text.startswith("/") else ""
