"""A conversation of a command with the daemon as a client that opens no session and asks no model, over ACP with our own methods.

A daemon is started when none runs; when it is replaced, the conversation goes on. Knows no method's meaning, and prints nothing.
"""

import os
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, TypeAlias, cast

from sould.agents.base.rpc.errors import INVALID_PARAMS, ConnectionGoneError, RpcError
from sould.daemon.cli.daemon_client import Asked, DaemonClient, Params
from sould.daemon.cli.link import Link
from sould.daemon.cli.output import FAILED, TEMPORARY, USAGE, CommandError
from sould.daemon.hello import VERSION
from sould.daemon.paths import Paths

METHOD_NOT_FOUND: Final = -32601

Answer: TypeAlias = dict[str, Any]


Heard: TypeAlias = Callable[[str, Params], None]
"""Takes what the daemon tells, as it is read. Must not block."""


def nothing(method: str, params: Params, /) -> None:
    """For those who are told nothing. A `Heard`."""


class Conversation:
    """It begins with `open` and ends with `close`; all else raises CommandError."""

    def __init__(self, name: str, heard: Heard = nothing) -> None:
        """`name`: who we are, as others are told."""
        self._name = name
        self._heard = heard
        self._link = Link(Paths(os.environ))
        self._daemon = DaemonClient(self._link, self)

    def open(self) -> None:
        """Reach the daemon, which is started when none runs, and say who we are."""
        self._link.attach()
        info = {"name": self._name, "title": self._name, "version": VERSION}
        self.ask("initialize", {"protocolVersion": 1, "clientInfo": info, "clientCapabilities": {}})

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


def _ignore(number: int, frame: FrameType | None) -> None:
    """The signal has done its work: it woke us."""


def _refused(error: RpcError) -> CommandError:
    data = cast("dict[str, Any]", error.data) if isinstance(error.data, dict) else {}
    kind = data.get("kind")
    code = USAGE if error.code == INVALID_PARAMS else TEMPORARY if kind == "disk_full" else FAILED
    return CommandError(error.message, code)
