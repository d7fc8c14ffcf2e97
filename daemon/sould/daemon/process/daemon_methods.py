"""Serve the methods below `_sould/daemon`: one answer per line, from what the daemon knows.

A handler raises `SouldError` for what the user did wrong; anything
else it raises is ours, logged, and answered as an internal error.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import ValidationError, convert, to_builtins

from sould.agents.base.errors import OptionError
from sould.agents.base.rpc.connection import Connection as RpcConnection
from sould.agents.base.rpc.connection import Limits as RpcLimits
from sould.agents.base.rpc.connection import Reply
from sould.agents.base.rpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from sould.agents.base.rpc.messages import Params
from sould.daemon.hello import PROTOCOL, VERSION
from sould.daemon.identity import Identity
from sould.daemon.methods import (
    FIRST_RELEASE,
    PREFIX,
    ArchiveSession,
    CancelSession,
    CheckJournals,
    DaemonCall,
    DeleteSession,
    Done,
    ForkSession,
    FoundRow,
    FsckReport,
    GetCounts,
    GetStatus,
    Leaving,
    ListSessions,
    ListWorktrees,
    Ping,
    Pong,
    PrunedRow,
    PruneReport,
    PruneSessions,
    Reload,
    RenameSession,
    Restart,
    SearchSessions,
    SessionDetail,
    SessionPage,
    SessionRow,
    ShowSession,
    ShutdownIfIdle,
    Stop,
)
from sould.daemon.paths import Paths
from sould.daemon.process.handshake import Hello
from sould.daemon.process.lifecycle import Exit, Lifecycle
from sould.daemon.process.server import Connection
from sould.daemon.process.sessions import Sessions
from sould.daemon.process.standing import Standing, open_turn
from sould.daemon.process.worktrees import WorktreeHandlers, session_row

if TYPE_CHECKING:
    from sould.agents.sessions.hostport import HostPort
    from sould.agents.sessions.store.store import StoredSession, WeighedSession

Handler = Callable[[Any], Awaitable[Any]]
MAX_LINE = 1_000_000
LOOKS = (Ping, GetStatus, GetCounts, CheckJournals, ListSessions, SearchSessions, ShowSession, ListWorktrees)
"""What something that an agent runs may ask for."""


class DaemonMethods:
    """One object serves all connections that ask for them."""

    def __init__(self, paths: Paths, sessions: Sessions, lifecycle: Lifecycle, standing: Standing) -> None:
        self._paths = paths
        self._sessions = sessions
        self._lifecycle = lifecycle
        self._standing = standing
        handlers: dict[type[DaemonCall[Any]], Handler] = {
            GetStatus: standing.status,
            GetCounts: standing.counts,
            Stop: self._stop,
            Restart: self._restart,
            ShutdownIfIdle: self._shutdown_if_idle,
            Reload: self._reload,
            ListSessions: self._list,
            ShowSession: self._show,
            SearchSessions: self._search,
            RenameSession: self._rename,
            ArchiveSession: self._archive,
            PruneSessions: self._prune,
            DeleteSession: self._delete,
            CancelSession: self._cancel,
            CheckJournals: self._fsck,
            **WorktreeHandlers(sessions).table(),
        }
        self._handlers = handlers
        calls = (*handlers, Ping, ForkSession)
        self._calls = {PREFIX + each.method: each for each in calls}
        self._calls |= {each.method: each for each in calls if each.method in FIRST_RELEASE}

    async def __call__(self, connection: Connection) -> int:
        """Answer until the peer hangs up."""
        caller = Caller(self, connection)
        await RpcConnection(connection.open_stream(), caller, limits=RpcLimits(line=MAX_LINE)).serve()
        return 0

    async def answer(self, connection: Connection, method: str, params: Params) -> Any:
        """The answer to one request of a client."""
        kind = self._calls.get(method)
        if kind is None:
            raise RpcError(METHOD_NOT_FOUND, f"There is no method {method[:80]!r} in sould {VERSION}.")
        try:
            call = convert(params, kind)
        except ValidationError as error:
            raise RpcError(INVALID_PARAMS, f"{method}: {error}.") from None
        if connection.of_agent and not isinstance(call, LOOKS):
            raise OptionError(
                "What the agent runs cannot answer for you or delete anything of yours; do this in a terminal or an "
                "editor of your own."
            )
        answer = await self._answered(call, connection)
        if isinstance(answer, Reply):
            return answer
        found = to_builtins(answer)
        if not method.startswith(PREFIX):
            for session in found.get("sessions", ()):
                del session["waiting"]  # it had another shape in the first release
        return found

    async def _answered(self, call: DaemonCall[Any], connection: Connection) -> Any:
        if isinstance(call, Ping):
            return self._ping(of_agent=connection.of_agent)
        if isinstance(call, ForkSession):
            return await self._fork(call, connection.hello)
        return await self._handlers[type(call)](call)

    # --- the daemon ---------------------------------------------------------------------------------------------

    def _ping(self, *, of_agent: bool) -> Pong:
        me = Identity.mine()
        return Pong(
            version=VERSION,
            protocol=PROTOCOL,
            pid=me.pid,
            start_ticks=me.start_ticks,
            boot_id=me.boot_id,
            uptime_s=self._standing.uptime_s,
            of_agent=of_agent,
        )

    async def _stop(self, params: Stop) -> Reply:
        return self._leave(self._leaving(), Exit.STOP, force=params.force)

    def _leaving(self) -> Leaving:
        built = self._sessions.built
        busy = [each for each in built.port.sessions.values() if each.turns.busy] if built is not None else []
        return Leaving(pid=os.getpid(), running_turns=self._sessions.running_turns, turns=tuple(map(open_turn, busy)))

    async def _restart(self, params: Restart) -> Reply:
        return self._leave(self._leaving(), Exit.RESTART, force=params.force)

    async def _shutdown_if_idle(self, _: ShutdownIfIdle) -> Reply:
        turns = self._sessions.running_turns
        answer = Leaving(pid=os.getpid(), running_turns=turns, leaving=turns == 0, version=VERSION)
        return self._leave(answer, Exit.REPLACED, force=False)

    def _leave(self, answer: Leaving, reason: Exit, *, force: bool) -> Reply:
        """Leaving closes this connection, too: first the answer."""
        return Reply(to_builtins(answer), lambda: self._lifecycle.leave(reason, force=force))

    async def _reload(self, _: Reload) -> Done:
        self._sessions.reload()
        return Done()

    # --- sessions -----------------------------------------------------------------------------------------------

    async def _list(self, params: ListSessions) -> SessionPage:
        host = await self._sessions.host()
        cwd = Path(params.cwd) if params.cwd else None
        archived = "include" if params.archived else "exclude"
        limit = max(1, min(params.limit, 500))
        page = await host.stored.list(cwd, params.cursor, limit, archived=archived, origins=params.origin)
        rows = await host.stored.with_branches(page.items)
        return SessionPage(tuple(map(session_row, rows)), page.next_cursor, page.left_out)

    async def _search(self, params: SearchSessions) -> tuple[FoundRow, ...]:
        host = await self._sessions.host()
        cwd = Path(params.cwd) if params.cwd else None
        found = await host.stored.search(params.query, cwd, max(1, min(params.limit, 500)), archived=params.archived)
        return tuple(FoundRow(session=session_row(host.stored.row(each.info)), snippet=each.snippet) for each in found)

    async def _show(self, params: ShowSession) -> SessionDetail:
        stored = await self._find(params.id)
        host = await self._sessions.host()
        live = host.live(stored.info.id)
        if live is not None:
            await live.commit()
        return SessionDetail(
            session=session_row(host.stored.row(stored.info)),
            directory=str(stored.directory),
            state=await self._standing.session(live) if live is not None else None,
        )

    async def _rename(self, params: RenameSession) -> SessionRow:
        stored = await self._find(params.id)
        (await self._sessions.host()).stored.rename(stored.info.id, params.title)
        return (await self._show(ShowSession(stored.info.id))).session

    async def _archive(self, params: ArchiveSession) -> SessionRow:
        stored, host = await self._find(params.id), await self._sessions.host()
        return session_row(host.stored.row(host.stored.archive(stored.info.id, archived=params.archived)))

    async def _fork(self, params: ForkSession, hello: Hello) -> SessionRow:
        """With the environment of who asks; it then waits on disk for a client."""
        from sould.agents.soul.session_request import SessionRequest  # noqa: PLC0415 -- a session is to be made: all is loaded

        source, host = (await self._find(params.id)).info, await self._sessions.host()
        umask = self._sessions.umask if hello.umask is None else hello.umask
        cwd = Path(params.cwd) if params.cwd else source.cwd
        opening = SessionRequest(cwd, source.additional, hello.environment, umask, origin="terminal")
        fork = await host.fork(source.id, opening)
        if source.title:
            host.stored.rename(fork.id, f"{source.title} (fork)")
        await host.detach(fork.id, "")
        return session_row(host.stored.row(host.stored.find(fork.id).info))

    async def _prune(self, params: PruneSessions) -> PruneReport:
        host = await self._sessions.host()
        done = await host.stored.prune(
            older_than=params.older_than,
            larger_than=params.larger_than,
            only=None if params.only is None else frozenset(params.only),
            dry_run=params.dry_run,
        )
        return PruneReport(
            removed=tuple(_pruned(host, each) for each in done.removed),
            left=tuple(_pruned(host, each, reason) for each, reason in done.left),
        )

    async def _delete(self, params: DeleteSession) -> Done:
        stored = await self._find(params.id)
        await (await self._sessions.host()).stored.delete(stored.info.id)
        return Done()

    async def _cancel(self, params: CancelSession) -> Done:
        live = (await self._sessions.host()).live(params.id)
        if live is not None:
            live.turns.cancel(None)
        return Done()

    async def _find(self, beginning: str) -> "StoredSession":
        """The session with this id, or the only one whose id begins so."""
        return (await self._sessions.host()).stored.find(beginning)

    async def _fsck(self, params: CheckJournals) -> FsckReport:
        from sould.daemon.process.fsck import check_sessions  # noqa: PLC0415 -- brings the journal's readers with it

        directories = None if params.id is None else [(await self._find(params.id)).directory]
        return await asyncio.to_thread(check_sessions, Path(self._paths.state), directories)


class Caller:
    """One client: some answers depend on who asks."""

    def __init__(self, methods: DaemonMethods, connection: Connection) -> None:
        self._methods = methods
        self._connection = connection

    async def request(self, method: str, params: Params) -> Any:
        """See `sould.agents.base.rpc.connection.Handler`."""
        return await self._methods.answer(self._connection, method, params)

    async def notification(self, method: str, params: Params) -> None:
        """There is none."""


def _pruned(host: "HostPort", session: "WeighedSession", reason: str = "") -> PrunedRow:
    return PrunedRow(session=session_row(host.stored.row(session.info)), size=session.size, reason=reason)
