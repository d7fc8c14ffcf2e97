"""One writer of a file at a time, in the whole daemon: sessions, subagents, restores and commands wait for each other.

Programs outside the daemon are not stopped by this: the digest of a write is what protects against them. Nobody may hold
a file while a person is asked something.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary


class FileLocks:
    """Locks by resolved path; first come, first served; a path nobody waits for costs nothing."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Path, _FileLock] = WeakValueDictionary()

    def is_held(self, path: Path) -> bool:
        """Whether `editing` would wait for somebody."""
        lock = self._locks.get(path)
        return lock is not None and lock.is_held

    @asynccontextmanager
    async def editing(self, *paths: Path) -> AsyncGenerator[None, None]:
        """Hold the files for the block. The task that holds one already goes straight on.

        Who needs several says so at once: they are taken in the order of their paths, so that no two wait for each other.
        """
        async with AsyncExitStack() as held:
            for path in sorted(set(paths)):
                await held.enter_async_context(self._locks.setdefault(path, _FileLock()).held())
            yield


class _FileLock:
    def __init__(self) -> None:
        self._free = asyncio.Lock()
        self._holder: asyncio.Task[object] | None = None

    @property
    def is_held(self) -> bool:
        """By another task than this one."""
        return self._free.locked() and self._holder is not asyncio.current_task()

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
