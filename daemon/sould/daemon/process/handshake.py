"""Read a connection's hello frame (D11): exactly its bytes, with the descriptors that travel on the first one.

What does not begin like our frame is not answered (a web page's HTTP, a port scanner). Nothing after the frame is
taken: those bytes belong to the frontend. Descriptors are closed here whenever the frame is refused.
"""

import array
import asyncio
import contextlib
import os
import re
import socket
from collections.abc import Mapping

from msgspec import Struct, field

from sould.daemon.hello import FRONTENDS, HEADER, MAGIC, MAX_FRAME, decode

_TOKEN = re.compile(r"[0-9a-f]{32}")
_UMASK = re.compile(rb"[0-7]{1,3}")
_LENGTH = re.compile(rb"[0-9a-f]{8}\n")
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)

NO_DESCRIPTORS = "the daemon has no file descriptors left; close an editor, or raise ulimit -n"


class NotHelloError(Exception):
    """The peer does not speak our protocol. The text goes to the log only."""


class RefusedHelloError(Exception):
    """The peer speaks our protocol, but cannot be served. The text is one sentence for its user."""


class Hello(Struct, frozen=True):
    """Who connects. Everything here is the client's own word."""

    protocol: tuple[int, int]
    version: str
    frontend: str
    pid: int
    token: str
    cwd: str
    umask: int | None = None
    """None: a bridge that does not say it."""
    reattach: bool = False
    pump: bool = False
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """It holds keys: never shown."""

    def __repr__(self) -> str:
        return f"Hello(frontend={self.frontend!r}, version={self.version!r}, pid={self.pid}, cwd={self.cwd!r})"


async def read_hello(connection: socket.socket) -> tuple[Hello, tuple[int, ...]]:
    """The frame and the client's descriptors 0, 1, 2 (none when it pumps). `connection` is nonblocking.

    Raises:
        NotHelloError: other bytes, too many, or the end of the stream.
        RefusedHelloError: our descriptors are used up.
    """
    descriptors: list[int] = []
    try:
        header = b""
        while len(header) < HEADER:
            header += await _receive(connection, HEADER - len(header), descriptors)
            if header[: len(MAGIC)] != MAGIC[: len(header)]:
                raise NotHelloError(f"not a hello frame: {header[:40]!r}")
        length = _length(header)
        body = bytearray()
        while len(body) < length:
            body += await _receive(connection, length - len(body), descriptors)
        return _parse(bytes(body)), tuple(descriptors)
    except BaseException:
        close_all(descriptors)
        raise


def close_all(descriptors: "list[int] | tuple[int, ...]") -> None:
    """Close each; one that is closed already is none of our business."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _length(header: bytes) -> int:
    digits = header[len(MAGIC) :]
    if not _LENGTH.fullmatch(digits):
        raise NotHelloError("the hello frame has no length")
    length = int(digits, 16)
    if length > MAX_FRAME:
        raise NotHelloError(f"a hello frame of {length} bytes")
    return length


async def _receive(connection: socket.socket, size: int, descriptors: list[int]) -> bytes:
    """At most `size` bytes, at least one; descriptors that come with them are added to the list."""
    loop = asyncio.get_running_loop()
    item = array.array("i").itemsize
    while True:
        try:
            data, ancillary, flags, _ = connection.recvmsg(
                min(size, 65536), socket.CMSG_SPACE(3 * item), _CLOSE_ON_EXEC
            )
        except (BlockingIOError, InterruptedError):
            await _readable(loop, connection)
            continue
        except OSError as error:
            raise NotHelloError(f"the connection broke: {error.strerror}") from None
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(payload[: len(payload) - len(payload) % item])
                descriptors.extend(received)
        if flags & socket.MSG_CTRUNC:
            raise RefusedHelloError(NO_DESCRIPTORS)
        if not data:
            raise NotHelloError("the connection ended before its hello")
        return data


async def _readable(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    ready = asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)


def _parse(body: bytes) -> Hello:
    try:
        fields = decode(body)
        single = {key: value for key, value in fields if key not in (b"arg", b"env")}
        low, _, high = single[b"protocol"].partition(b"-")
        hello = Hello(
            protocol=(int(low), int(high)),
            version=single[b"version"].decode("ascii")[:40],
            frontend=single[b"face"].decode("ascii")[:20],
            pid=int(single[b"pid"]),
            token=single[b"token"].decode("ascii"),
            cwd=os.fsdecode(single[b"cwd"]),
            umask=_umask(single.get(b"umask")),
            reattach=b"reattach" in single,
            pump=b"pump" in single,
            arguments=tuple(os.fsdecode(value) for key, value in fields if key == b"arg"),
            environment=_environment([value for key, value in fields if key == b"env"]),
        )
    except (ValueError, KeyError) as error:
        raise NotHelloError(f"a malformed hello frame: {error}") from None
    if hello.frontend not in FRONTENDS or not _TOKEN.fullmatch(hello.token):
        raise NotHelloError(f"a hello frame for the frontend {hello.frontend!r}")
    return hello


def _umask(field: bytes | None) -> int | None:
    if field is None:
        return None
    if not _UMASK.fullmatch(field):
        raise ValueError("the umask is no mode")
    return int(field, 8)


def _environment(entries: list[bytes]) -> dict[str, str]:
    pairs = (entry.partition(b"=") for entry in entries)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
