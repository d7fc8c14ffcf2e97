"""A command of a call, of which somebody has to know when it has ended, whoever sees that first."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from sould.agents.base.workspace import CommandExit, RunningCommand

Ended: TypeAlias = Callable[[], Awaitable[None]]
"""The command has ended."""


class HeldCommand(Struct):
    """A running command that says once that it has ended."""

    running: RunningCommand
    ended: Ended
    _said: bool = False

    def output(self) -> AsyncIterator[bytes]:
        """As the command."""
        return self.running.output()

    async def wait(self) -> CommandExit:
        """As the command."""
        ended = await self.running.wait()
        await self._say()
        return ended

    async def kill(self) -> None:
        """As the command."""
        await self.running.kill()
        await self._say()

    async def _say(self) -> None:
        if not self._said:
            self._said = True
            await self.ended()
