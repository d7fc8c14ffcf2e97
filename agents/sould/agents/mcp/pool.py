"""The MCP servers of a daemon: one process for every identical server, shared by the sessions that use it (D36).

Servers are counted by use and end some time after the last session let go of them. Nothing is shared between sessions
whose command, arguments, environment (but `OF_ONE_WINDOW`), directory or roots differ.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import orjson
from msgspec import Struct

from sould.agents.base.config import McpClient
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.mcp.server import Server, ServerPlace
from sould.agents.mcp.signins import StoredSignIns
from sould.agents.mcp.specs import MayStart, ServerSpec

OF_ONE_WINDOW = frozenset(
    {
        *("COLUMNS", "LINES", "OLDPWD", "SHLVL", "WINDOW", "WINDOWID", "_"),
        *("DESKTOP_STARTUP_ID", "INVOCATION_ID", "JOURNAL_STREAM", "XDG_ACTIVATION_TOKEN", "XDG_SESSION_ID"),
        *("SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SHELL_SESSION_ID", "STARSHIP_SESSION_KEY"),
        *("ALACRITTY_WINDOW_ID", "GNOME_TERMINAL_SCREEN", "GUAKE_TAB_UUID", "ITERM_SESSION_ID", "KITTY_WINDOW_ID"),
        *("KONSOLE_DBUS_SESSION", "KONSOLE_DBUS_WINDOW", "TERMINATOR_UUID", "TERM_SESSION_ID", "TILIX_ID"),
        *("TMUX_PANE", "WEZTERM_PANE", "WT_SESSION", "ZELLIJ_PANE_ID"),
    }
)
"""Variables that say which shell, terminal or connection a session was opened from. They mean nothing to a server, which has
no terminal, but differ in each: with them in the key every new window would start all servers once more. What names a
socket (`TMUX`, `SSH_AUTH_SOCK`, `DISPLAY`) is not among them: a server may use it."""


class _Entry(Struct):
    key: str
    own: str
    """What tells a process that is not shared from others of its kind."""
    server: Server
    task: asyncio.Task[None]
    users: int = 0
    ending: asyncio.Task[None] | None = None

    def take(self) -> Server:
        """One more session uses it; it does not end."""
        if self.ending is not None:
            self.ending.cancel()
            self.ending = None
        self.users += 1
        return self.server

    def let_go(self) -> bool:
        """One session fewer uses it; whether that was the last."""
        self.users -= 1
        return self.users == 0

    def end_by(self, ending: asyncio.Task[None]) -> None:
        """`ending` ends it, unless somebody takes it before."""
        self.ending = ending

    def rename(self, key: str) -> None:
        """It is of another kind now: its roots have become others."""
        self.key = key


class McpPool:
    """`running` owns every server's task; acquire and release are only called inside it."""

    def __init__(self, guard: ProcessGuard, config: LiveConfig, sign_ins: StoredSignIns, version: str) -> None:
        """`version`: sould's, as servers are told it."""
        self._guard = guard
        self._config = config
        self._sign_ins = sign_ins
        self._version = version
        self._group: asyncio.TaskGroup | None = None
        self._entries: dict[str, _Entry] = {}
        self._own = 0

    @property
    def limits(self) -> McpClient:
        """As they are configured."""
        return self._config.now.mcp.client

    @property
    def uses(self) -> tuple[tuple[Server, int], ...]:
        """All servers that run or try to, and how many sessions use each."""
        return tuple((entry.server, entry.users) for entry in self._entries.values())

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Own the servers; when this is left they have ended, with all their processes."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None
                for entry in self._entries.values():
                    entry.task.cancel()
                    if entry.ending is not None:
                        entry.ending.cancel()
                self._entries.clear()

    def acquire(self, spec: ServerSpec, place: ServerPlace, may_start: MayStart) -> Server:
        """The server for this use, started in the background if it does not run yet. Pair with `release`."""
        assert self._group is not None, "the pool does not run"
        own = ""
        if not spec.shared:
            self._own += 1
            own = f" {self._own}"
        key = _key(spec, place) + own
        entry = self._entries.get(key)
        if entry is None:
            server = Server(spec, place, self._guard, self._config, self._sign_ins, self._version)
            entry = _Entry(key, own, server, self._group.create_task(server.run(), name=f"MCP server {spec.name}"))
            self._entries[key] = entry
        else:
            entry.server.want()
        entry.server.users.append(may_start)
        return entry.take()

    def move(self, server: Server, place: ServerPlace, may_start: MayStart) -> Server:
        """The server for a session whose roots have become others: the same, told of them, unless other sessions use it."""
        entry = next((entry for entry in self._entries.values() if entry.server is server), None)
        if entry is None or self._group is None:
            return server
        key = _key(server.spec, place) + entry.own
        if entry.users > 1 or key in self._entries:
            other = self.acquire(server.spec, place, may_start)
            self.release(server, may_start)
            return other
        self._entries[key] = self._entries.pop(entry.key)
        entry.rename(key)
        server.move(place)
        return server

    def release(self, server: Server, may_start: MayStart, *, removed: bool = False) -> None:
        """A session no longer uses it: a shared one ends after the idle time, others at once. `removed`: nobody configures it so now."""
        entry = next((entry for entry in self._entries.values() if entry.server is server), None)
        if entry is None or self._group is None:
            return
        server.users.remove(may_start)
        if entry.let_go():
            kept = server.spec.shared and server.spec.carrier is None and not removed
            seconds = self._config.look().mcp.client.idle_stop_s if kept else 0
            entry.end_by(self._group.create_task(self._end(entry, seconds), name=f"end {server.spec.name}"))

    def end_unused(self) -> None:
        """Those that only wait for the idle time end now."""
        for entry in [each for each in self._entries.values() if not each.users]:
            if entry.ending is not None:
                entry.ending.cancel()
            del self._entries[entry.key]
            entry.task.cancel()

    async def _end(self, entry: _Entry, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._entries.pop(entry.key, None)
        entry.task.cancel()


def _key(spec: ServerSpec, place: ServerPlace) -> str:
    """What two uses must have in common to share a process; the environment goes in as a hash only."""
    told = [
        spec.name,
        spec.transport,
        spec.command,
        spec.args,
        sorted(spec.env.items()),
        spec.cwd,
        spec.url,
        sorted(spec.headers.items()),
        spec.server_id,
        spec.carrier.id if spec.carrier is not None else "",
        sorted((name, value) for name, value in place.variables.items() if name not in OF_ONE_WINDOW),
        str(place.cwd),
        [str(root) for root in place.roots],
        place.umask,
        place.sampling,
    ]
    return hashlib.sha256(orjson.dumps(told)).hexdigest()
