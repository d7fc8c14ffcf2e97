"""What tasks do with cancellations and with each other, beyond what `asyncio.TaskGroup` and `asyncio.timeout` do.

The only module that makes a task nobody's group owns, shields one or waits through a cancellation; a check of the house
keeps it so. Nothing here loses a cancellation, but `finish`, which says for whom it is.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

WHERE: ContextVar[str] = ContextVar("where", default="-")
"""Inherited by every task that is begun from there."""
P = ParamSpec("P")
T = TypeVar("T")
_LEFT: "set[asyncio.Future[Any]]" = set()
"""Work whose caller did not stay; kept here, because the loop holds tasks weakly."""


async def run_shielded_in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking `work` in a thread, as `shielded`, so that no write outlives its record."""
    return await shielded(asyncio.to_thread(work, *args, **kwargs))


async def shielded(work: Awaitable[T]) -> T:
    """What `work` returns or raises. Once begun it is finished: a cancellation is raised when it is done."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await finish(running)
        if not running.cancelled():
            running.exception()  # seen here, because the caller is gone
        raise


async def finish(work: Awaitable[object]) -> None:
    """Wait for `work` to end, whoever cancels meanwhile. For handlers that raise afterwards what they handle."""
    running = asyncio.ensure_future(work)
    while not running.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([running])


async def begun(work: Awaitable[T]) -> T:
    """What `work` returns or raises. A cancelled caller leaves at once, and the work goes on to its end without it."""
    running = asyncio.ensure_future(work)
    _LEFT.add(running)
    running.add_done_callback(_over)
    return await asyncio.shield(running)


def _over(running: "asyncio.Future[Any]") -> None:
    _LEFT.discard(running)
    if not running.cancelled():
        running.exception()  # whoever wanted it was told, or is gone


class Behind:
    """Work that goes on beside its owner, one at a time, and ends with it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._running: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Some goes on."""
        return self._running is not None and not self._running.done()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin it, in place of what went on; its failure is nobody's."""
        self.cancel()
        self._running = asyncio.create_task(work, name=self._name)
        self._running.add_done_callback(_over)

    def cancel(self) -> None:
        """Let it go on no longer."""
        if self._running is not None:
            self._running.cancel()

    async def aclose(self) -> None:
        """End it; it has ended afterwards."""
        self.cancel()
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)


async def shared(future: "asyncio.Future[T]") -> T:
    """What `future` becomes, when others wait for it too: it stays when this caller is cancelled."""
    return await asyncio.shield(future)


async def readable(descriptor: int) -> None:
    """Wait until something can be read there, also when its owner closes it meanwhile."""
    event, own = asyncio.Event(), os.dup(descriptor)
    loop = asyncio.get_running_loop()
    loop.add_reader(own, event.set)
    try:
        await event.wait()
    finally:
        loop.remove_reader(own)
        os.close(own)


async def in_time(seconds: float | None, event: Awaitable[object]) -> bool:
    """Whether `event` comes to pass within so many seconds. It is cancelled when it does not."""
    try:
        async with asyncio.timeout(seconds):
            await event
    except TimeoutError:
        return False
    return True


async def first_of(wanted: Coroutine[Any, Any, T], other: Coroutine[Any, Any, object]) -> T | None:
    """What `wanted` returns, or None when `other` ends before it. Both only wait: the slower one is cancelled."""
    mine, others = asyncio.ensure_future(wanted), asyncio.ensure_future(other)
    try:
        await asyncio.wait((mine, others), return_when=asyncio.FIRST_COMPLETED)
        return mine.result() if mine.done() else None
    finally:
        mine.cancel()
        others.cancel()


async def no_longer(work: Awaitable[object], seconds: float, hurry: asyncio.Event, *, last: float = 0.3) -> None:
    """Await `work`, but no longer than this, nor than until `hurry`. Cancelled then, it has `last` seconds to end, and is left."""
    running, hurried = asyncio.ensure_future(work), asyncio.ensure_future(hurry.wait())
    try:
        await asyncio.wait((running, hurried), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hurried.cancel()
    if not running.done():
        running.cancel()
        await asyncio.wait([running], timeout=last)


@contextlib.asynccontextmanager
async def beside(work: Coroutine[Any, Any, object], name: str) -> AsyncGenerator[None, None]:
    """`work` runs while the block does, and has ended after it; that it ends before, or fails, changes nothing."""
    running = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class Watchdog:
    """`async with Watchdog(90) as dog:` raises `TimeoutError` when the task has waited longer than that without progress.

    Call `heard` when something arrived, and `wait` before the next wait. Time spent elsewhere does not count. It is one timer
    per stream, which looks now and then: a timer per read would cost more than reading.
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
