"""The socket: accept, check who it is, read the hello, run the frontend, clean up.

One task per connection, all owned by one task group. A connection owns its descriptors until it ends or gives them to
the next daemon. What a frontend does is not known here: `frontends` maps its name to a coroutine. Nothing may be imported on
this path that is slower than the first answer can wait for (D9).
"""

import asyncio
import contextlib
import errno
import itertools
import logging
import os
import resource
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from sould.agents.base.loglevel import LOG_LEVELS
from sould.daemon.ancestry import is_below
from sould.daemon.dial import peer_pid, peer_uid
from sould.daemon.fdstream import FdStream, Released
from sould.daemon.limits import Limits
from sould.daemon.partial_lines import Tail
from sould.daemon.process.handshake import (
    NO_DESCRIPTORS,
    Hello,
    NotHelloError,
    RefusedHelloError,
    close_all,
    read_hello,
)

_log = logging.getLogger(__name__)

Frontend = Callable[["Connection"], Awaitable[int]]
"""Serves one connection until the peer is gone; returns the exit code for its bridge."""


class ConnectedFrontend(Protocol):
    """What serves a connection, as far as the daemon must know."""

    def client(self) -> str:
        """What the client calls itself; "" before it has said so."""
        ...

    def sessions(self) -> tuple[str, ...]:
        """The sessions this client shows."""
        ...

    def settled(self) -> bool:
        """Nobody waits for an answer on this connection."""
        ...

    def private(self) -> bytes:
        """What the next daemon is to be handed, from memory to memory."""
        ...

    def let_go(self) -> None:
        """The next daemon goes on with it as it stands: remember nothing more."""
        ...

    def on_written(self, total: int, whole: bool) -> None:
        """See `fdstream.OnWritten`."""
        ...

    def on_reading(self, under_way: bool) -> None:
        """See `fdstream.OnReading`."""
        ...


class Connection(Struct, eq=False):
    """One client. `stream` is the frontend's; `sock` the bridge's, over which the daemon only says how it ended."""

    id: str
    sock: socket.socket
    hello: Hello
    descriptors: tuple[int, ...]
    of_agent: bool = False
    """Something that an agent runs, or nobody can tell: it may look, and does nothing in the user's name."""
    inherited: Released | None = None
    """What an earlier daemon had read or not yet written; its descriptors replace `descriptors`."""
    handed: bytes = b""
    """What an earlier daemon handed over from memory: its frontend's `private`."""
    opened: float = field(default_factory=time.monotonic)
    stream: FdStream | None = None
    task: "asyncio.Task[None] | None" = None
    waits_for_newer: bool = False
    """Not served here: the bridge is left waiting for the daemon to go."""
    _frontend: ConnectedFrontend | None = None
    _released: bool = False
    """The descriptors were handed over: leave them alone."""

    @property
    def client(self) -> str:
        """What the client calls itself; "" when nobody knows."""
        return self._frontend.client() if self._frontend else ""

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions this client shows."""
        return self._frontend.sessions() if self._frontend else ()

    @property
    def settled(self) -> bool:
        """Nobody waits for an answer on this connection."""
        return self._frontend is None or self._frontend.settled()

    @property
    def private(self) -> bytes:
        """What the next daemon is to be handed: what this one was, until a frontend has taken it up."""
        return self._frontend.private() if self._frontend else self.handed

    @property
    def queued(self) -> int:
        """Bytes ever given to the stream."""
        return self.stream.queued if self.stream else 0

    @property
    def unsent(self) -> bool:
        """Some of them have not left."""
        return self.stream is not None and self.stream.buffered > 0

    def begin(self, task: "asyncio.Task[None]") -> None:
        """`task` serves it."""
        self.task = task

    def wait_for_newer(self) -> None:
        """Leave the bridge waiting for the daemon to go, and serve nothing."""
        self.waits_for_newer = True

    def release(self) -> Released | None:
        """Leave everything to the next daemon as it stands; what the stream had, if there was one."""
        released = self.stream.release() if self.stream is not None else None
        if self._frontend is not None:
            self._frontend.let_go()
        self._released = True
        return released

    def open_stream(self, frontend: ConnectedFrontend | None = None, tail: Tail | None = None) -> FdStream:
        """The frontend's byte stream: the client's own descriptors, or the socket when it pumps or is a socket client.

        `tail`: see `FdStream`.
        """
        if self.stream is not None:
            raise RuntimeError("a connection has one stream")
        self._frontend = frontend
        stderr: int | None = None
        if self.descriptors:
            reader, writer, stderr = self.descriptors
            asyncio.get_running_loop().add_reader(self.sock, self._bridge_spoke)
        else:
            reader = writer = os.dup(self.sock.fileno())
        unread, unwritten = (self.inherited.unread, self.inherited.unwritten) if self.inherited else (b"", b"")
        self.stream = FdStream(
            reader,
            writer,
            stderr=stderr,
            unread=unread,
            unwritten=unwritten,
            on_written=frontend.on_written if frontend is not None else _ignore_written,
            on_reading=frontend.on_reading if frontend is not None else _ignore_reading,
            tail=tail,
        )
        return self.stream

    def say(self, line: str) -> None:
        """Show the user a line, if the bridge still waits."""
        self._tell(f"say {' '.join(line.split())}\n")

    def end(self, code: int | None) -> None:
        """Close everything that is ours; with a code the bridge exits, without one it attaches again."""
        asyncio.get_running_loop().remove_reader(self.sock)
        if code is not None and (self.descriptors or self.stream is None):
            self._tell(f"exit {code}\n")
        if not self._released:
            if self.stream is not None:
                self.stream.abandon()
                close_all(self.descriptors[2:])
            else:
                close_all(self.descriptors)
        self.sock.close()

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):
            self.sock.send(line.encode("utf-8", "replace"), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

    def _bridge_spoke(self) -> None:
        """The waiting bridge never writes: readable means it is dead, and then its descriptors are nobody's (D11)."""
        with contextlib.suppress(BlockingIOError):
            try:
                if self.sock.recv(4096, socket.MSG_DONTWAIT):
                    return
            except ConnectionResetError:
                pass
            asyncio.get_running_loop().remove_reader(self.sock)
            if self.stream is not None:
                self.stream.abandon()


