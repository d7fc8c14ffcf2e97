"""Serve the control face: one answer per line, from what the daemon knows.

A handler raises `SouldError` for what the user did wrong; anything
else it raises is ours, logged, and answered as an internal error.
"""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sould.agents.errors import SessionNotFoundError
from sould.agents.rpc.connection import Connection as RpcConnection
from sould.agents.rpc.connection import Limits as RpcLimits
from sould.agents.rpc.connection import Reply
from sould.agents.rpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from sould.agents.rpc.messages import Params
from sould.daemon.control import (
    CONTROL,
    ConnectionInfo,
    ControlModel,
    Force,
    FsckParams,
    FsckReport,
    IfIdle,
    Leaving,
    ListParams,
    McpState,
    Memory,
    Nothing,
    Pong,
    RenameParams,
    SessionDetail,
    SessionId,
    SessionPage,
    SessionRow,
    SessionState,
    Status,
)
from sould.daemon.hello import PROTOCOL, VERSION
from sould.daemon.identity import Identity
from sould.daemon.lifecycle import Exit
from sould.daemon.server import Connection

if TYPE_CHECKING:
    from sould.agents.mcp.server import Server
    from sould.agents.sessions.session import Session
    from sould.agents.sessions.store import SessionInfo, StoredSession
    from sould.daemon.daemon import Daemon

Handler = Callable[[Any], Awaitable[ControlModel | Reply]]
MAX_LINE = 1_000_000


