"""Work in a thread that is finished once begun. Cancelling the caller waits for it, so that no write outlives its record."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def run_shielded_in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking `work` in a thread and return what it returns; a cancellation is raised when it is done."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with contextlib.suppress(asyncio.CancelledError):  # cancelled again: the answer is the same
                await asyncio.wait([running])
        running.exception()  # seen here, because the caller is gone
        raise
