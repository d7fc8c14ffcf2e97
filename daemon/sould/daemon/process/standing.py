"""What `sould status` shows of the daemon: itself, who is connected, what runs and what waits."""

import asyncio
import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sould.daemon.configuration.configfile import config_path
from sould.daemon.hello import PROTOCOL, VERSION
from sould.daemon.methods import (
    ConnectionInfo,
    Counts,
    GetCounts,
    GetStatus,
    LanguageServerState,
    LoopInfo,
    McpState,
    Memory,
    ProjectState,
    SessionState,
    Status,
)
from sould.daemon.paths import Paths
from sould.daemon.process.lifecycle import Lifecycle
from sould.daemon.process.server import Connection, Server
from sould.daemon.process.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sould.agents.mcp.server import Server as McpServer
    from sould.agents.sessions.port import SessionPort
    from sould.agents.tools.languageservers.backend import RunningServer

PROMPT = 200
"""Characters of a queued prompt in a list."""


class Standing:
    """One object for all that ask."""

    def __init__(
        self, paths: Paths, server: Server, sessions: Sessions, lifecycle: Lifecycle, *, started: float
    ) -> None:
        """`started`: when the daemon did, by the monotonic clock."""
        self._paths = paths
        self._server = server
        self._sessions = sessions
        self._lifecycle = lifecycle
        self._started = started

    @property
    def uptime_s(self) -> float:
        """How long the daemon has been running."""
        return time.monotonic() - self._started

    async def status(self, _: GetStatus) -> Status:
        """All of it."""
        built = self._sessions.built
        sessions = tuple(built.port.sessions.values()) if built else ()
        loadable = built is not None or not self._lifecycle.package_changed  # what is not loaded may be gone
        roots = await self._roots(sessions)
        looping = {each.id for each in sessions if each.loops.running}
        return Status(
            version=VERSION,
            protocol=PROTOCOL,
            pid=os.getpid(),
            uptime_s=self.uptime_s,
            memory=memory(),
            threads=threading.active_count(),
            descriptors=_count_descriptors(),
            descriptor_limit=_descriptor_limit(),
            connections=tuple(_connection(each) for each in self._server.connections.values()),
            sessions=tuple(self.state(session, roots) for session in sessions),
            mcp=tuple(_server(server, users) for server, users in built.mcp.uses) if built else (),
            language_servers=tuple(map(_language_server, built.port.languages.now())) if built else (),
            loops=await asyncio.to_thread(_loops, self._paths, looping) if loadable else (),
            running_turns=self._sessions.running_turns,
            guard_pid=built.guard_pid if built else None,
            draining=self._lifecycle.draining,
            package_changed=self._lifecycle.package_changed,
            idle_exit_s=self._lifecycle.idle_exit,
            runtime_dir=self._paths.runtime,
            state_dir=self._paths.state,
            log_file=self._paths.log,
            config_file=str(config_path(self._paths, self._paths.environment)),
            projects=await self._projects(sessions, roots),
            counts=await self.counts(GetCounts()),
            repairs=dict(built.providers.repairs) if built else {},
        )

    async def counts(self, _: GetCounts) -> Counts:
        """What a status bar shows."""
        built = self._sessions.built
        if built is None:
            from sould.agents.sessions.store.waitingnotes import load_notes  # noqa: PLC0415 -- msgspec is all it needs

            noted = await asyncio.to_thread(load_notes, Path(self._paths.state, "waiting"))
            return Counts(running=0, waiting=sum(map(len, noted.values())), hunks=0)
        port = built.port
        running = sum(session.turns.running for session in port.sessions.values())
        return Counts(running=running, waiting=port.inbox.count, hunks=sum(port.pending_hunks.values()))

    async def _roots(self, sessions: "Iterable[SessionPort]") -> "dict[Path, Path]":
        """The projects of the directories in which sessions are, or wait for somebody."""
        built = self._sessions.built
        if built is None:
            return {}
        home = Path(self._paths.environment.get("HOME", "/"))
        directories = {each.session.cwd for each in await built.port.inbox.all()} | {each.info.cwd for each in sessions}
        return {cwd: await built.port.project_root(cwd, home) for cwd in directories}

    async def _projects(
        self, sessions: "tuple[SessionPort, ...]", roots: "Mapping[Path, Path]"
    ) -> tuple[ProjectState, ...]:
        built = self._sessions.built
        if built is None:
            return ()
        hunks = built.port.pending_hunks
        waiting = Counter(each.session.cwd for each in await built.port.inbox.all())
        return tuple(
            ProjectState(
                root=str(root),
                sessions=sum(roots[each.info.cwd] == root for each in sessions),
                running=sum(each.turns.running for each in sessions if roots[each.info.cwd] == root),
                waiting=sum(count for cwd, count in waiting.items() if roots.get(cwd) == root),
                hunks=hunks.get(root, 0),
            )
            for root in sorted({*roots.values(), *hunks})
        )

    async def session(self, session: "SessionPort") -> SessionState:
        """One session that is in memory."""
        return self.state(session, await self._roots([session]))

    def state(self, session: "SessionPort", roots: "Mapping[Path, Path]") -> SessionState:
        """The same, by the roots of the projects."""
        from sould.agents.clients.inbox.shown import shortened, shown_item  # noqa: PLC0415 -- a session is here, so it is loaded already
        from sould.agents.wire.content import input_text  # noqa: PLC0415 -- as above

        options = {option.id: str(option.value) for option in session.options.all()}
        built = self._sessions.built
        waiting = [each for each in built.port.inbox.live if each.session.id == session.id] if built else []
        shown = shortened(
            tuple(shown_item(each, str(roots.get(each.session.cwd, each.session.cwd))) for each in waiting)
        )
        return SessionState(
            id=session.id,
            title=session.info.title,
            cwd=str(session.info.cwd),
            running=session.turns.running,
            looping=session.loops.running,
            queued=len(session.queue.waiting),
            pending=len(session.pending),
            waiting=tuple(replace(each, edits=()) for each in shown),
            prompts=tuple(input_text(prompt.user_input)[:PROMPT] for prompt in session.queue.waiting),
            mode=options.get("mode", ""),
            model=options.get("model", ""),
        )