Admit: TypeAlias = Callable[[Connection], None]
"""Lets a client in. Raises RefusedHelloError with the sentence that the client is told."""


Changed: TypeAlias = Callable[[], None]
"""Called after every connection's start and end."""


class Server:
    """Accepts connections on `listener` and runs `frontends` until `close`."""

    def __init__(
        self,
        listener: socket.socket,
        frontends: Mapping[str, Frontend],
        limits: Limits,
        *,
        admit: Admit,
        changed: Changed,
    ) -> None:
        listener.setblocking(False)
        self.listener = listener
        self.connections: dict[str, Connection] = {}
        self.refused = 0
        self._frontends = frontends
        self._limits = limits
        self._admit = admit
        self._changed = changed
        self._numbers = itertools.count(1)
        self._greeting = 0
        self._accepting = False
        self._resume: asyncio.TimerHandle | None = None
        self._group: asyncio.TaskGroup | None = None
        self._closed = asyncio.Event()

    async def run(self) -> None:
        """Serve until `close`; returns when every connection's task has ended."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            self.accept()
            await self._closed.wait()
            self.pause()

    def close(self) -> None:
        """Accept no more; `run` returns when the connections have ended."""
        self._closed.set()

    @property
    def busy(self) -> bool:
        """Somebody is connected, or about to be."""
        return bool(self.connections) or self._greeting > 0

    def accept(self) -> None:
        """Accept connections (again)."""
        if not self._accepting and not self._closed.is_set():
            self._accepting = True
            asyncio.get_running_loop().add_reader(self.listener, self._ready)

    def last_word(self) -> float:
        """When a client that is somebody's said something last, by the loop's clock; 0 for never."""
        told = (
            each.stream.heard for each in self.connections.values() if each.stream and each.hello.frontend != "control"
        )
        return max(told, default=0.0)

    def pause(self) -> None:
        """Let connections wait in the kernel's queue."""
        if self._resume is not None:
            self._resume.cancel()
            self._resume = None
        if self._accepting:
            self._accepting = False
            asyncio.get_running_loop().remove_reader(self.listener)

    def replace_listener(self, listener: socket.socket) -> None:
        """Listen on another socket from now on."""
        self.pause()
        self.listener.close()
        listener.setblocking(False)
        self.listener = listener
        self.accept()

    def adopt(self, connection: Connection) -> None:
        """Serve a connection whose hello is known already."""
        self._start(connection)

    def next_id(self) -> str:
        """A connection's name in logs and `sould status`."""
        return f"c{next(self._numbers)}"

    # --- accepting ----------------------------------------------------------------------------------------------

    def _ready(self) -> None:
        for _ in range(32):  # then let the others have a turn
            if not self.accept_one():
                return

    def accept_one(self) -> bool:
        """Take one connection from the queue; False when there is none, or none can be taken now."""
        try:
            sock, _ = self.listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                raise
            _log.warning(
                "cannot accept connections: %s; trying again in %s s", error.strerror, self._limits.accept_pause
            )
            self.pause()
            self._resume = asyncio.get_running_loop().call_later(self._limits.accept_pause, self.accept)
            return False
        self._greet(sock)
        return True

    def _greet(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        uid = peer_uid(sock)
        if uid != os.geteuid():
            self.refused += 1
            _log.warning("refused uid %d", uid)
            sock.close()
            return
        if self._group is None:
            raise RuntimeError("the server does not run")
        self._greeting += 1
        # now, while it is sure to be the one that connected: later its pid may be another's
        of_agent = is_below(peer_pid(sock), os.getpid()) is not False
        self._group.create_task(self._hello(sock, of_agent=of_agent))

    async def _hello(self, sock: socket.socket, *, of_agent: bool) -> None:
        try:
            async with asyncio.timeout(self._limits.hello):
                hello, descriptors = await read_hello(sock)
            connection = Connection(self.next_id(), sock, hello, descriptors, of_agent=of_agent)
            try:
                self._check(connection)
            except RefusedHelloError:
                close_all(descriptors)
                raise
            self._start(connection)
        except (NotHelloError, TimeoutError) as error:
            _log.info("closed a connection: %s", error or f"no hello within {self._limits.hello} s")
            sock.close()
        except RefusedHelloError as error:
            _log.info("refused a client: %s", error)
            with contextlib.suppress(OSError):
                sock.send(f"say sould: {error}\nexit 1\n".encode())
            sock.close()
        finally:
            self._greeting -= 1
            self._changed()

    def _check(self, connection: Connection) -> None:
        hello = connection.hello
        if len(self.connections) >= self._limits.connections:
            raise RefusedHelloError(f"{self._limits.connections} clients are connected, which is the limit; close one")
        expected = 0 if hello.pump or hello.frontend == "control" else 3
        if len(connection.descriptors) != expected:
            raise RefusedHelloError(f"{len(connection.descriptors)} descriptors came with the hello, not {expected}")
        if hello.frontend != "control" and not self._can_spare(connection):
            raise RefusedHelloError(NO_DESCRIPTORS)
        self._admit(connection)

    def _can_spare(self, connection: Connection) -> bool:
        """Whether this client leaves enough descriptors for the work itself: the kernel gives out the lowest free ones."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        highest = max(connection.sock.fileno(), *connection.descriptors, 0)
        return soft == resource.RLIM_INFINITY or highest < soft - self._limits.spare_descriptors

    # --- one connection -----------------------------------------------------------------------------------------

    def _start(self, connection: Connection) -> None:
        if self._group is None:
            raise RuntimeError("the server does not run")
        self.connections[connection.id] = connection
        connection.begin(self._group.create_task(self._serve(connection), name=connection.id))
        self._changed()

    async def _serve(self, connection: Connection) -> None:
        with LOG_LEVELS.marked(connection.id, connection.hello.environment):
            await self._talk(connection)

    async def _talk(self, connection: Connection) -> None:
        hello = connection.hello
        _log.info(
            "%s client %s, pid %d%s", hello.frontend, hello.version, hello.pid, " (again)" if hello.reattach else ""
        )
        code: int | None = 1
        try:
            if connection.waits_for_newer:
                # until the lifecycle cancels this task, or the bridge is gone
                await asyncio.get_running_loop().sock_recv(connection.sock, 1)
                return
            if hello.pump and connection.inherited is None:
                connection.sock.send(b"ok\n")
            code = await self._frontends[hello.frontend](connection)
        except asyncio.CancelledError:
            code = None  # a restart: whoever holds the descriptors next goes on
        except Exception:  # noqa: BLE001 -- one connection's bug must not end the others
            _log.exception("the %s frontend failed", hello.frontend)
            connection.say("sould: internal error; see: sould logs")
        finally:
            del self.connections[connection.id]
            connection.end(code)
            _log.info("closed after %.1f s", time.monotonic() - connection.opened)
            self._changed()


def _ignore_written(total: int, whole: bool) -> None:
    """Nothing is remembered of what a connection was sent."""


def _ignore_reading(under_way: bool) -> None:
    """Nor of what it said."""
