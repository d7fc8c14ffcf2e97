"""A limit on silence that costs nothing while there is none.

A timer per read would cost more than reading; this keeps one timer per stream, which looks now and then whether
anything has happened. It knows nothing of models.
"""

import asyncio
from types import TracebackType
from typing import Self


class Watchdog:
    """`async with Watchdog(90) as dog:` raises `TimeoutError` when the task has waited longer than that without progress.

    Call `heard` when something arrived, and `wait` before the next wait. Time spent elsewhere does not count.
    """

    __slots__ = ("_handle", "_last", "_loop", "_timeout", "_waiting", "limit")

    def __init__(self, limit: float) -> None:
        self.limit = limit
        """Seconds that hold now."""
        self._timeout = asyncio.timeout(None)
        self._waiting = True

    def heard(self) -> None:
        """Something arrived: the task is at work now."""
        self._waiting = False

    def wait(self, *, progressed: bool) -> None:
        """The task is about to wait again; without progress the clock goes on."""
        if progressed:
            self._last = self._loop.time()
        self._waiting = True

    def shorten(self, limit: float) -> None:
        """From now on another limit holds."""
        if limit < self.limit:
            self.limit = limit
            self._handle.cancel()
            self._handle = self._loop.call_later(limit, self._look)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        await self._timeout.__aenter__()
        self._handle = self._loop.call_later(self.limit, self._look)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._handle.cancel()
        return await self._timeout.__aexit__(kind, error, trace)

    def _look(self) -> None:
        now = self._loop.time()
        if not self._waiting:
            self._last = now
        if now - self._last >= self.limit:
            self._timeout.reschedule(now)
        else:
            self._handle = self._loop.call_at(self._last + self.limit, self._look)
