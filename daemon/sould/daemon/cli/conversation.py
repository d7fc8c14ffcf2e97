"""A conversation of a command with the daemon as a client that opens no session and asks no model, over ACP with our own methods.

A daemon is started when none runs; when it is replaced, the conversation goes on. Knows no method's meaning, and prints nothing.
"""

import os
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final, TypeAlias, TypeVar, cast

import click

from sould.agents.base.rpc.errors import INVALID_PARAMS, ConnectionGoneError, RpcError
from sould.daemon.cli.daemon_client import NOT_UNDERSTOOD, Asked, DaemonClient, Params
from sould.daemon.cli.output import FAILED, TEMPORARY, USAGE, CommandError, visible
from sould.daemon.dial import BridgeError, greet, read_umask, socket
from sould.daemon.hello import PROTOCOL, VERSION, encode
from sould.daemon.launch import connect
from sould.daemon.paths import Paths, UnsafePathError

METHOD_NOT_FOUND: Final = -32601
Answer: TypeAlias = dict[str, Any]
ValueT = TypeVar("ValueT")

Heard: TypeAlias = Callable[[str, Params], None]
"""Takes what the daemon tells, as it is read. Must not block."""


class DaemonLink:
    """Our end is `conversation`; `control` tells what becomes of the daemon that has the other end."""

    def __init__(self, paths: Paths, frontend: str = "acp", arguments: Sequence[str] = ()) -> None:
        """`arguments`: the command line of who speaks to that frontend."""
        self._paths = paths
        self._frontend = frontend
        self._arguments = arguments
        self._token = os.urandom(16).hex()
        self._umask = read_umask()
        self.conversation, self._theirs = socket.socketpair()
        self.control: socket.socket | None = None
        """None before `attach` and when no daemon will come any more."""
        self._heard = b""
        self.error = ""
        """Why no daemon could be reached."""

    def attach(self, *, again: bool = False) -> None:
        """Hand the other end to the daemon, which is started when none runs; `error` is set when that fails.

        Our end reaches its end when no daemon has the other one.
        """
        try:
            self.control = self._connected(again=again)
        except (BridgeError, UnsafePathError) as error:
            self.error = str(error)
            self._end()

    def listen(self) -> None:
        """Take what the daemon says beside the conversation: to be called when `control` is readable."""
        assert self.control is not None
        try:
            data = self.control.recv(4096)
        except ConnectionResetError:
            data = b""
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode("utf-8", "replace").partition(" ")
            if word == "say":
                click.echo(visible(rest), err=True)
            elif word == "exit":
                self._end()
                return
        if not data:  # it went without a word, so the next one is to be attached to
            self._heard = b""
            self.control.close()
            self.attach(again=True)

    def close(self) -> None:
        """Let go of the conversation."""
        self._end()
        self.conversation.close()

    def _end(self) -> None:
        if self.control is not None:
            self.control.close()
            self.control = None
        self._theirs.close()

    def _connected(self, *, again: bool) -> socket.socket:
        theirs, stderr = self._theirs.fileno(), 2
        handed = (theirs, theirs, stderr)
        return greet(lambda: connect(self._paths, patient=again), self._hello(again=again), handed, self._paths)

    def _hello(self, *, again: bool) -> bytes:
        fields = [
            (b"protocol", b"%d-%d" % PROTOCOL),
            (b"version", VERSION.encode()),
            (b"face", self._frontend.encode()),
            (b"pid", b"%d" % os.getpid()),
            (b"token", self._token.encode()),
            (b"cwd", os.getcwdb()),
            (b"umask", b"%o" % self._umask),
        ]
        if again:
            fields.append((b"reattach", b"1"))
        fields += [(b"arg", os.fsencode(argument)) for argument in self._arguments]
        return encode([*fields, *((b"env", name + b"=" + value) for name, value in os.environb.items())])


class InterruptedRequestError(CommandError):
    """The daemon was stopped before it answered. What was asked for may be done."""


def nothing(method: str, params: Params, /) -> None:
    """For those who are told nothing. A `Heard`."""


class DaemonConversation:
    """It begins with `open` and ends with `close`; all else raises CommandError, and `ask` InterruptedRequestError, which is one."""

    def __init__(self, name: str, heard: Heard = nothing) -> None:
        """`name`: who we are, as others are told."""
        self._name = name
        self._heard = heard
        self._link = DaemonLink(Paths(os.environ))
        self._daemon = DaemonClient(self._link, self)

    def open(self) -> None:
        """Reach the daemon, which is started when none runs, and say who we are."""
        self._link.attach()
        info = {"name": self._name, "title": self._name, "version": VERSION}
        self.look_up("initialize", {"protocolVersion": 1, "clientInfo": info, "clientCapabilities": {}})

    def close(self) -> None:
        """Let go of it."""
        self._link.close()

    def ask(self, method: str, params: Params) -> Answer:
        """The answer, as it came."""
        try:
            return self._daemon.request(method, params)
        except RpcError as error:
            raise _refused(error) from error
        except ConnectionGoneError as error:
            raise self._gone() from error

    def look_up(self, method: str, params: Params) -> Answer:
        """The answer to a request that changes nothing: where a daemon is stopped before it answers, the next one is asked."""
        try:
            return self.ask(method, params)
        except InterruptedRequestError:
            return self.ask(method, params)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """When one of them is readable, `take` has something to do."""
        return self._daemon.descriptors

    def wake_on(self, number: int) -> None:
        """One of `descriptors` is readable after this signal, too, of which nothing else comes."""
        self._daemon.on_signals([number], _ignore)

    def take(self) -> None:
        """Hear what is there to be heard, without waiting."""
        self._daemon.take()
        if self._daemon.gone:
            raise self._gone()

    def _gone(self) -> CommandError:
        return CommandError(self._link.error or "The daemon ended the connection; see: sould logs", TEMPORARY)

    # --- what the daemon says: a `Handler` --------------------------------------------------------------------------

    def notification(self, method: str, params: Params) -> None:
        """See `Handler`."""
        self._heard(method, params)

    def request(self, asked: Asked) -> None:
        """See `Handler`: we said that we answer nothing."""
        self._daemon.refuse(asked, RpcError(METHOD_NOT_FOUND, "This client answers nothing."))

    def withdrawn(self, asked: Asked, reason: str) -> None:
        """See `Handler`: none is ever open."""


def read(said: Answer, shape: type[ValueT], command: str) -> ValueT:
    """What the daemon said to a command, as a value. Raises CommandError where another version says what this one does not know."""
    from msgspec import ValidationError, convert  # noqa: PLC0415 -- `sould run` reads its answers without it

    try:
        return convert(said, shape)
    except ValidationError:
        raise CommandError(NOT_UNDERSTOOD.format(command)) from None


def _ignore(number: int, frame: FrameType | None) -> None:
    """The signal has done its work: it woke us."""


def _refused(error: RpcError) -> CommandError:
    data = cast("dict[str, Any]", error.data) if isinstance(error.data, dict) else {}
    kind = data.get("kind")
    if kind == "interrupted":
        return InterruptedRequestError(error.message, TEMPORARY)
    code = USAGE if error.code == INVALID_PARAMS else TEMPORARY if kind == "disk_full" else FAILED
    return CommandError(error.message, code)
