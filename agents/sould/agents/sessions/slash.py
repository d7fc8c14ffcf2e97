"""Slash commands as a session knows them: what it can do with a prompt, given to it from outside.

Knows no command by name and no session, so that commands may use sessions and sessions commands.
"""

import difflib
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sould.agents.permissions.visible import visible
from sould.agents.soul.loop import Ending
from sould.agents.wire.content import UserInput, input_text

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z])")
MOST_DESCRIBED = 100
"""Characters of a command's description: clients show it beside its name."""
_MEANT = re.compile(r"/([A-Za-z][\w:-]*)(?: [^\n]*)?\n?")
"""One line whose first word can be a command's name: no path of several parts and no file's name with an ending."""


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
PlainPrompt: TypeAlias = Callable[[UserInput], Awaitable[Ending]]
"""Does what a prompt says that is no command."""
CommandSource: TypeAlias = Callable[[], Iterable[Entry]]
"""Commands that come and go with what a session has: skills, flows, prompts of servers. Asked anew each time."""


@dataclass(frozen=True, slots=True)
class CommandRegistry:
    """What one session does with prompts: `sources` of commands, the first one wins a name, and `plain` for the rest.

    `unknown` answers what is meant as a command and is none.
    """

    sources: tuple[CommandSource, ...]
    plain: PlainPrompt
    unknown: Handler

    def find(self, user_input: UserInput) -> tuple[Handler, str] | None:
        """The handler and argument text of a prompt that is a command, or is meant as one; the rest goes to the model."""
        text = input_text(user_input).strip()
        if not text.startswith("/"):
            return None
        name, *argument = text[1:].split(None, 1) or [""]
        handler = next((run for command, run in self._entries() if name in (command.name, *command.aliases)), None)
        if handler is None:
            return (self.unknown, text) if meant_as_command(user_input) else None
        return handler, argument[0].strip() if argument else ""

    def commands(self) -> tuple[SlashCommand, ...]:
        """Every command on offer, each name once."""
        known: dict[str, SlashCommand] = {}
        for command, _ in self._entries():
            known.setdefault(command.name, command)
        return tuple(known.values())

    def nearest(self, name: str) -> list[str]:
        """The commands whose name, or the last part of it (`skill:NAME`), is most like this one; the most like it first."""
        names = {alias: command.name for command in self.commands() for alias in command.aliases}
        names |= {command.name.rpartition(":")[2]: command.name for command in self.commands()}
        names |= {command.name: command.name for command in self.commands()}
        return list(dict.fromkeys(names[near] for near in difflib.get_close_matches(name.lower(), names)))

    def _entries(self) -> Iterator[Entry]:
        for source in self.sources:
            yield from source()


def for_people(description: str) -> str:
    """The first sentence of what a skill or a server says of itself; the rest tells the model when to use it."""
    line = " ".join(visible(description).split())
    sentence = _SENTENCE.split(line, maxsplit=1)[0]
    return sentence if len(sentence) <= MOST_DESCRIBED else f"{sentence[: MOST_DESCRIBED - 1].rstrip()}…"


def meant_as_command(user_input: UserInput) -> bool:
    """Whether a prompt that is no known command was meant as one: one line that begins with `/word`, and no path there is."""
    found = _MEANT.fullmatch(input_text(user_input))
    return found is not None and not os.path.lexists(f"/{found[1]}")
