"""What the agents of a session do right now that files must not change under: as long as they do, rejects of what they wrote wait.

That is a model that writes, and calls that change files; a command, a look and a question to the user are none of it.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol

from msgspec import Struct, field


class HeldFiles(Protocol):
    """Where the session's agents write."""

    def step_begins(self) -> None:
        """What the session wrote stays as it is from now on."""
        ...

    async def step_ended(self) -> None:
        """What waited for that is done."""
        ...


class Unheld(HeldFiles):
    """Nobody decides about what is written."""

    def step_begins(self) -> None:
        """Nothing changes."""

    async def step_ended(self) -> None:
        """Nothing waited."""


class AgentsAtWork(Struct):
    """Of one session, its subagents included."""

    files: HeldFiles = field(default_factory=Unheld)
    _doing: set[str] = field(default_factory=set[str])

    def begin(self, *doing: str) -> None:
        """This goes on from now on; each has a name of its own in the session."""
        if doing and not self._doing:
            self.files.step_begins()
        self._doing.update(doing)

    @asynccontextmanager
    async def paused(self, doing: str) -> AsyncGenerator[None]:
        """It does not go on in the block; what does not go on anyway is passed over."""
        went_on = doing in self._doing
        await self.end(doing)
        try:
            yield
        finally:
            self.begin(*([doing] if went_on else []))

    async def end(self, *doing: str) -> None:
        """This has ended; what does not go on is passed over."""
        if self._doing.isdisjoint(doing):
            return
        self._doing.difference_update(doing)
        if not self._doing:
            await self.files.step_ended()
