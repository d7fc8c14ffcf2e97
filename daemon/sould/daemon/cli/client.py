"""A blocking client of the control frontend, for the command line.

    with ControlClient.connect() as daemon:          # NotRunningError when nobody listens
        status = daemon.status()

Every call raises `ControlError(message, kind)` with a sentence fit for a user. Must stay free of asyncio and of the
session code: the command line imports it at start.
"""

import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

from sould.daemon.control import (
    Answered,
    AnswerParams,
    ArchiveParams,
    ControlModel,
    Force,
    ForkParams,
    Found,
    FsckParams,
    FsckReport,
    IfIdle,
    Leaving,
    ListParams,
    MergedWorktree,
    MergeWorktreeParams,
    Nothing,
    Pong,
    PruneParams,
    PruneReport,
    RemovedWorktree,
    RemoveWorktreeParams,
    RenameParams,
    RequestId,
    SearchParams,
    SessionDetail,
    SessionId,
    SessionPage,
    SessionRow,
    Status,
    Waiting,
    WorktreeList,
    WorktreeParams,
    WorktreeRow,
    WorktreesParams,
)
from sould.daemon.dial import greet
from sould.daemon.dial import socket as _dialled
from sould.daemon.hello import PROTOCOL, VERSION, encode
from sould.daemon.jsonvalues import NotAsDeclaredError
from sould.daemon.launch import NotListeningError, connect, reach
from sould.daemon.paths import Paths

DYING_S = 1.0
"""How long a killed process may take to leave."""

AnswerT = TypeVar("AnswerT", bound=ControlModel)


Dial: TypeAlias = Callable[[], socket.socket]
"""Connects to the daemon."""


class ControlError(Exception):
    """The daemon refused, or went away. `kind` is stable for programs."""

    def __init__(self, message: str, kind: str = "internal") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind


class NotRunningError(ControlError):
    """Nobody listens."""


