"""A planned restart: the next daemon gets the lock, the listening socket and every connection, and nobody notices (D11).

The old process starts the new one with one end of a socket pair and sends, over SCM_RIGHTS, first itself (lock,
listener), then one message per connection (its socket, its descriptors, its hello with the environment and the MCP
servers its editor brought, which are in memory only (D14), and the bytes in between). When the new one says it is ready
the old one ends; when it does not, the old one still has everything and goes on. What a connection had agreed is in its
record on disk.
"""

import array
import asyncio
import logging
import os
import socket
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.json import decode, encode

from sould.daemon.activation import notified, notify
from sould.daemon.launch import environment
from sould.daemon.process.handshake import Hello
from sould.daemon.process.server import Connection

_log = logging.getLogger(__name__)

READY = b"ready"
DEADLINE = 10.0
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class HandedConnection(Struct):
    """One connection on its way: what `Connection` is made of again."""

    sock: socket.socket
    hello: Hello
    descriptors: tuple[int, ...]
    unread: bytes
    unwritten: bytes
    private: bytes


class HandoverState(Struct):
    """What a daemon starts with. `giver` is the process that waits for our `accept`."""

    listener: socket.socket
    lock: int
    heirs: list[HandedConnection] = field(default_factory=list[HandedConnection])
    giver: socket.socket | None = None
    activated: bool = False
    """The listener is a service manager's: its name stays when the daemon goes, and whoever connects has one started."""

    def accept(self) -> None:
        """Tell the giver that we serve its clients now."""
        if self.giver is not None:
            self.giver.sendall(READY)
            self.giver.close()
            self.giver = None


def hand_over(connection: Connection) -> HandedConnection:
    """Let go of a connection; its socket is another one, because its task closes its own."""
    private = connection.private
    released = connection.release()
    sock, descriptors = connection.sock.dup(), connection.descriptors
    if released is None:
        return HandedConnection(sock, connection.hello, descriptors, b"", b"", private)
    descriptors = (released.reader, released.writer, *descriptors[2:]) if descriptors else ()
    return HandedConnection(sock, connection.hello, descriptors, released.unread, released.unwritten, private)


async def give(inheritance: HandoverState, umask: int, command: Sequence[str]) -> bool:
    """Start the next daemon, by `command` and under `umask`, and hand everything over; False when it did not get ready."""
    heirs = inheritance.heirs
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *command,
                "--handover",
                str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=environment(os.environ) | notified(os.environ),
                cwd="/",
                start_new_session=True,
                umask=umask,
            )
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(DEADLINE):
                head = _Head(connections=len(heirs), activated=inheritance.activated)
                await _send(ours, head, (inheritance.listener.fileno(), inheritance.lock))
                for heir in heirs:
                    await _send(ours, _describe(heir), (heir.sock.fileno(), *heir.descriptors))
                ready = await loop.sock_recv(ours, len(READY))
        except (TimeoutError, OSError) as error:
            _log.warning("the new daemon did not take over: %s", error or "no answer")
            ready = b""
    if ready == READY:
        notify(f"MAINPID={process.pid}")  # or the service would be over with us
        return True
    if process.returncode is None:
        process.kill()
    await process.wait()
    return False


def receive(descriptor: int) -> HandoverState:
    """What the process behind `descriptor` hands over. Called before the loop runs."""
    giver = socket.socket(fileno=descriptor)
    giver.settimeout(DEADLINE)
    os.set_inheritable(descriptor, False)
    told_head, (listener, lock) = _receive(giver)
    # what a daemon of ours sent, perhaps of another version: what we do not know is left out
    head = decode(told_head, type=_Head)
    heirs: list[HandedConnection] = []
    for _ in range(head.connections):
        told, descriptors = _receive(giver)
        heirs.append(_heir(decode(told, type=_ConnectionMessage), descriptors))
    giver.settimeout(None)
    return HandoverState(socket.socket(fileno=listener), lock, heirs, giver, head.activated)


class _ConnectionMessage(Struct, frozen=True):
    """A connection in words. Bytes and the operating system's strings travel as latin-1 text: every byte survives."""

    protocol: tuple[int, int]
    version: str
    frontend: str = field(name="face")
    """Under its name of the first release, which a daemon of that one says."""
    pid: int
    token: str
    pump: bool
    cwd: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    unread: str
    unwritten: str
    umask: int | None = None
    private: str = ""


class _Head(Struct, frozen=True):
    connections: int
    activated: bool = False


def _describe(heir: HandedConnection) -> _ConnectionMessage:
    hello = heir.hello
    return _ConnectionMessage(
        protocol=hello.protocol,
        version=hello.version,
        frontend=hello.frontend,
        pid=hello.pid,
        token=hello.token,
        pump=hello.pump,
        cwd=_pack(hello.cwd),
        umask=hello.umask,
        arguments=tuple(_pack(argument) for argument in hello.arguments),
        environment={_pack(name): _pack(value) for name, value in hello.environment.items()},
        unread=heir.unread.decode("latin-1"),
        unwritten=heir.unwritten.decode("latin-1"),
        private=heir.private.decode("latin-1"),
    )


def _heir(told: _ConnectionMessage, descriptors: tuple[int, ...]) -> HandedConnection:
    hello = Hello(
        protocol=(told.protocol[0], told.protocol[1]),
        version=told.version,
        frontend=told.frontend,
        pid=told.pid,
        token=told.token,
        cwd=_unpack(told.cwd),
        umask=told.umask,
        reattach=True,
        pump=told.pump,
        arguments=tuple(_unpack(argument) for argument in told.arguments),
        environment={_unpack(name): _unpack(value) for name, value in told.environment.items()},
    )
    sock = socket.socket(fileno=descriptors[0])
    sock.setblocking(False)
    unread, unwritten, private = (each.encode("latin-1") for each in (told.unread, told.unwritten, told.private))
    return HandedConnection(sock, hello, descriptors[1:], unread, unwritten, private)


def _pack(text: str) -> str:
    return os.fsencode(text).decode("latin-1")


def _unpack(text: str) -> str:
    return os.fsdecode(text.encode("latin-1"))


async def _send(sock: socket.socket, told: _ConnectionMessage | _Head, descriptors: tuple[int, ...]) -> None:
    body = encode(told)
    frame = memoryview(len(body).to_bytes(8, "big") + body)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    loop = asyncio.get_running_loop()
    while True:
        try:
            sent = sock.sendmsg([frame], rights)
            break
        except BlockingIOError:
            await _writable(loop, sock)
    await loop.sock_sendall(sock, frame[sent:])


async def _writable(loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
    room = asyncio.Event()
    loop.add_writer(sock, room.set)
    try:
        await room.wait()
    finally:
        loop.remove_writer(sock)


def _receive(sock: socket.socket) -> tuple[bytes, tuple[int, ...]]:
    """One message with its descriptors. Raises ConnectionError when the giver is gone."""
    rights = array.array("i")
    data = b""
    wanted = 8
    while len(data) < wanted:
        piece, ancillary, _, _ = sock.recvmsg(
            min(wanted - len(data), 1 << 20), socket.CMSG_SPACE(4 * 8), _CLOSE_ON_EXEC
        )
        if not piece:
            raise ConnectionError("the old daemon is gone")
        data += piece
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                rights.frombytes(payload)
        if len(data) == 8:
            wanted = 8 + int.from_bytes(data, "big")
    return data[8:], tuple(rights)
