"""Serve the control frontend: one answer per line, from what the daemon knows.

A handler raises `SouldError` for what the user did wrong; anything
else it raises is ours, logged, and answered as an internal error.
"""

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sould.agents.base.errors import OptionError
from sould.agents.base.rpc.connection import Connection as RpcConnection
from sould.agents.base.rpc.connection import Limits as RpcLimits
from sould.agents.base.rpc.connection import Reply
from sould.agents.base.rpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from sould.agents.base.rpc.messages import Params
from sould.daemon.configuration.configfile import config_path
from sould.daemon.control import (
    CONTROL,
    Answered,
    AnswerParams,
    ArchiveParams,
    ConnectionInfo,
    ControlModel,
    Counts,
    Force,
    ForkParams,
    Found,
    FoundRow,
    FsckParams,
    FsckReport,
    IfIdle,
    LanguageServerState,
    Leaving,
    ListParams,
    LoopInfo,
    McpState,
    Memory,
    Nothing,
    Pong,
    ProjectState,
    PrunedRow,
    PruneParams,
    PruneReport,
    RenameParams,
    RequestId,
    SearchParams,
    SessionDetail,
    SessionId,
    SessionPage,
    SessionRow,
    SessionState,
    Status,
    Waiting,
)
from sould.daemon.hello import PROTOCOL, VERSION
from sould.daemon.identity import Identity
from sould.daemon.jsonvalues import NotAsDeclaredError
from sould.daemon.paths import Paths
from sould.daemon.process.handshake import Hello
from sould.daemon.process.lifecycle import Exit, Lifecycle
from sould.daemon.process.server import Connection, Server
from sould.daemon.process.sessions import Sessions
from sould.daemon.process.worktrees import WorktreeHandlers, session_row

if TYPE_CHECKING:
    from sould.agents.mcp.server import Server as McpServer
    from sould.agents.sessions.port import SessionPort
    from sould.agents.sessions.store.store import StoredSession, WeighedSession
    from sould.agents.tools.languageservers.backend import RunningServer

Handler = Callable[[Any], Awaitable[ControlModel | Reply]]
MAX_LINE = 1_000_000
LOOKS = frozenset(
    {
        *("ping", "status", "counts", "requests.show", "fsck"),
        *("sessions.list", "sessions.search", "sessions.show", "sessions.export", "worktrees.list"),
    }
)
"""What something that an agent runs may ask for."""
PROMPT = 200
"""Characters of a queued prompt in a list."""


