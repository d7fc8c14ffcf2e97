"""The daemon's life: when it leaves, and how. One object decides, one task watches.

It leaves when told (signals, the command line), when nobody needs it (idle exit), when its files were replaced (a planned
restart), or when another daemon has its lock. It never leaves in the middle of a turn unless it is told to by force.
Every way out goes through `leaving`: there the socket has lost its name, so that a new daemon can begin.
"""

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from sould.daemon.dial import BridgeError
from sould.daemon.hello import VERSION
from sould.daemon.identity import Identity, write_owner
from sould.daemon.launch import publish, take_lock
from sould.daemon.limits import IDLE_EXIT, Limits
from sould.daemon.namewatch import LOOK, NameWatch
from sould.daemon.paths import Paths, UnsafePathError, ensure_private
from sould.daemon.process.server import Connection, Server

if TYPE_CHECKING:
    from sould.daemon.process.sessions import Sessions

_log = logging.getLogger(__name__)

DRAIN_POLL = 0.1
"""Between looks whether the last turn has ended: turns tell their clients, not us."""


class Exit(Enum):
    """Why the daemon ends."""

    IDLE = "it was idle"
    STOP = "it was asked to stop"
    RESTART = "it is restarting"
    REPLACED = "a newer version takes over"


class Lifecycle:
    """Created before the server; `watch` runs until the daemon should leave."""

    def __init__(
        self, paths: Paths, limits: Limits, sessions: "Sessions", lock: int, *, activated: bool = False
    ) -> None:
        """`activated`: a service manager listens under our name, too."""
        self._paths = paths
        self._lock = lock
        self._limits = limits
        self._sessions = sessions
        self._woken = asyncio.Event()
        self._idle_since: float | None = time.monotonic()
        self._inode = inode_of(paths.socket)
        self._package = self._last_stamp = package_stamp()
        self._terms = 0
        self._names = NameWatch(paths.runtime)
        self._look = True
        """Something may have happened to our names: look at once."""
        self._lost = False
        """Another daemon has the lock: the names are its own."""
        self.activated = activated
        """The name is not ours: it stays when we leave, and whoever connects then has the next daemon started."""
        self.exit: Exit | None = None
        self.force = False
        self.package_changed = False
        self.failed_restarts: set[float] = set()
        """Stamps of our files with which the next daemon did not start: not tried again."""

    # --- what others tell it ------------------------------------------------------------------------------------

    def changed(self) -> None:
        """Connections or turns began or ended."""
        self._woken.set()

    def leave(self, reason: Exit, *, force: bool = False) -> None:
        """Begin to leave; all wait for turns that would be interrupted, unless forced."""
        if self.exit is not Exit.STOP:
            self.exit = reason
        self.force = self.force or force
        self._woken.set()

    def look(self) -> None:
        """Names in our directory have changed, or a client found nobody who listens there."""
        self._look = True
        self._woken.set()

    @property
    def draining(self) -> str:
        """Why the daemon is about to leave, or ""."""
        return self.exit.value if self.exit else ""

    @property
    def idle_exit(self) -> float:
        """Seconds without client and turn after which the daemon leaves; 0 or less: never."""
        if self._limits.idle_exit is not None:
            return self._limits.idle_exit
        return IDLE_EXIT if self._sessions.idle_exit is None else self._sessions.idle_exit

    @property
    def stop_limit(self) -> float:
        """Seconds that ending the turns may take."""
        return self._limits.stop_again if self._terms > 1 else self._limits.stop

    def install_signals(self, hurry: Callable[[], None]) -> None:
        """TERM and INT stop the daemon, a second one calls `hurry`; HUP reads the configuration again."""
        loop = asyncio.get_running_loop()

        def stop(name: str) -> None:
            self._terms += 1
            _log.info("%s", name)
            if self._terms > 1:
                hurry()
            self.leave(Exit.STOP, force=True)

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop, number.name)
        loop.add_signal_handler(signal.SIGHUP, self._sessions.reload)
        loop.add_signal_handler(LOOK, self.look)

    # --- the watch ----------------------------------------------------------------------------------------------

    async def watch(self, server: Server) -> Exit:
        """Return when it is time to leave; the socket has lost its name then."""
        checked = time.monotonic()
        while True:
            if self.exit is not None and (self.force or self._sessions.turns_to_finish == 0):
                if self.exit is not Exit.RESTART:
                    self._hide()
                return self.exit
            self._note_idle(server)
            if self._idle_left() <= 0 and self._leave_idle(server):
                self.exit = Exit.IDLE
                return Exit.IDLE
            if self._look:
                self._look = False
                self._check_names(server)
            if time.monotonic() - checked >= self._limits.self_check:
                checked = time.monotonic()
                self._look = True  # where nobody tells us
                self._check_package()
                continue
            if self.exit is not None:
                await self._sleep(DRAIN_POLL)
                continue
            await self._sleep(min(self._idle_left(), self._limits.self_check - (time.monotonic() - checked)))

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()

    def _note_idle(self, server: Server) -> None:
        if server.busy or self._sessions.running_turns or self._sessions.background_tasks:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()

    def _idle_left(self) -> float:
        if self._idle_since is None or self.idle_exit <= 0:
            return self._limits.self_check
        return self._idle_since + self.idle_exit - time.monotonic()

    def _leave_idle(self, server: Server) -> bool:
        """Take the socket's name away, then look once more who came before that."""
        if self.activated:
            return self._leave_queue(server)
        hidden = self._paths.runtime + "/s.leaving"
        if inode_of(self._paths.socket) != self._inode:
            self._idle_since = time.monotonic()
            return False
        os.rename(self._paths.socket, hidden)
        server.pause()
        while server.accept_one():
            pass
        if server.busy:
            os.rename(hidden, self._paths.socket)
            server.accept()
            return False
        os.unlink(hidden)
        return True

    def _leave_queue(self, server: Server) -> bool:
        """Leave whoever comes from now on to the service manager."""
        server.pause()
        while server.accept_one():
            pass
        if server.busy:
            server.accept()
        return not server.busy

    def _hide(self) -> None:
        if self.activated:
            return
        if self._inode is not None and inode_of(self._paths.socket) == self._inode:
            os.unlink(self._paths.socket)
        self._inode = None

    def _check_names(self, server: Server) -> None:
        """Lock and socket must still be ours."""
        if self._lost:
            return
        if not self._holds_lock():
            _log.warning("another daemon holds %s; exiting", self._paths.lock)
            self._inode, self._lost = None, True
            self.leave(Exit.REPLACED)
            return
        if self._inode is None or inode_of(self._paths.socket) != self._inode:
            _log.warning("%s was removed or taken over; publishing it again", self._paths.socket)
            self._publish_again(server)
        self._names.renew()

    def _check_package(self) -> None:
        """Begin a restart once our files have changed and then stayed as they are for a whole interval."""
        stamp, before = package_stamp(), self._last_stamp
        self._last_stamp = stamp
        if stamp == self._package or stamp in self.failed_restarts:
            return
        self.package_changed = True
        if stamp == 0.0:
            if before != 0.0:
                _log.warning("our own files are gone; running on what is loaded")
        elif stamp == before and self.exit is None:
            _log.info("our own files changed; restarting when no turn runs")
            self.failed_restarts.add(stamp)
            self.exit = Exit.RESTART

    def _holds_lock(self) -> bool:
        """Whether our lock is still the one others look at; a file that was removed is locked anew."""
        mine = os.fstat(self._lock)
        if inode_of(self._paths.lock) == (mine.st_dev, mine.st_ino):
            return True
        try:
            ensure_private(self._paths.runtime)
            fresh = take_lock(self._paths)
        except (BridgeError, UnsafePathError, OSError) as error:
            _log.warning("cannot keep %s: %s", self._paths.lock, error)
            return True
        if fresh is None:
            return False
        os.dup2(fresh, self._lock, inheritable=False)
        os.close(fresh)
        write_owner(self._lock, Identity.mine(), VERSION)
        return True

    def _publish_again(self, server: Server) -> None:
        """Give a new listening socket our name. We hold the lock, so whoever sits there is no daemon."""
        try:
            ensure_private(self._paths.runtime)
            listener = publish(self._paths)
        except (BridgeError, UnsafePathError) as error:
            _log.warning("cannot listen: %s", error)
            return
        server.replace_listener(socket.socket(fileno=listener))
        self.activated = False
        self._inode = inode_of(self._paths.socket)

    def stay(self, server: Server) -> None:
        """The restart failed: go on as before."""
        self.exit = Exit.REPLACED if self._lost else None
        self.force = False
        self._look = True
        server.accept()


def inode_of(path: str) -> tuple[int, int] | None:
    """What the name stands for now; None when there is nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def package_stamp() -> float:
    """A number that changes when one of this package's files does; 0 when they are gone."""
    newest = 0.0
    directory = os.path.dirname(os.path.abspath(__file__))
    try:
        for folder in (os.path.dirname(directory), directory):
            for entry in os.scandir(folder):
                if entry.name.endswith(".py"):
                    newest = max(newest, entry.stat().st_mtime)
    except OSError:
        return 0.0
    return newest


def describe_clients(connections: "list[Connection]") -> str:
    """For log lines."""
    return ", ".join(f"{connection.id} {connection.hello.frontend}" for connection in connections) or "none"