class ControlClient:
    """One connection; a context manager. Calls wait `timeout` seconds at most for an answer."""

    def __init__(self, dial: Dial) -> None:
        """`dial` connects and says hello."""
        self._dial = dial
        self._sock = dial()
        self._file = self._sock.makefile("rb")
        self._last = 0

    @classmethod
    def connect(
        cls,
        *,
        start: bool = False,
        timeout: float | None = 30.0,
        environment: Mapping[str, str] | None = None,
        opens: bool = False,
    ) -> Self:
        """Connect to the daemon of `environment` (ours). `start`: start it when it is not running, as a bridge does.

        `opens`: sessions are opened, for which the daemon gets all of the environment.

        Raises:
            NotRunningError: nobody listens, and `start` is not set.
            BridgeError, UnsafePathError: it cannot be reached or started.
        """
        paths = Paths(os.environ if environment is None else environment)

        def dial() -> socket.socket:
            hello = _hello(paths.environment if opens else {})
            sock = socket.socket(fileno=greet(lambda: _reached(paths, start=start), hello, (), paths).detach())
            sock.settimeout(timeout)
            return sock

        return cls(dial)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self._sock.close()

    def ping(self) -> Pong:
        """The process behind the socket, and who it takes us for: no namespace of ours hides that from it."""
        return self._call("ping", Nothing(), Pong)

    def status(self) -> Status:
        """Everything `sould status` shows."""
        return self._call("status", Nothing(), Status)

    def stop(self, *, force: bool = False) -> Leaving:
        """Stop after the running turns, or with them."""
        return self._call("stop", Force(force=force), Leaving)

    def restart(self, *, force: bool = False) -> Leaving:
        """Start a new process that takes everything over, after the running turns or with them ended."""
        return self._call("restart", Force(force=force), Leaving)

    def shutdown_if_idle(self) -> IfIdle:
        """Leave as soon as no turn runs."""
        return self._call("shutdown_if_idle", Nothing(), IfIdle)

    def reload(self) -> None:
        """Read the user's configuration again at the next turn."""
        self._call("reload", Nothing(), Nothing)

    def sessions_list(
        self, *, cwd: str | None = None, cursor: str | None = None, limit: int = 50, archived: bool = False
    ) -> SessionPage:
        """A page of stored sessions, newest first; `archived`: also those."""
        params = ListParams(cwd=cwd, cursor=cursor, limit=limit, archived=archived)
        return self._call("sessions.list", params, SessionPage)

    def sessions_search(self, params: SearchParams) -> Found:
        """Sessions by their titles and by what was said in them."""
        return self._call("sessions.search", params, Found)

    def sessions_show(self, session_id: str) -> SessionDetail:
        """One session, by its id or the beginning of it."""
        return self._call("sessions.show", SessionId(id=session_id), SessionDetail)

    def sessions_rename(self, session_id: str, title: str) -> SessionRow:
        """Give one session another title."""
        return self._call("sessions.rename", RenameParams(id=session_id, title=title), SessionRow)

    def sessions_archive(self, session_id: str, *, archived: bool) -> SessionRow:
        """Take one session out of the lists, or back into them."""
        return self._call("sessions.archive", ArchiveParams(id=session_id, archived=archived), SessionRow)

    def sessions_fork(self, session_id: str, cwd: str) -> SessionRow:
        """A new session that begins with all of one; in `cwd`, "" for its own, and the environment the client connected with."""
        return self._call("sessions.fork", ForkParams(id=session_id, cwd=cwd), SessionRow)

    def sessions_prune(self, params: PruneParams) -> PruneReport:
        """Remove old and large sessions."""
        return self._call("sessions.prune", params, PruneReport)

    def sessions_delete(self, session_id: str) -> None:
        """Remove one session."""
        self._call("sessions.delete", SessionId(id=session_id), Nothing)

    def sessions_export(self, session_id: str) -> SessionDetail:
        """Where one session's journal is, everything said so far written to it."""
        return self._call("sessions.export", SessionId(id=session_id), SessionDetail)

    def sessions_cancel(self, session_id: str) -> None:
        """Cancel what runs and waits in one session; nothing is fine."""
        self._call("sessions.cancel", SessionId(id=session_id), Nothing)

    def requests_show(self, request_id: str) -> Waiting:
        """A request that waits, all of it."""
        return self._call("requests.show", RequestId(id=request_id), Waiting)

    def requests_answer(self, params: AnswerParams) -> Answered:
        """Answer a request that waits."""
        return self._call("requests.answer", params, Answered)

    def worktrees_list(self, cwd: str | None) -> WorktreeList:
        """The worktrees of sessions, of the repository that a directory is in; None: of all."""
        return self._call("worktrees.list", WorktreesParams(cwd=cwd), WorktreeList)

    def worktrees_restore(self, name: str, cwd: str) -> WorktreeRow:
        """Make one again."""
        return self._call("worktrees.restore", WorktreeParams(name=name, cwd=cwd), WorktreeRow)

    def worktrees_merge(self, params: MergeWorktreeParams) -> MergedWorktree:
        """Take its changes over, as edits to be reviewed."""
        return self._call("worktrees.merge", params, MergedWorktree)

    def worktrees_remove(self, name: str, cwd: str, *, force: bool) -> RemovedWorktree:
        """Take one away."""
        return self._call("worktrees.remove", RemoveWorktreeParams(name=name, cwd=cwd, force=force), RemovedWorktree)

    def fsck(self, session_id: str | None = None) -> FsckReport:
        """Check one session's files, or all."""
        return self._call("fsck", FsckParams(id=session_id), FsckReport)

    def wait_gone(self) -> None:
        """Return when the daemon has hung up, which it does last."""
        try:
            while self._file.readline():
                pass
        except ConnectionResetError:
            return

    def _call(self, method: str, params: ControlModel, answer: type[AnswerT]) -> AnswerT:
        message = self._first_exchange(method, params) if self._last == 0 else self._exchange(method, params)
        if "error" in message:
            error = message["error"]
            raise ControlError(error["message"], error.get("data", {}).get("kind", "internal"))
        try:
            return answer.read(message["result"])
        except NotAsDeclaredError:
            raise ControlError(
                f"The daemon's answer to {method} is not understood; it may be another version: sould restart",
                "version",
            ) from None

    def _first_exchange(self, method: str, params: ControlModel) -> dict[str, Any]:
        """A killed daemon's socket takes connections until its last thread has left: those are dialled again."""
        deadline = time.monotonic() + DYING_S
        while True:
            try:
                return self._exchange(method, params)
            except ControlError as error:
                if error.kind != "gone" or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)
            self.close()
            self._sock = self._dial()
            self._file = self._sock.makefile("rb")

    def _exchange(self, method: str, params: ControlModel) -> dict[str, Any]:
        self._last += 1
        request = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params.to_json()}
        try:
            self._sock.sendall(json.dumps(request).encode() + b"\n")
            return self._receive()
        except TimeoutError:
            raise ControlError("The daemon does not answer; see: sould doctor", "timeout") from None
        except OSError as error:
            raise ControlError(f"The connection to the daemon broke: {error.strerror}.", "gone") from None

    def _receive(self) -> dict[str, Any]:
        while True:
            line = self._file.readline()
            if not line:
                raise ControlError("The daemon ended before it answered.", "gone")
            if line.startswith(b"say "):
                raise ControlError(line[4:].decode("utf-8", "replace").strip().removeprefix("sould: "), "refused")
            message = json.loads(line)
            if message.get("id") == self._last:
                return message


def _reached(paths: Paths, *, start: bool) -> "_dialled.socket":
    try:
        connection = connect(paths) if start else reach(paths)
    except NotListeningError as error:
        raise ControlError(f"{error}.", "timeout") from None
    if connection is None:
        raise NotRunningError("The daemon is not running.", "not_running")
    return connection


def _hello(environment: Mapping[str, str]) -> bytes:
    return encode(
        [
            *((b"env", os.fsencode(f"{name}={value}")) for name, value in environment.items()),
            (b"protocol", b"%d-%d" % PROTOCOL),
            (b"version", VERSION.encode()),
            (b"face", b"control"),
            (b"pid", b"%d" % os.getpid()),
            (b"token", os.urandom(16).hex().encode()),
            (b"cwd", os.fsencode("/")),
        ]
    )
