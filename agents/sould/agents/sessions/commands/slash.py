"""Slash commands as a session knows them: what it can do with a prompt that begins with a slash, and what a command says and asks.

Knows no command by name. A command's prompt and reply are shown and journaled, but are no part of the model's context.
"""

import difflib
import os
import re
from collections.abc import Awaitable, Callable, Iterable
from itertools import chain
from typing import TypeAlias

from msgspec import Struct

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.visible import visible
from sould.agents.soul.flows.runner import FlowAgent
from sould.agents.soul.loop import Ending, StepExtension
from sould.agents.soul.soul import NO_STEPS, Soul, needed
from sould.agents.soul.turn import Turn
from sould.agents.wire.content import TextPart, UserInput, typed_text
from sould.agents.wire.messages import ContextNote

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z])")
MOST_DESCRIBED = 100
"""Characters of a command's description: clients show it beside its name."""
_MEANT = re.compile(r"/([A-Za-z][\w:-]*)(?: [^\n]*)?\n?")
"""One line whose first word can be a command's name: no path of several parts and no file's name with an ending."""


class SlashCommand(Struct, frozen=True):
    """A command as clients list it; `hint` is empty when it takes no argument. `aliases`: other names for it."""

    name: str
    description: str
    hint: str = ""
    aliases: tuple[str, ...] = ()


Handler: TypeAlias = Callable[[Turn, str], Awaitable[Ending]]
"""Does what a command says. In the turn that its prompt began; `argument` is the text behind the command's name, trimmed.

Raises:
    OptionError: its words are wrong; the message is the answer.
    SouldError: it cannot; the turn ends with the error's message.
"""
Entry: TypeAlias = tuple[SlashCommand, Handler]


class CommandRegistry:
    """The commands of one session. Of two with one name, that of the source which was added first counts."""

    def __init__(self) -> None:
        self._sources: list[Iterable[Entry]] = []

    def add(self, *sources: Iterable[Entry]) -> None:
        """From now on their commands are on offer, too; asked anew each time, for skills, flows and servers come and go."""
        self._sources += sources

    def find(self, user_input: UserInput) -> tuple[Handler, str] | None:
        """The handler and argument of a prompt that is a command on offer, whatever is attached to it."""
        text = typed_text(user_input).strip()
        if not text.startswith("/"):
            return None
        name, *argument = text[1:].split(None, 1) or [""]
        handler = next(
            (run for command, run in chain.from_iterable(self._sources) if name in (command.name, *command.aliases)),
            None,
        )
        return (handler, argument[0].strip() if argument else "") if handler is not None else None

    def all(self) -> tuple[SlashCommand, ...]:
        """Every command on offer, each name once."""
        known: dict[str, SlashCommand] = {}
        for command, _ in chain.from_iterable(self._sources):
            known.setdefault(command.name, command)
        return tuple(known.values())

    def names(self) -> frozenset[str]:
        """What they are called, aliases included."""
        return frozenset(name for command in self.all() for name in (command.name, *command.aliases))

    def nearest(self, name: str) -> list[str]:
        """The commands whose name, or the last part of it (`skill:NAME`), is most like this one; the most like it first."""
        names = {alias: command.name for command in self.all() for alias in command.aliases}
        names |= {command.name.rpartition(":")[2]: command.name for command in self.all()}
        names |= {command.name: command.name for command in self.all()}
        return list(dict.fromkeys(names[near] for near in difflib.get_close_matches(name.lower(), names)))


def for_people(description: str) -> str:
    """The first sentence of what a skill or a server says of itself; the rest tells the model when to use it."""
    line = " ".join(visible(description).split())
    sentence = _SENTENCE.split(line, maxsplit=1)[0]
    return sentence if len(sentence) <= MOST_DESCRIBED else f"{sentence[: MOST_DESCRIBED - 1].rstrip()}…"


def meant_as_command(user_input: UserInput) -> bool:
    """Whether a prompt that is no known command was meant as one: one line that begins with `/word`, and no path there is."""
    found = _MEANT.fullmatch(typed_text(user_input))
    return found is not None and not os.path.lexists(f"/{found[1]}")


class Conversation(Struct, frozen=True):
    """Of one session, in the turn of a command."""

    log: SessionLog
    soul: Soul
    config: LiveConfig

    def say(self, text: str) -> Ending:
        """Reply to a command, to people only."""
        self.log.publish(TextPart(text=text))
        return Ending("finished")

    def refuse(self, text: str) -> Ending:
        """Say to people why the command does not do what it says: for whoever runs it in a script, it has failed."""
        self.log.publish(TextPart(text=text))
        return Ending("finished", failed=True)

    async def ask(self, turn: Turn, prompt: str) -> Ending:
        """Let the agent work on `prompt`, which people are not shown: they see the command."""
        self._tell_attached(turn)
        self.log.publish(ContextNote(text=prompt))
        return await self.soul.turn(turn)

    def agent(self, turn: Turn, extensions: tuple[StepExtension, ...] = ()) -> FlowAgent:
        """The agent, for a flow that asks it step by step within the turn. Raises OptionError: it cannot be asked so."""
        steps = needed(self.soul.steps, NO_STEPS)
        self._tell_attached(turn)
        return FlowAgent(self.log, steps, turn, self.config, extensions)

    def _tell_attached(self, turn: Turn) -> None:
        if turn.attached:
            self.log.publish(ContextNote(text=f"The user attached this to what follows:\n{turn.attached}"))
