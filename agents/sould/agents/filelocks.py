"""One writer of a file at a time, in the whole daemon: sessions, subagents, restores and commands wait for each other.

Programs outside the daemon are not stopped by this: the digest of a write is what protects against them. Nobody may hold
a file while a person is asked something.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary


class FileLocks:
    """Locks by resolved path; first come, first served; a path nobody waits for costs nothing."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Path, _FileLock] = WeakValueDictionary()

    @asynccontextmanager
    async def editing(self, path: Path) -> AsyncGenerator[None, None]:
        """Hold `path` for the block. The task that holds it already goes straight on."""
        async with self._locks.setdefault(path, _FileLock()).held():
            yield


class _FileLock:
    def __init__(self) -> None:
        self._free = asyncio.Lock()
        self._holder: asyncio.Task[object] | None = None

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None, None]:
        task = asyncio.current_task()
        if self._holder is task:
            yield
            return
        async with self._free:
            self._holder = task
            try:
                yield
            finally:
                self._holder = None
