"""How long an agent may work. Its time does not run while it, or one that works for it, waits for the user (D16)."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from msgspec import Struct


class _Clock(Struct):
    limit: asyncio.Timeout
    waits: int = 0
    """How many answers are waited for."""
    left: float = 0.0

    def stop(self) -> None:
        self.waits += 1
        when = self.limit.when()
        if self.waits == 1 and when is not None and not self.limit.expired():
            self.left = when - asyncio.get_running_loop().time()
            self.limit.reschedule(None)

    def go_on(self) -> None:
        self.waits -= 1
        if not self.waits and self.limit.when() is None:
            self.limit.reschedule(asyncio.get_running_loop().time() + self.left)


_CLOCKS: ContextVar[tuple[_Clock, ...]] = ContextVar("clocks", default=())
"""Of the agent that runs here, and of those it works for."""


@asynccontextmanager
async def at_most(seconds: float) -> AsyncGenerator[None]:
    """Raises TimeoutError when the block takes longer, but for the time that it waits for the user."""
    async with asyncio.timeout(seconds) as limit:
        token = _CLOCKS.set((*_CLOCKS.get(), _Clock(limit)))
        try:
            yield
        finally:
            _CLOCKS.reset(token)


@contextmanager
def waiting_for_the_user() -> Generator[None]:
    """No clock of the agent that runs here runs in the block."""
    clocks = _CLOCKS.get()
    for clock in clocks:
        clock.stop()
    try:
        yield
    finally:
        for clock in clocks:
            clock.go_on()
