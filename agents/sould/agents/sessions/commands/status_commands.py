"""Commands that show how the session stands: `/status` and `/help`; and short answers for what needs no turn of its own."""

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.commands.slash import CommandRegistry
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn

_ASIDE = "Ask a side question: `/btw why is this test slow?`. It works while a turn runs."


class StatusSource(Protocol):
    """A part of a session that `/status` shows."""

    def status_lines(self) -> Iterable[str]:
        """How it stands now, as lines of Markdown; none when there is nothing to say."""
        ...


class ShowingCommands(Struct, frozen=True):
    """Of one session. `parts` are shown by `/status`, in this order."""

    conversation: Conversation
    registry: CommandRegistry
    parts: tuple[StatusSource, ...]

    async def status(self, _turn: Turn, _: str) -> Ending:
        """How the parts of the session stand."""
        return self.conversation.say("\n".join(line for part in self.parts for line in part.status_lines()))

    async def help(self, _turn: Turn, _: str) -> Ending:
        """Every command on offer."""
        lines = [
            f"- `/{command.name}{' ' + command.hint if command.hint else ''}` {command.description}"
            + "".join(f" (also `/{alias}`)" for alias in command.aliases)
            for command in self.registry.all()
        ]
        return self.conversation.say("\n".join(lines))

    async def btw(self, _turn: Turn, _: str) -> Ending:
        """Only reached without a question."""
        return self.conversation.say(_ASIDE)

    async def queue(self, _turn: Turn, _: str) -> Ending:
        """Never reached while prompts wait: `/queue` is answered before it could wait itself."""
        return self.conversation.say("No prompts are queued.")
