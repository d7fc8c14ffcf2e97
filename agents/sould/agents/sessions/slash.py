"""Slash commands as a session knows them: what it can do with a prompt, given to it from outside.

Knows no command by name and no session, so that commands may use sessions and sessions commands.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sould.agents.soul.loop import Ending
from sould.agents.wire.content import UserInput, input_text


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command as clients list it; `hint` is empty when it takes no argument. `aliases`: other names for it."""

    name: str
    description: str
    hint: str = ""
    aliases: tuple[str, ...] = ()


Handler: TypeAlias = Callable[[str], Awaitable[Ending]]
"""Does what a command says; given is the text behind its name."""
Entry: TypeAlias = tuple[SlashCommand, Handler]
CommandSource: TypeAlias = Callable[[], Iterable[Entry]]
"""Commands that come and go with what a session has: skills, flows, prompts of servers. Asked anew each time."""


@dataclass(frozen=True, slots=True)
class Repertoire:
    """What one session does with prompts: `sources` of commands, the first one wins a name, and `plain` for the rest."""

    sources: tuple[CommandSource, ...]
    plain: Callable[[UserInput], Awaitable[Ending]]

    def find(self, user_input: UserInput) -> tuple[Handler, str] | None:
        """The handler and argument text of a prompt that is a known command; what is not one goes to the model."""
        text = input_text(user_input).strip()
        if not text.startswith("/"):
            return None
        name, *argument = text[1:].split(None, 1) or [""]
        handler = next((run for command, run in self._entries() if name in (command.name, *command.aliases)), None)
        return (handler, argument[0].strip() if argument else "") if handler else None

    def commands(self) -> tuple[SlashCommand, ...]:
        """Every command on offer, each name once."""
        known: dict[str, SlashCommand] = {}
        for command, _ in self._entries():
            known.setdefault(command.name, command)
        return tuple(known.values())

    def _entries(self) -> Iterator[Entry]:
        for source in self.sources:
            yield from source()
