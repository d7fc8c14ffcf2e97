"""Bytes over descriptors that other processes also hold: an editor's pipes, sockets, a terminal, a file.

The descriptors come from strangers, so their open file descriptions are shared: O_NONBLOCK set here would be set for
the editor, too, and on a terminal for the user's shell. Pipes are therefore opened anew through `/proc/self/fd` where
the system can, sockets are used with MSG_DONTWAIT, and everything else (terminals, files, pipes shared with
descriptor 2) is carried by a thread between the descriptor and a socket pair of our own. Reads happen in the loop,
one per tick; writes are collected and leave in one system call per tick, and at most one per millisecond where they
come more quickly than that. Nothing here knows what the bytes mean.
"""

import asyncio
import contextlib
import fcntl
import os
import select
import socket
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator
from typing import TypeAlias

from msgspec import Struct

from sould.daemon.partial_lines import LineTail, Tail

READ_SIZE = 256 * 1024
PIECE = 256 * 1024
ENOUGH = 64 * 1024
"""Bytes that need no company: as many as a pipe holds."""
FAREWELL = 1.0
GATHERING = 0.001
"""Seconds for which writes are gathered, once"""
QUICK = 8
"""in a row followed each other more quickly: each wakes the other side, which costs both more than what is in it."""

OnDrain: TypeAlias = Callable[[], None]
"""Called once, as soon as nothing is buffered or the other side is gone."""


OnWritten: TypeAlias = Callable[[int, bool], None]
"""Called after each write with all bytes written so far, and before one with the total unchanged and `whole` False."""


OnReading: TypeAlias = Callable[[bool], None]
"""Follows whether something was taken in that nobody has acted on.

True before something is; False when the reader has dealt with all of it and asks for more.
"""


