"""The command line's JSON-RPC: one conversation in one thread, without a loop that would take longer to import than to run.

Whoever waits for an answer takes, meanwhile, what else comes: notifications are handled as they are read, requests are
kept until nobody is in the middle of one. Output never blocks, because the daemon may just be dying. Nothing here knows
a method's meaning, but for the withdrawal of a request.
"""

import json
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

from sould.agents.base.rpc.errors import REQUEST_CANCELLED, ConnectionGoneError, RpcError

if TYPE_CHECKING:
    from _socket import socket

Params: TypeAlias = "dict[str, Any]"
READ_SIZE = 256 * 1024
NOT_UNDERSTOOD = "The daemon's answer to {} is not understood; it may be another version: sould restart"


class Asked(NamedTuple):
    """A request of the daemon's, to be answered once."""

    id: int | str
    method: str
    params: Params


class RequestHandler(Protocol):
    """What the daemon's calls reach."""

    def notification(self, method: str, params: Params) -> None:
        """Act; nobody is answered."""
        ...

    def request(self, asked: Asked) -> None:
        """Answer it with `DaemonClient.answer` or `refuse`; call `take` meanwhile."""
        ...

    def withdrawn(self, asked: Asked, reason: str) -> None:
        """The request that is being answered needs no answer any more."""
        ...


Due: TypeAlias = Callable[[], None]
"""Called when a time has come. Must not block."""


class Carrier(Protocol):
    """What a conversation goes over."""

    conversation: "socket"
    """Our end."""
    control: "socket | None"
    """Where the daemon says what becomes of it, if that is not in the conversation."""

    def listen(self) -> None:
        """Take what it says: `control` is readable."""
        ...