class ControlFace:
    """The face; one object serves all control connections."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon
        self._handlers: dict[str, Handler] = {
            "ping": self._ping,
            "status": self._status,
            "stop": self._stop,
            "restart": self._restart,
            "shutdown_if_idle": self._shutdown_if_idle,
            "reload": self._reload,
            "sessions.list": self._list,
            "sessions.show": self._show,
            "sessions.rename": self._rename,
            "sessions.delete": self._delete,
            "sessions.export": self._export,
            "sessions.cancel": self._cancel,
            "fsck": self._fsck,
        }

    async def __call__(self, connection: Connection) -> int:
        """Answer until the peer hangs up."""
        await RpcConnection(connection.open_stream(), self, limits=RpcLimits(line=MAX_LINE)).serve()
        return 0

    async def request(self, method: str, params: Params) -> Any:
        """See `sould.agents.rpc.connection.Handler`."""
        if method not in CONTROL:
            raise RpcError(METHOD_NOT_FOUND, f"There is no control method {method[:80]!r} in sould {VERSION}.")
        model, _ = CONTROL[method]
        try:
            asked = model.model_validate(params)
        except ValidationError as error:
            raise RpcError(INVALID_PARAMS, f"{method}: {error.errors()[0]['msg']}") from None
        answer = await self._handlers[method](asked)
        if isinstance(answer, Reply):
            return answer
        return answer.model_dump(mode="json")

    async def notification(self, method: str, params: Params) -> None:
        """The control face has none."""

    # --- the daemon ---------------------------------------------------------------------------------------------

    async def _ping(self, _: Nothing) -> Pong:
        me = Identity.mine()
        return Pong(
            version=VERSION,
            protocol=PROTOCOL,
            pid=me.pid,
            start_ticks=me.start_ticks,
            boot_id=me.boot_id,
            uptime_s=time.monotonic() - self._daemon.started,
        )

    async def _status(self, _: Nothing) -> Status:
        daemon = self._daemon
        built = daemon.sessions.built
        sessions = built.host.sessions.values() if built else ()
        return Status(
            version=VERSION,
            protocol=PROTOCOL,
            pid=os.getpid(),
            uptime_s=time.monotonic() - daemon.started,
            memory=memory(),
            threads=threading.active_count(),
            descriptors=_count_descriptors(),
            descriptor_limit=_descriptor_limit(),
            connections=tuple(_connection(each) for each in daemon.server.connections.values()),
            sessions=tuple(_state(session) for session in sessions),
            mcp=tuple(_server(server, users) for server, users in built.mcp.uses) if built else (),
            running_turns=daemon.sessions.running_turns,
            guard_pid=built.guard_pid if built else None,
            draining=daemon.lifecycle.draining,
            package_changed=daemon.lifecycle.package_changed,
            idle_exit_s=daemon.lifecycle.idle_exit,
            runtime_dir=daemon.paths.runtime,
            state_dir=daemon.paths.state,
            log_file=daemon.paths.log,
        )

    async def _stop(self, params: Force) -> Reply:
        answer = Leaving(pid=os.getpid(), running_turns=self._daemon.sessions.running_turns)
        return self._leave(answer, Exit.STOP, force=params.force)

    async def _restart(self, params: Force) -> Reply:
        answer = Leaving(pid=os.getpid(), running_turns=self._daemon.sessions.running_turns)
        return self._leave(answer, Exit.RESTART, force=params.force)

    async def _shutdown_if_idle(self, _: Nothing) -> Reply:
        turns = self._daemon.sessions.running_turns
        answer = IfIdle(leaving=turns == 0, running_turns=turns, version=VERSION, pid=os.getpid())
        return self._leave(answer, Exit.REPLACED, force=False)

    def _leave(self, answer: ControlModel, reason: Exit, *, force: bool) -> Reply:
        """Leaving closes this connection, too: first the answer."""
        return Reply(answer.model_dump(mode="json"), lambda: self._daemon.lifecycle.leave(reason, force=force))

    async def _reload(self, _: Nothing) -> Nothing:
        self._daemon.sessions.reload()
        return Nothing()

    # --- sessions -----------------------------------------------------------------------------------------------

    async def _list(self, params: ListParams) -> SessionPage:
        host = await self._daemon.sessions.host()
        page = await host.list(Path(params.cwd) if params.cwd else None, params.cursor, max(1, min(params.limit, 500)))
        return SessionPage(
            sessions=tuple(_row(info, live=info.id in host.sessions) for info in page.items),
            next_cursor=page.next_cursor,
        )

    async def _show(self, params: SessionId) -> SessionDetail:
        stored = await self._find(params.id)
        live = (await self._daemon.sessions.host()).live(stored.info.id)
        return SessionDetail(
            session=_row(live.info if live else stored.info, live=live is not None),
            directory=str(stored.directory),
            state=_state(live) if live else None,
        )

    async def _export(self, params: SessionId) -> SessionDetail:
        detail = await self._show(params)
        live = (await self._daemon.sessions.host()).live(detail.session.id)
        if live is not None:
            await live.log.commit()
        return detail

    async def _rename(self, params: RenameParams) -> SessionRow:
        stored = await self._find(params.id)
        await (await self._daemon.sessions.host()).rename(stored.info.id, params.title)
        return (await self._show(SessionId(id=stored.info.id))).session

    async def _delete(self, params: SessionId) -> Nothing:
        stored = await self._find(params.id)
        await (await self._daemon.sessions.host()).delete(stored.info.id)
        return Nothing()

    async def _cancel(self, params: SessionId) -> Nothing:
        live = (await self._daemon.sessions.host()).live(params.id)
        if live is not None:
            live.cancel(None)
        return Nothing()

    async def _find(self, beginning: str) -> "StoredSession":
        """The session with this id, or the only one whose id begins so."""
        store = (await self._daemon.sessions.composition()).store
        try:
            return store.find(beginning)
        except SessionNotFoundError:
            matches: list[str] = []
            cursor: str | None = None
            while beginning:
                page = store.list(None, cursor, 500)
                matches += [info.id for info in page.items if info.id.startswith(beginning)]
                cursor = page.next_cursor
                if cursor is None:
                    break
            if len(matches) == 1:
                return store.find(matches[0])
            if matches:
                raise SessionNotFoundError(
                    f"{len(matches)} sessions begin with {beginning!r}; give more of the id."
                ) from None
            raise

    async def _fsck(self, params: FsckParams) -> FsckReport:
        from sould.daemon.fsck import check_sessions  # noqa: PLC0415 -- brings the journal's readers with it

        directories = None if params.id is None else [(await self._find(params.id)).directory]
        return await asyncio.to_thread(check_sessions, Path(self._daemon.paths.state), directories)


def _connection(connection: Connection) -> ConnectionInfo:
    return ConnectionInfo(
        id=connection.id,
        face=connection.hello.face,
        pid=connection.hello.pid,
        client=connection.client,
        cwd=connection.hello.cwd.encode("utf-8", "replace").decode(),
        age_s=time.monotonic() - connection.opened,
        buffered_bytes=connection.stream.buffered if connection.stream else 0,
        sessions=connection.sessions(),
    )


def _row(info: "SessionInfo", *, live: bool) -> SessionRow:
    return SessionRow(
        id=info.id,
        cwd=str(info.cwd),
        title=info.title,
        created=info.created,
        updated=info.updated,
        turns=info.turns,
        live=live,
    )


def _server(server: "Server", users: int) -> McpState:
    return McpState(
        name=server.spec.name,
        state=server.state,
        trouble=server.trouble,
        tools=len(server.definitions),
        sessions=users,
        pid=server.pid,
    )


def _state(session: "Session") -> SessionState:
    options = {option.id: str(option.value) for option in session.options()}
    return SessionState(
        id=session.id,
        title=session.info.title,
        cwd=str(session.info.cwd),
        running=session.running,
        queued=len(session.queue),
        pending=len(session.log.channel.pending),
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
