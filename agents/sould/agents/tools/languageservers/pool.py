"""The language servers of a daemon: one for each project and language, whichever sessions ask; none before somebody does.

There are few at once; the one that nobody has asked for longest makes room. One that ends again and again is not started
again for a while. An idle pool has no task, no process and no timer.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.base.process.stdio_server import Restarts
from sould.agents.base.tasks import in_time
from sould.agents.files.directories.watching import Watches
from sould.agents.tools.languageservers.programs import ServerLaunch
from sould.agents.tools.languageservers.server import MIB, LanguageServer, ServerBusyError, ServerGoneError

logger = logging.getLogger(__name__)

MOST: Final = 6
"""Servers that run at once."""
MOST_KNOWN: Final = 100
"""Of which it is remembered how often they ended."""
LOOK: Final = 10.0
"""Seconds between two looks at how much memory they have."""
MOST_RESTARTS: Final = 3
WINDOW: Final = 180.0
"""Seconds in which one may be started so often again."""
FIRST_WAIT: Final = 0.3


class _Slot(Struct):
    """What is known of one server, whether it runs or not."""

    restarts: Restarts = field(default_factory=Restarts)
    failures: int = 0
    ended: float = 0.0
    server: LanguageServer | None = None
    task: asyncio.Task[None] | None = None
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)

    def begin(self, server: LanguageServer, task: asyncio.Task[None]) -> None:
        """It runs from now on."""
        self.restarts.began()
        self.server, self.task = server, task

    def end(self, server: LanguageServer, moment: float) -> None:
        """It runs no more."""
        if not server.reason:
            self.restarts.forget()
        self.failures = 0 if server.answers or not server.reason else self.failures + 1
        self.ended = moment
        if self.server is server:
            self.server = self.task = None

    def wait(self, now: float) -> float | None:
        """Seconds until it may be started; None: it ended too often."""
        if not self.ended:
            return 0.0
        wait = self.restarts.wait(self.failures, first=FIRST_WAIT, most=MOST_RESTARTS, window=WINDOW)
        if wait is None:
            return None
        return max(0.0, self.ended + wait - now) if self.failures else 0.0


class LanguageServerPool:
    """`group` owns every server's task; who made the pool ends it before the group."""

    def __init__(
        self, group: asyncio.TaskGroup, guard: ProcessGuard, config: LiveConfig, watches: Watches, version: str
    ) -> None:
        """`version`: sould's, as servers are told it. `watches`: those of the daemon."""
        self.config = config
        self._group = group
        self._guard = guard
        self._watches = watches
        self._version = version
        self._slots: dict[tuple[object, ...], _Slot] = {}
        self._watching = False
        self._making_room = asyncio.Lock()

    @property
    def servers(self) -> Sequence[LanguageServer]:
        """Those that run or are being started."""
        running = (slot.server for slot in self._slots.values() if slot.server is not None)
        return tuple(server for server in running if not server.ended.is_set())

    def close(self) -> None:
        """Let all of them end; the group waits for that."""
        for slot in self._slots.values():
            if slot.task is not None:
                slot.task.cancel()
        self._slots.clear()

    def of(self, root: Path) -> Sequence[LanguageServer]:
        """Those of a project."""
        return [server for server in self.servers if server.launch.root == root]

    def end(self, root: Path) -> None:
        """Let those of a project end: it is trusted no more, or is not the directory that it was."""
        for server in self.of(root):
            server.stop()

    @asynccontextmanager
    async def used(self, launch: ServerLaunch, seconds: float) -> AsyncGenerator[LanguageServer, None]:
        """The server, started if it does not run, waited for so long at most. It does not idle while the block lasts.

        Raises:
            ServerGoneError: it cannot be started, or ended too often.
            ServerBusyError: it is still starting, or all that may run are at work.
        """
        slot = self._slot(launch)
        try:
            async with asyncio.timeout(seconds):
                server = await self._started(launch, slot)
                await server.settled.wait()
        except TimeoutError:
            raise ServerBusyError("starting") from None
        async with server.use():
            if server.ended.is_set():
                raise ServerGoneError(server.trouble)
            yield server

    def _slot(self, launch: ServerLaunch) -> _Slot:
        for server in self.of(launch.root):
            if server.launch.identity != launch.identity:
                server.stop()
        slot = self._slots.setdefault(launch.key, _Slot())
        if len(self._slots) > MOST_KNOWN:
            oldest = next((key for key, each in self._slots.items() if each.server is None and each is not slot), None)
            if oldest is not None:
                del self._slots[oldest]
        return slot

    async def _started(self, launch: ServerLaunch, slot: _Slot) -> LanguageServer:
        async with slot.starting:
            if slot.server is not None and slot.server.stopping and slot.task is not None:
                await asyncio.wait([slot.task])
            if slot.server is not None:
                return slot.server
            wait = slot.wait(asyncio.get_running_loop().time())
            if wait is None:
                again = "It ended too often in the last minutes, and is not started again for a while."
                raise ServerGoneError(again)
            await asyncio.sleep(wait)
            async with self._making_room:
                await self._make_room()
                return self._start(launch, slot)

    async def _make_room(self) -> None:
        if len(self.servers) < MOST:
            return
        idle = min((each for each in self.servers if each.idle), key=lambda each: each.used, default=None)
        if idle is None:
            raise ServerBusyError(f"{MOST} language servers are at work, and no more may run at once")
        idle.stop()
        await idle.ended.wait()

    def _start(self, launch: ServerLaunch, slot: _Slot) -> LanguageServer:
        server = LanguageServer(launch, self._guard, self.config, self._watches, self._version)
        slot.begin(server, self._group.create_task(self._run(server, slot), name=f"language server {launch.name}"))
        if not self._watching:
            self._watching = True
            self._group.create_task(self._watch(), name="memory of language servers")
        return server

    async def _run(self, server: LanguageServer, slot: _Slot) -> None:
        try:
            await server.run()
        finally:
            slot.end(server, asyncio.get_running_loop().time())

    async def _watch(self) -> None:
        """End those that have too much memory, as long as there are any."""
        try:
            while servers := self.servers:
                most = self.config.look().languageservers.max_memory_mb
                for server in servers:
                    if server.memory > most * MIB:
                        server.stop(f"it used more than {most} MB of memory (`languageservers.max_memory_mb`)")
                await in_time(LOOK, servers[0].ended.wait())
        finally:
            self._watching = False