class DaemonClient:
    """One conversation with the daemon over `link`."""

    def __init__(self, link: Carrier, handler: RequestHandler) -> None:
        self._link = link
        self._handler = handler
        link.conversation.setblocking(False)
        self._woken: int | None = None
        """So that a signal is acted upon at once: it writes here."""
        self._outgoing: deque[bytes] = deque()
        self._line: list[bytes] = []
        """The pieces of a line that has not ended yet."""
        self._lines: deque[bytes] = deque()
        """Read and not taken: what stands behind an answer is taken when whoever waited for it has gone on."""
        self._last = 0
        self._results: dict[str, Any] = {}
        self._errors: dict[str, RpcError] = {}
        self._requests: deque[Asked] = deque()
        """Not begun yet."""
        self._current: Asked | None = None
        self._due = 0.0
        self._expired: Due | None = None
        self.gone = False
        """The daemon is gone, and none will come."""
        self.stray = b""
        """The last line that is no message: the word to who is refused, or the beginning of what a killed daemon was writing."""

    # --- what is asked and told -------------------------------------------------------------------------------------

    def request(self, method: str, params: Params, limit: float | None = None) -> Any:
        """Ask the daemon, and wait for its result, no longer than `limit` seconds.

        Raises:
            RpcError: its error.
            ConnectionGoneError: it went away.
            TimeoutError: it does not answer.
        """
        deadline = None if limit is None else time.monotonic() + limit
        self._last += 1
        number = str(self._last)  # a number is no id to Wire
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while number not in self._results and number not in self._errors:
            if self._lines:
                self._take(self._lines.popleft())
            elif self._requests:
                self._handler.request(self._next())
            elif self.gone:
                raise ConnectionGoneError(f"the daemon disconnected, {method} is unanswered")
            elif deadline is None:
                self._wait()
            elif (left := deadline - time.monotonic()) > 0:
                self._wait(left)
            else:
                raise TimeoutError
        if number in self._errors:
            raise self._errors.pop(number)
        return self._results.pop(number)

    def notify(self, method: str, params: Params) -> None:
        """Tell the daemon something; also in the handler of a signal."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _next(self) -> Asked:
        """The request to be answered now; one at a time."""
        self._current = self._requests.popleft()
        return self._current

    def answer(self, asked: Asked, result: Params) -> None:
        """The request's result."""
        self._current = None
        self._send({"jsonrpc": "2.0", "id": asked.id, "result": result})
        self._flush()

    def refuse(self, asked: Asked, error: RpcError) -> None:
        """The request's error."""
        self._current = None
        self._send({"jsonrpc": "2.0", "id": asked.id, "error": error.to_json()})
        self._flush()

    # --- time and signals -------------------------------------------------------------------------------------------

    def after(self, seconds: float, act: Due) -> None:
        """Call `act` then, once; there is one such time."""
        self._due, self._expired = time.monotonic() + seconds, act

    @property
    def patience_s(self) -> float | None:
        """How long until something is due; None: nothing is."""
        return None if self._expired is None else max(0.0, self._due - time.monotonic())

    def on_signals(self, numbers: Sequence[int], act: Callable[[int, FrameType | None], object]) -> None:
        """Call `act` in the middle of whatever goes on; what it sends leaves at once."""
        for number in numbers:
            signal.signal(number, act)
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    # --- what comes and goes ----------------------------------------------------------------------------------------

    @property
    def descriptors(self) -> tuple[int, ...]:
        """When one of them is readable, `take` has something to do."""
        control = self._link.control
        spoken = () if self.gone else (self._link.conversation.fileno(),)
        woken = () if self._woken is None else (self._woken,)
        return (*spoken, *woken) if control is None else (*spoken, *woken, control.fileno())

    def take(self) -> None:
        """Do everything that can be done without waiting."""
        self._wait(0.0)
        while self._lines:
            self._take(self._lines.popleft())

    def _wait(self, limit: float | None = None) -> None:
        patience = self.patience_s if limit is None else limit
        conversation = self._link.conversation.fileno()
        writing = [conversation] if self._outgoing and not self.gone else []
        readable, writable, _ = select.select(self.descriptors, writing, [], patience)
        if self._woken is not None and self._woken in readable:
            os.read(self._woken, 4096)
        if self._expired is not None and time.monotonic() >= self._due:
            act, self._expired = self._expired, None
            act()
        if writable:
            self._flush()
        if self._link.control is not None and self._link.control.fileno() in readable:
            self._link.listen()
        if conversation in readable:
            self._read()

    def _send(self, message: Params) -> None:
        self._outgoing.append(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def _flush(self) -> None:
        try:
            while self._outgoing:
                piece = self._outgoing[0]
                sent = self._link.conversation.send(piece)
                if sent < len(piece):
                    self._outgoing[0] = piece[sent:]
                else:
                    self._outgoing.popleft()
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            self.gone = True

    def _read(self) -> None:
        try:
            data = self._link.conversation.recv(READ_SIZE)
        except ConnectionResetError:
            data = b""
        if not data:
            self.gone = True
        first, *others = data.split(b"\n")
        self._line.append(first)
        for other in others:
            line, self._line = b"".join(self._line), [other]
            if line.strip():  # a daemon that takes over begins with an empty line (D11)
                self._lines.append(line)

    def _take(self, line: bytes) -> None:
        try:
            value = json.loads(line)
        except ValueError:
            self.stray = line
            return
        if not isinstance(value, dict):
            return
        message = cast("Params", value)
        method, identifier = message.get("method"), message.get("id")
        if method is None:
            self._settle(message)
        elif method == "$/cancel_request":
            self._withdraw(message["params"])
        elif "id" in message:
            self._requests.append(Asked(cast("int | str", identifier), method, message.get("params") or {}))
        else:
            self._handler.notification(method, message.get("params") or {})

    def _settle(self, message: Params) -> None:
        error: Params | None = message.get("error")
        if error is None:
            self._results[message["id"]] = message.get("result")
        else:
            self._errors[message["id"]] = RpcError(error["code"], error["message"], error.get("data"))

    def _withdraw(self, params: Params) -> None:
        given = params["requestId"]
        meta: Params = params.get("_meta") or {}
        ours: Params = meta.get("sould") or {}
        if self._current is not None and self._current.id == given:
            self._handler.withdrawn(self._current, str(ours.get("reason") or ""))
        for asked in [each for each in self._requests if each.id == given]:
            self._requests.remove(asked)
            self._send({"jsonrpc": "2.0", "id": asked.id, "error": withdrawal().to_json()})


def withdrawal() -> RpcError:
    """What a request is answered with that was withdrawn."""
    return RpcError(REQUEST_CANCELLED, "The request was cancelled.")