class ControlFrontend:
    """The frontend; one object serves all control connections."""

    def __init__(
        self, paths: Paths, server: Server, sessions: Sessions, lifecycle: Lifecycle, *, started: float
    ) -> None:
        """`started`: when the daemon did, by the monotonic clock."""
        self._paths = paths
        self._server = server
        self._sessions = sessions
        self._lifecycle = lifecycle
        self._started = started
        self._handlers: dict[str, Handler] = {
            "status": self._status,
            "counts": self._count,
            "stop": self._stop,
            "restart": self._restart,
            "shutdown_if_idle": self._shutdown_if_idle,
            "reload": self._reload,
            "sessions.list": self._list,
            "sessions.show": self._show,
            "sessions.search": self._search,
            "sessions.rename": self._rename,
            "sessions.archive": self._archive,
            "sessions.prune": self._prune,
            "sessions.delete": self._delete,
            "sessions.export": self._export,
            "sessions.cancel": self._cancel,
            "requests.show": self._show_request,
            "fsck": self._fsck,
            **WorktreeHandlers(sessions).table(),
        }

    async def __call__(self, connection: Connection) -> int:
        """Answer until the peer hangs up."""
        caller = Caller(self, connection)
        await RpcConnection(connection.open_stream(), caller, limits=RpcLimits(line=MAX_LINE)).serve()
        return 0

    async def answer(self, connection: Connection, method: str, params: Params) -> Any:
        """The answer to one request of a client."""
        if method not in CONTROL:
            raise RpcError(METHOD_NOT_FOUND, f"There is no control method {method[:80]!r} in sould {VERSION}.")
        model, _ = CONTROL[method]
        try:
            asked = model.read(params)
        except NotAsDeclaredError as error:
            raise RpcError(INVALID_PARAMS, f"{method}: {error}.") from None
        if connection.of_agent and method not in LOOKS:
            raise OptionError(
                "What the agent runs cannot answer for you or delete anything of yours; do this in a terminal or an "
                "editor of your own."
            )
        if method == "ping":
            return self._ping(of_agent=connection.of_agent).to_json()
        if isinstance(asked, AnswerParams):
            return (await self._answer_request(asked, connection.hello)).to_json()
        if isinstance(asked, ForkParams):
            return (await self._fork(asked, connection.hello)).to_json()
        answer = await self._handlers[method](asked)
        if isinstance(answer, Reply):
            return answer
        return answer.to_json()

    # --- the daemon ---------------------------------------------------------------------------------------------

    def _ping(self, *, of_agent: bool) -> Pong:
        me = Identity.mine()
        return Pong(
            version=VERSION,
            protocol=PROTOCOL,
            pid=me.pid,
            start_ticks=me.start_ticks,
            boot_id=me.boot_id,
            uptime_s=time.monotonic() - self._started,
            of_agent=of_agent,
        )

    async def _status(self, _: Nothing) -> Status:
        built = self._sessions.built
        sessions = tuple(built.port.sessions.values()) if built else ()
        loadable = built is not None or not self._lifecycle.package_changed  # what is not loaded may be gone
        looping = {each.id for each in sessions if each.looping}
        return Status(
            version=VERSION,
            protocol=PROTOCOL,
            pid=os.getpid(),
            uptime_s=time.monotonic() - self._started,
            memory=memory(),
            threads=threading.active_count(),
            descriptors=_count_descriptors(),
            descriptor_limit=_descriptor_limit(),
            connections=tuple(_connection(each) for each in self._server.connections.values()),
            sessions=tuple(_state(session) for session in sessions),
            mcp=tuple(_server(server, users) for server, users in built.mcp.uses) if built else (),
            language_servers=tuple(map(_language_server, built.port.language_servers)) if built else (),
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
            projects=await self._projects(sessions),
            counts=await self._count(Nothing()),
            repairs=dict(built.providers.repairs) if built else {},
        )

    async def _count(self, _: Nothing) -> Counts:
        built = self._sessions.built
        if built is None:
            from sould.agents.sessions.store.waitingnotes import load_notes  # noqa: PLC0415 -- msgspec is all it needs

            noted = await asyncio.to_thread(load_notes, Path(self._paths.state, "waiting"))
            return Counts(running=0, waiting=sum(map(len, noted.values())), hunks=0)
        port = built.port
        running = sum(session.running for session in port.sessions.values())
        return Counts(running=running, waiting=port.inbox.count, hunks=sum(port.pending_hunks.values()))

    async def _projects(self, sessions: "tuple[SessionPort, ...]") -> tuple[ProjectState, ...]:
        built = self._sessions.built
        if built is None:
            return ()
        home, hunks = Path(self._paths.environment.get("HOME", "/")), built.port.pending_hunks
        waiting = Counter(each.session.cwd for each in await built.port.inbox.all())
        roots = {cwd: await built.port.project_root(cwd, home) for cwd in {*waiting, *(s.info.cwd for s in sessions)}}
        return tuple(
            ProjectState(
                root=str(root),
                sessions=sum(roots[each.info.cwd] == root for each in sessions),
                running=sum(each.running for each in sessions if roots[each.info.cwd] == root),
                waiting=sum(count for cwd, count in waiting.items() if roots[cwd] == root),
                hunks=hunks.get(root, 0),
            )
            for root in sorted({*roots.values(), *hunks})
        )

    async def _stop(self, params: Force) -> Reply:
        return self._leave(self._leaving(), Exit.STOP, force=params.force)

    def _leaving(self) -> Leaving:
        built = self._sessions.built
        busy = [each for each in built.port.sessions.values() if each.busy] if built is not None else []
        return Leaving(pid=os.getpid(), running_turns=self._sessions.running_turns, turns=tuple(map(_open_turn, busy)))

    async def _restart(self, params: Force) -> Reply:
        return self._leave(self._leaving(), Exit.RESTART, force=params.force)

    async def _shutdown_if_idle(self, _: Nothing) -> Reply:
        turns = self._sessions.running_turns
        answer = IfIdle(leaving=turns == 0, running_turns=turns, version=VERSION, pid=os.getpid())
        return self._leave(answer, Exit.REPLACED, force=False)

    def _leave(self, answer: ControlModel, reason: Exit, *, force: bool) -> Reply:
        """Leaving closes this connection, too: first the answer."""
        return Reply(answer.to_json(), lambda: self._lifecycle.leave(reason, force=force))

    async def _reload(self, _: Nothing) -> Nothing:
        self._sessions.reload()
        return Nothing()

    # --- sessions -----------------------------------------------------------------------------------------------

    async def _list(self, params: ListParams) -> SessionPage:
        host = await self._sessions.host()
        cwd = Path(params.cwd) if params.cwd else None
        page = await host.list(cwd, params.cursor, max(1, min(params.limit, 500)), archived=params.archived)
        branches = await host.branches(info.cwd for info in page.items)
        rows = (
            session_row(info, branches.get(info.cwd, ""), live=host.live(info.id) is not None) for info in page.items
        )
        return SessionPage(sessions=tuple(rows), next_cursor=page.next_cursor)

    async def _search(self, params: SearchParams) -> Found:
        host = await self._sessions.host()
        cwd = Path(params.cwd) if params.cwd else None
        found = await host.search(params.query, cwd, max(1, min(params.limit, 500)), archived=params.archived)
        return Found(
            sessions=tuple(
                FoundRow(session=session_row(each.info, live=host.live(each.info.id) is not None), snippet=each.snippet)
                for each in found
            )
        )

    async def _show(self, params: SessionId) -> SessionDetail:
        stored = await self._find(params.id)
        live = (await self._sessions.host()).live(stored.info.id)
        return SessionDetail(
            session=session_row(stored.info, live=live is not None),
            directory=str(stored.directory),
            state=_state(live) if live else None,
        )

    async def _export(self, params: SessionId) -> SessionDetail:
        detail = await self._show(params)
        live = (await self._sessions.host()).live(detail.session.id)
        if live is not None:
            await live.commit()
        return detail

    async def _rename(self, params: RenameParams) -> SessionRow:
        stored = await self._find(params.id)
        await (await self._sessions.host()).rename(stored.info.id, params.title)
        return (await self._show(SessionId(id=stored.info.id))).session

    async def _archive(self, params: ArchiveParams) -> SessionRow:
        stored, host = await self._find(params.id), await self._sessions.host()
        info = await host.archive(stored.info.id, archived=params.archived)
        return session_row(info, live=host.live(info.id) is not None)

    async def _fork(self, params: ForkParams, hello: Hello) -> SessionRow:
        """With the environment of who asks; it then waits on disk for a client."""
        from sould.agents.soul.session_request import SessionRequest  # noqa: PLC0415 -- a session is to be made: all is loaded

        source, host = (await self._find(params.id)).info, await self._sessions.host()
        umask = self._umask(hello)
        cwd = Path(params.cwd) if params.cwd else source.cwd
        opening = SessionRequest(cwd, source.additional, hello.environment, umask)
        fork = await host.fork(source.id, opening)
        if source.title:
            await host.rename(fork.id, f"{source.title} (fork)")
        await host.detach(fork.id, "")
        return session_row((await host.find(fork.id)).info, live=host.live(fork.id) is not None)

    async def _prune(self, params: PruneParams) -> PruneReport:
        from sould.agents.sessions.hostport import PruneRule  # noqa: PLC0415 -- all is loaded by now

        host = await self._sessions.host()
        rule = PruneRule(params.older_than, params.larger_than)
        done = await host.prune(
            rule, only=None if params.only is None else frozenset(params.only), dry_run=params.dry_run
        )
        return PruneReport(
            removed=tuple(_pruned(each) for each in done.removed),
            left=tuple(
                _pruned(each.session, each.reason, live=host.live(each.session.info.id) is not None)
                for each in done.left
            ),
        )

    async def _delete(self, params: SessionId) -> Nothing:
        stored = await self._find(params.id)
        await (await self._sessions.host()).delete(stored.info.id)
        return Nothing()

    async def _cancel(self, params: SessionId) -> Nothing:
        live = (await self._sessions.host()).live(params.id)
        if live is not None:
            live.cancel(None)
        return Nothing()

    # --- what waits for a person ----------------------------------------------------------------------------------

    async def _show_request(self, params: RequestId) -> Waiting:
        from sould.daemon.process.waiting import find, shown_request  # noqa: PLC0415 -- brings Wire's messages with it

        found = await find(await self._sessions.host(), params.id)
        return shown_request(found.session.id, found.request, None)

    async def _answer_request(self, params: AnswerParams, hello: Hello) -> Answered:
        """With the environment of who answers, should its session not be in memory."""
        from sould.agents.clients.connections import ClientProcess  # noqa: PLC0415 -- as above
        from sould.daemon.process.waiting import answer  # noqa: PLC0415 -- as above

        return await answer(await self._sessions.host(), ClientProcess(hello.environment, self._umask(hello)), params)

    def _umask(self, hello: Hello) -> int:
        return self._sessions.umask if hello.umask is None else hello.umask

    async def _find(self, beginning: str) -> "StoredSession":
        """The session with this id, or the only one whose id begins so."""
        return await (await self._sessions.host()).find(beginning)

    async def _fsck(self, params: FsckParams) -> FsckReport:
        from sould.daemon.process.fsck import check_sessions  # noqa: PLC0415 -- brings the journal's readers with it

        directories = None if params.id is None else [(await self._find(params.id)).directory]
        return await asyncio.to_thread(check_sessions, Path(self._paths.state), directories)


