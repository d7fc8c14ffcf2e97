"""One edit of a file at a time: parallel calls of a step that touch one file wait for each other, in order.

From reading to writing, the question to the user included, so that each diff is what will happen. Writers outside this
toolset are not stopped by this: the digest of a write is what protects against them.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary


class FileLocks:
    """Locks by resolved path; first come, first served; a path nobody waits for costs nothing."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def editing(self, path: Path) -> AsyncGenerator[None, None]:
        """Hold `path` for the block."""
        lock = self._locks.setdefault(path, asyncio.Lock())
        async with lock:
            yield
