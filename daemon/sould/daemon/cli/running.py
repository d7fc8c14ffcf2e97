"""What a command asks of a running daemon: the methods below `_sould/daemon`, over the daemon's socket.

    with running() as daemon:
        status = daemon.ask(GetStatus())

A daemon of another release is asked what that one knows, or makes room for ours when no turn runs. Must stay free of asyncio
and of the session code: the command line imports it at start.
"""

import os
import select
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar, cast

from msgspec import ValidationError, convert, to_builtins

from sould.agents.base.rpc.errors import METHOD_NOT_FOUND, ConnectionGoneError, RpcError
from sould.agents.base.text import plural
from sould.daemon.cli.daemon_client import NOT_UNDERSTOOD, Asked, DaemonClient, Params
from sould.daemon.cli.output import TEMPORARY, CommandError
from sould.daemon.dial import BridgeError, greet, socket
from sould.daemon.hello import PROTOCOL, VERSION, encode
from sould.daemon.launch import NotListeningError, connect, reach
from sould.daemon.methods import FIRST_RELEASE, PREFIX, DaemonCall, Leaving, Reload
from sould.daemon.paths import Paths

ANSWER_S: Final = 30.0
"""How long an answer may take that needs no patience."""
DYING_S: Final = 1.0
"""How long a killed process may take to leave."""
NOT_FOUND: Final = "session_not_found"

AnswerT = TypeVar("AnswerT")
Dial: TypeAlias = Callable[[], "socket.socket"]
"""Connects to the daemon, and says hello."""


class DaemonError(Exception):
    """The daemon refused, or went away. `kind` is stable for programs."""

    def __init__(self, message: str, kind: str = "internal") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind


class NotRunningError(DaemonError):
    """Nobody listens."""


class PlainSocket:
    """A conversation on the daemon's socket itself. A `Carrier`."""

    def __init__(self, connection: "socket.socket") -> None:
        self.conversation = connection
        self.control: socket.socket | None = None

    def listen(self) -> None:
        """See `Carrier`: what the daemon says of itself is in the conversation."""


class RunningDaemon:
    """One connection; a context manager. Calls wait `timeout` seconds at most for an answer."""

    def __init__(self, dial: Dial, timeout: float | None) -> None:
        self._dial = dial
        self._timeout = timeout
        self._link, self._client = self._connected()
        self._answered = False

    @classmethod
    def connect(
        cls,
        *,
        start: bool = False,
        timeout: float | None = ANSWER_S,
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
        hello = _hello(paths.environment if opens else {})
        return cls(lambda: greet(lambda: _reached(paths, start=start), hello, (), paths), timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._link.conversation.close()

    def ask(self, call: DaemonCall[AnswerT]) -> AnswerT:
        """The answer to a call. Raises DaemonError, with a sentence fit for a user."""
        try:
            found = self._request(PREFIX + call.method, to_builtins(call))
        except RpcError as error:
            if error.code != METHOD_NOT_FOUND:
                raise _refused(error) from None
            found = self._ask_another_release(call)
        try:
            return convert(found, call.answer)
        except ValidationError:
            raise DaemonError(NOT_UNDERSTOOD.format(call.method), "version") from None

    def wait_gone(self) -> None:
        """Return when the daemon has hung up, which it does last."""
        while not self._client.gone:
            select.select(self._client.descriptors, [], [])
            self._client.take()

    def _connected(self) -> tuple[PlainSocket, DaemonClient]:
        link = PlainSocket(self._dial())
        return link, DaemonClient(link, self)

    def _again(self) -> None:
        self.close()
        self._link, self._client = self._connected()

    def _ask_another_release(self, call: DaemonCall[Any]) -> Any:
        try:
            if call.method in FIRST_RELEASE:
                found = self._request(call.method, to_builtins(call))
                for session in found.get("sessions", ()):
                    session.pop("waiting", None)  # it has another shape there
                return found
            left = convert(self._request("shutdown_if_idle", {}), Leaving)
            if not left.leaving:
                raise DaemonError(
                    f"sould {left.version} (pid {left.pid}) is still running, with {plural(left.running_turns, 'running turn')}, "
                    f"and does not know this command. It makes room when they have ended; to end them now: sould restart --force",
                    "version",
                )
            self.wait_gone()
            self._again()
            return self._request(PREFIX + call.method, to_builtins(call))
        except RpcError as error:
            raise _refused(error) from None

    def _request(self, method: str, params: Params) -> Any:
        """A killed daemon's socket takes connections until its last thread has left: those are dialled again."""
        deadline = time.monotonic() + DYING_S
        while True:
            try:
                found = self._client.request(method, params, self._timeout)
            except TimeoutError:
                raise DaemonError("The daemon does not answer; see: sould doctor", "timeout") from None
            except ConnectionGoneError:
                if self._client.stray.startswith(b"say "):
                    said = self._client.stray[4:].decode("utf-8", "replace").strip()
                    raise DaemonError(said.removeprefix("sould: "), "refused") from None
                if self._answered or time.monotonic() > deadline:
                    raise DaemonError("The daemon ended before it answered.", "gone") from None
            else:
                self._answered = True
                return found
            time.sleep(0.01)
            self._again()

    # --- what the daemon says: a `Handler`, which is told and asked nothing -------------------------------------------

    def notification(self, method: str, params: Params) -> None:
        """See `Handler`."""

    def request(self, asked: Asked) -> None:
        """See `Handler`."""

    def withdrawn(self, asked: Asked, reason: str) -> None:
        """See `Handler`."""


@contextmanager
def running(*, patient: bool = False, opens: bool = False) -> Generator[RunningDaemon]:
    """The daemon, started when it is not running. What it refuses becomes a `CommandError`.

    `patient`: an answer may take as long as it takes; `opens`: see `RunningDaemon.connect`.

    Raises:
        CommandError: it cannot be reached, or it refused; with the sentence to show.
    """
    with reached(), RunningDaemon.connect(start=True, timeout=None if patient else ANSWER_S, opens=opens) as daemon:
        yield daemon


@contextmanager
def reached() -> Generator[None]:
    """Turn the errors of a connection into failures; `NotRunningError` is left to the caller."""
    try:
        yield
    except NotRunningError:
        raise
    except DaemonError as error:
        hint = " See: sould sessions list --all" if error.kind == NOT_FOUND else ""
        raise CommandError(f"{error}{hint}") from None
    except BridgeError as error:
        raise CommandError(f"{error}", TEMPORARY) from None


def tell_configured() -> None:
    """A running daemon reads what the user configured anew (D23); it need not run."""
    try:
        with reached(), RunningDaemon.connect() as daemon:
            daemon.ask(Reload())
    except NotRunningError:
        pass


def _refused(error: RpcError) -> DaemonError:
    data = cast("dict[str, Any]", error.data) if isinstance(error.data, dict) else {}
    return DaemonError(error.message, str(data.get("kind", "internal")))


def _reached(paths: Paths, *, start: bool) -> "socket.socket":
    try:
        connection = connect(paths) if start else reach(paths)
    except NotListeningError as error:
        raise DaemonError(f"{error}.", "timeout") from None
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