class FdStream:
    """The ByteStream of `sould.agents.base.rpc.framing` over one descriptor to read and one to write (they may be the same).

    Owns what it is given and closes it. `unread` is delivered first and `unwritten` sent first: what an earlier
    process had taken in or not yet sent (D11).
    """

    def __init__(
        self,
        reader: int,
        writer: int,
        *,
        stderr: int | None = None,
        unread: bytes = b"",
        unwritten: bytes = b"",
        on_written: OnWritten = lambda total, whole: None,
        on_reading: OnReading = lambda under_way: None,
        tail: Tail | None = None,
    ) -> None:
        """Begin to use the descriptors. `tail` None: messages are lines."""
        self._loop = asyncio.get_running_loop()
        if reader == writer:
            writer = os.dup(reader)
        self._reader = _own_reader(reader)
        self._writer = _own_writer(writer, stderr)
        self._held: deque[bytes] = deque([unread] if unread else [])
        self._tail = tail or LineTail()
        self._waiter: asyncio.Future[bytes] | None = None
        self._watching = False
        self._eof = False
        self._pending: deque[bytes | memoryview] = deque()
        self._flush_planned = False
        self._flushed = 0.0
        """When the last flush was; `_gathered` is how often something was given since, `_quick` how many flushes in a row
        came within `GATHERING` of the one before."""
        self._gathered = 0
        self._quick = 0
        self._blocked = False
        self._broken = False
        self._closed = False
        self.heard = 0.0
        """When something came last, by the loop's clock."""
        self.buffered = 0
        self.written = 0
        self.queued = 0
        """Bytes ever given to `write`."""
        self._on_drain: list[OnDrain] = []
        self._on_written = on_written
        self._on_reading = on_reading
        if unwritten:
            self.write(unwritten)

    async def read(self) -> bytes:
        """The next bytes; b"" at the end of the stream, for ever. One reader at a time."""
        if self._held:
            data = self._held.popleft()
        elif self._eof or self._broken or self._closed:
            return b""
        else:
            self._on_reading(False)
            self._watch()
            self._waiter = self._loop.create_future()
            try:
                data = await self._waiter
            finally:
                self._waiter = None
        self._tail.note(data)
        return data

    @property
    def tail(self) -> bytes:
        """What was read of a message that is not complete, delivered or not: its beginning."""
        return self._tail.whole() + b"".join(self._held)

    def write(self, data: bytes) -> None:
        """Send `data` after everything given before. Never blocks; dropped when the other side is gone."""
        if self._broken or self._closed or not data:
            return
        self._pending.append(data)
        self.buffered += len(data)
        self.queued += len(data)
        self._gathered += 1
        if not self._flush_planned and not self._blocked:
            self._flush_planned = True
            if self._quick < QUICK or self._flushed + GATHERING <= self._loop.time():
                self._loop.call_soon(self._flush)
            else:
                self._loop.call_at(self._flushed + GATHERING, self._flush)

    async def drained(self) -> None:
        """Return when everything written has left, or the other side is gone."""
        if self.buffered == 0:
            return
        done = self._loop.create_future()
        self.on_drain(lambda: None if done.done() else done.set_result(None))
        await done

    def on_drain(self, callback: OnDrain) -> None:
        """Call `callback` once, as soon as nothing is buffered (also when the other side is gone)."""
        if self.buffered == 0:
            self._loop.call_soon(callback)
        else:
            self._on_drain.append(callback)

    async def aclose(self) -> None:
        """Send what is buffered, if the other side takes it within a second, then close both descriptors."""
        if self._closed:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await self.drained()
        self.abandon()
        if self._writer.carrier is not None:
            await asyncio.to_thread(self._writer.carrier.join, FAREWELL)

    def abandon(self) -> None:
        """Close both descriptors at once; what is buffered is dropped, a waiting `read` ends."""
        if self._closed:
            return
        self._close_state()
        self._reader.close()
        self._writer.close()

    def release(self) -> "Released":
        """Stop using the descriptors without closing them, for a process that goes on with them (D11).

        Later reads end and later writes are dropped. On a terminal the thread that carries it ends with this process.
        """
        unwritten = b"".join(self._pending)
        tail = self.tail
        self._close_state()
        return Released(self._reader.original, self._writer.original, tail, unwritten)

    def _close_state(self) -> None:
        self._closed = True
        self._stop_watching()
        self._end_writing()
        self._deliver(b"")

    # --- reading ------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        if not self._watching:
            self._watching = True
            self._loop.add_reader(self._reader.descriptor, self._readable)

    def _stop_watching(self) -> None:
        if self._watching:
            self._watching = False
            self._loop.remove_reader(self._reader.descriptor)

    def _readable(self) -> None:
        with self._or_close():
            self._take_in()

    @contextlib.contextmanager
    def _or_close(self) -> Generator[None]:
        """A callback that fails, as for want of memory, is the last: the loop would call it again at once."""
        whole = False
        try:
            yield
            whole = True
        finally:
            if not whole:
                self._break()

    def _take_in(self) -> None:
        self.heard = self._loop.time()
        if self._waiter is None or self._waiter.done():
            self._stop_watching()  # nobody wants more now: let the pipe fill
            return
        self._on_reading(True)
        try:
            data = self._reader.read()
        except (BlockingIOError, InterruptedError):
            self._on_reading(False)
            return
        except OSError:
            data = b""
        self._deliver(data)

    def _deliver(self, data: bytes) -> None:
        if not data:
            self._eof = True
            self._stop_watching()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(data)

    # --- writing ------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        with self._or_close():
            self._send_piece()

    def _send_piece(self) -> None:
        self._flush_planned = False
        if self._broken or not self._pending:
            return
        self._note_pace()
        data = self._next_piece()
        self._on_written(self.written, False)
        try:
            sent = self._writer.write(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._break()
            return
        self.written += sent
        self.buffered -= sent
        self._on_written(self.written, self.buffered == 0)
        if sent < len(data):
            self._pending.appendleft(memoryview(data)[sent:])
        if self.buffered:
            self._block()
        else:
            self._unblock()
            self._drain()

    def _note_pace(self) -> None:
        """Tell a stream of many small writes, which is gathered, from single ones, which leave at once."""
        now = self._loop.time()
        if now - self._flushed < GATHERING or (self._quick == QUICK and self._gathered > 1):
            self._quick = min(QUICK, self._quick + 1)
        else:
            self._quick = 0
        self._flushed = now
        self._gathered = 0

    def _next_piece(self) -> bytes | memoryview:
        """What one system call may take: all of it, unless that is more than a pipe could hold several times over."""
        if len(self._pending) == 1 or len(self._pending[0]) >= ENOUGH:
            return self._pending.popleft()
        pieces: list[bytes | memoryview] = []
        size = 0
        while self._pending and size < PIECE:
            piece = self._pending.popleft()
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def _block(self) -> None:
        if not self._blocked:
            self._blocked = True
            self._loop.add_writer(self._writer.descriptor, self._flush)

    def _unblock(self) -> None:
        if self._blocked:
            self._blocked = False
            self._loop.remove_writer(self._writer.descriptor)

    def _break(self) -> None:
        """The other side does not read any more: nothing it says matters either."""
        self._broken = True
        self._end_writing()
        self._stop_watching()
        self._deliver(b"")

    def _end_writing(self) -> None:
        self._unblock()
        self._pending.clear()
        self.buffered = 0
        self._drain()

    def _drain(self) -> None:
        callbacks, self._on_drain = self._on_drain, []
        for callback in callbacks:
            callback()


class Released(Struct, frozen=True):
    """Descriptors still open, and the bytes that were read but not handled, or given to `write` but not sent."""

    reader: int
    writer: int
    unread: bytes
    unwritten: bytes


class _End:
    """One direction, pollable. `original` is the stranger's descriptor, which differs when a thread carries it."""

    def __init__(self, source: int | socket.socket, original: int, carrier: threading.Thread | None = None) -> None:
        self.carrier = carrier
        self._socket = source if isinstance(source, socket.socket) else None
        self.descriptor = source.fileno() if isinstance(source, socket.socket) else source
        self.original = original

    def read(self) -> bytes:
        if self._socket is not None:
            return self._socket.recv(READ_SIZE, socket.MSG_DONTWAIT)
        return os.read(self.descriptor, READ_SIZE)

    def write(self, data: bytes | memoryview) -> int:
        if self._socket is not None:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        return os.write(self.descriptor, data)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        else:
            with contextlib.suppress(OSError):
                os.close(self.descriptor)


# --- making a stranger's descriptor pollable without changing it ------------------------------------------------------


def _own_reader(descriptor: int) -> _End:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        return _End(socket.socket(fileno=descriptor), descriptor)
    if stat.S_ISFIFO(mode):
        reopened = _reopen(descriptor, os.O_RDONLY)
        if reopened is not None:
            return _End(reopened, reopened)
    return _carried(descriptor, _carry_in)


def _own_writer(descriptor: int, stderr: int | None) -> _End:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        return _End(socket.socket(fileno=descriptor), descriptor)
    if stat.S_ISFIFO(mode):
        reopened = _reopen(descriptor, os.O_WRONLY)
        if reopened is not None:
            return _End(reopened, reopened)
        if stderr is None or not os.path.samestat(os.fstat(descriptor), os.fstat(stderr)):
            _set_nonblocking(descriptor)
            return _End(descriptor, descriptor)
    return _carried(descriptor, _carry_out)


def _reopen(descriptor: int, flags: int) -> int | None:
    """The same pipe behind a new open file description, which is nonblocking without anybody else noticing."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        fresh = os.open(f"/proc/self/fd/{descriptor}", flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None
    os.close(descriptor)
    return fresh


def _set_nonblocking(descriptor: int) -> None:
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_NONBLOCK)


def _carried(descriptor: int, work: Callable[[int, socket.socket], None]) -> _End:
    """A socket that stands for `descriptor`; a thread moves the bytes. It ends when either side does."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=work, args=(descriptor, theirs), daemon=True, name=f"sould-fd-{descriptor}")
    thread.start()
    return _End(ours, descriptor, thread)


def _carry_in(descriptor: int, theirs: socket.socket) -> None:
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    waiting.register(theirs, select.POLLHUP)
    with theirs, contextlib.suppress(OSError):
        while not any(event & select.POLLHUP for ready, event in waiting.poll() if ready == theirs.fileno()):
            data = os.read(descriptor, READ_SIZE)
            if not data:
                break
            theirs.sendall(data)
    os.close(descriptor)


def _carry_out(descriptor: int, theirs: socket.socket) -> None:
    with theirs, contextlib.suppress(OSError):
        while data := theirs.recv(READ_SIZE):
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
    os.close(descriptor)