class Caller:
    """One client of the frontend: some answers depend on who asks."""

    def __init__(self, frontend: ControlFrontend, connection: Connection) -> None:
        self._frontend = frontend
        self._connection = connection

    async def request(self, method: str, params: Params) -> Any:
        """See `sould.agents.base.rpc.connection.Handler`."""
        return await self._frontend.answer(self._connection, method, params)

    async def notification(self, method: str, params: Params) -> None:
        """The control frontend has none."""


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


def _pruned(session: "WeighedSession", reason: str = "", *, live: bool = False) -> PrunedRow:
    return PrunedRow(session=session_row(session.info, live=live), size=session.size, reason=reason)


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
    from sould.agents.soul.flows.loopstate import LoopStore  # noqa: PLC0415 -- only when asked

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


def _open_turn(session: "SessionPort") -> str:
    """The turn that is not over, in words."""
    from sould.daemon.process.waiting import waiting  # noqa: PLC0415 -- a session is here, so it is loaded already

    asks = next((each for each in waiting(session, 1) if each.kind != "program"), None)
    question = " ".join(("", "asks:", asks.title, *asks.lines)) if asks is not None else ""
    return f"{session.info.cwd.name}: “{session.info.title or '(no title)'}”{question}"


def _state(session: "SessionPort") -> SessionState:
    from sould.agents.wire.content import input_text  # noqa: PLC0415 -- a session is here, so it is loaded already
    from sould.daemon.process.waiting import waiting  # noqa: PLC0415 -- as above

    options = {option.id: str(option.value) for option in session.options()}
    return SessionState(
        id=session.id,
        title=session.info.title,
        cwd=str(session.info.cwd),
        running=session.running,
        looping=session.looping,
        queued=len(session.queue),
        pending=len(session.pending),
        waiting=waiting(session),
        prompts=tuple(input_text(prompt.user_input)[:PROMPT] for prompt in session.queue),
        mode=options.get("mode", ""),
        model=options.get("model", ""),
    )


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
