"""Commands that show how the session stands: `/status` and `/help`; and short answers for what needs no turn of its own."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from msgspec import Struct

from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.commands.slash import CommandRegistry, Entry, SlashCommand
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

    def entries(self) -> Iterator[Entry]:
        """See `CommandSource`."""
        btw = "Ask a side question, also while a turn runs; the agent does not remember it"
        yield SlashCommand("btw", btw, "question"), self._btw
        queue = "Show or change the queued prompts"
        yield SlashCommand("queue", queue, "[remove|edit|move NUMBER …]"), self._queue
        yield SlashCommand("status", "Show the status of this session"), self._status
        yield SlashCommand("help", "List these commands"), self._help

    async def _status(self, _turn: Turn, _: str) -> Ending:
        return self.conversation.say("\n".join(line for part in self.parts for line in part.status_lines()))

    async def _help(self, _turn: Turn, _: str) -> Ending:
        lines = [
            f"- `/{command.name}{' ' + command.hint if command.hint else ''}` {command.description}"
            + "".join(f" (also `/{alias}`)" for alias in command.aliases)
            for command in self.registry.commands()
        ]
        return self.conversation.say("\n".join(lines))

    async def _btw(self, _turn: Turn, _: str) -> Ending:
        return self.conversation.say(_ASIDE)

    async def _queue(self, _turn: Turn, _: str) -> Ending:
        """Never reached while prompts wait: `/queue` is answered before it could wait itself."""
        return self.conversation.say("No prompts are queued.")