def _connection(connection: Connection) -> ConnectionInfo:
    return ConnectionInfo(
        id=connection.id,
        frontend=connection.hello.frontend,
        pid=connection.hello.pid,
        client=connection.client,
        cwd=connection.hello.cwd.encode("utf-8", "replace").decode(),
        age_s=time.monotonic() - connection.opened,
        buffered_bytes=connection.stream.buffered if connection.stream else 0,
        sessions=connection.sessions,
    )


def _server(server: "McpServer", users: int) -> McpState:
    return McpState(
        name=server.spec.name,
        state=server.state,
        trouble=server.trouble,
        tools=len(server.definitions),
        sessions=users,
        pid=server.pid,
    )


def _language_server(server: "RunningServer") -> LanguageServerState:
    return LanguageServerState(
        name=server.name,
        root=str(server.root),
        pid=server.pid,
        memory_bytes=server.memory,
        unused_s=server.unused_s,
    )


def _loops(paths: Paths, running: "set[str]") -> tuple[LoopInfo, ...]:
    """The loops that run, or that the end of a daemon cut off."""
    from sould.agents.sessions.loops.state import LoopStore  # noqa: PLC0415 -- only when asked

    return tuple(
        LoopInfo(
            session=loop.session_id,
            cwd=str(loop.cwd),
            standing=loop.standing(running),
            completed=loop.completed,
            runs=loop.runs,
            prompt=loop.prompt,
        )
        for loop in LoopStore(Path(paths.state, "loops")).list()
        if loop.status == "running" or loop.session_id in running
    )


def open_turn(session: "SessionPort") -> str:
    """The turn that is not over, in words."""
    from sould.agents.clients.inbox.shown import request_lines  # noqa: PLC0415 -- a session is here, so it is loaded already
    from sould.agents.permissions.visible import both_ends  # noqa: PLC0415 -- as above
    from sould.agents.sessions.inbox import ForAPerson  # noqa: PLC0415 -- as above

    asks = next((each for each in session.pending if isinstance(each, ForAPerson)), None)
    question = ""
    if asks is not None:
        title, lines = request_lines(asks)
        question = " ".join(("", "asks:", title, *both_ends(lines, 1)))
    return f"{session.info.cwd.name}: “{session.info.title or '(no title)'}”{question}"


def memory() -> Memory:
    """Of this process, as the kernel counts it."""
    found = {"Rss": 0, "Pss": 0}
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if name in found:
                    found[name] = int(rest.split()[0]) * 1024
    except OSError:
        import resource  # noqa: PLC0415 -- only where /proc is missing

        found["Rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS; a peak, better than nothing
    return Memory(rss_bytes=found["Rss"], pss_bytes=found["Pss"])


def _count_descriptors() -> int:
    try:
        return len(os.listdir("/dev/fd")) - 1
    except OSError:
        return 0


def _descriptor_limit() -> int:
    import resource  # noqa: PLC0415 -- not on the path to `initialize`

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
