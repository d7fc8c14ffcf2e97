"""What is not queued behind a running turn, though it was sent as a prompt: a side question, a look at the queue …"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.settings.modeswitch import BY, ModeSwitch
from sould.agents.sessions.turns.turns import Prompt, Turns
from sould.agents.soul.attachedclients import AttachedClients
from sould.agents.wire.content import UserInput, typed_text
from sould.agents.wire.messages import TurnEnd
from sould.agents.wire.notice import answer_to

logger = logging.getLogger(__name__)


ImmediateCommand: TypeAlias = Callable[[UserInput, str], Prompt | None]
"""Does what a client's prompt says, or begins to, if it cannot wait; None: it can."""


def away_at_once(mode_switch: ModeSwitch, turns: Turns, user_input: UserInput, client_id: str) -> Prompt | None:
    """`/afk` while a turn runs holds for this turn already, and answers what it is asking. An `ImmediateCommand`."""
    if turns.current is None or typed_text(user_input).strip() != BY:
        return None
    mode_switch.go_away()
    return Prompt.answered(user_input, client_id)


class CommandAnswer(Struct, frozen=True):
    """What a command came to, as Markdown; `failed`: not all of what it says was done."""

    text: str
    failed: bool = False


CommandAtOnce: TypeAlias = Callable[[str, str], Awaitable[CommandAnswer]]
"""Does what a command says, whatever the agent does meanwhile. The answer. Raises SouldError: it cannot; the message is the answer."""


class CommandsAtOnce:
    """Commands that are operations and no turns (D41): they neither wait for a turn nor need a model. `commands` are by their word."""

    def __init__(self, log: SessionLog, clients: AttachedClients, commands: Mapping[str, CommandAtOnce]) -> None:
        self._log = log
        self._clients = clients
        self._commands = commands
        self._running: set[Prompt] = set()
        self._early: list[Prompt] = []
        """Asked before `serving`."""
        self._ended = False
        self._group: asyncio.TaskGroup | None = None

    @property
    def running(self) -> bool:
        """Some is not answered yet."""
        return bool(self._running)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None, None]:
        """Commands are taken within, and have ended behind it."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for prompt in self._early:
                self._begin(group, prompt)
            self._early.clear()
            try:
                yield
            finally:
                self._ended = True

    def take(self, user_input: UserInput, client_id: str) -> Prompt | None:
        """See `ImmediateCommand`."""
        if self._ended or _read(user_input)[0] not in self._commands:
            return None
        prompt = Prompt(user_input, client_id, command=True)
        self._running.add(prompt)
        if self._group is None:
            self._early.append(prompt)
        else:
            self._begin(self._group, prompt)
        return prompt

    def _begin(self, group: asyncio.TaskGroup, prompt: Prompt) -> None:
        group.create_task(self._answer(prompt, *_read(prompt.user_input)))

    async def _answer(self, prompt: Prompt, word: str, argument: str) -> None:
        """A failure of ours ends the command, not the session."""
        try:
            said = await self._commands[word](argument, prompt.client_id)
        except SouldError as error:
            said = CommandAnswer(error.message, failed=True)
        except Exception:
            logger.exception("%s failed", word)
            said = CommandAnswer("sould hit a bug in this command; see `sould logs`.", failed=True)
        asked, by = f"{word} {argument}".strip(), self._clients.name(prompt.client_id)
        self._log.publish(answer_to(asked, said.text, prompt.client_id, by))
        self._running.discard(prompt)
        prompt.settle(TurnEnd(turn_id=prompt.turn_id, failed=said.failed))


def _read(user_input: UserInput) -> tuple[str, str]:
    """The first word, and what stands behind it."""
    word, _, argument = typed_text(user_input).strip().partition(" ")
    return word, argument.strip()
