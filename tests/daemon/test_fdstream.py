"""FdStream over everything an editor may hand us."""

import asyncio
import fcntl
import os
import pty
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sould.daemon.fdstream import GATHERING, FdStream

Ends = tuple[int, int]
"""The descriptor for the stream, and ours."""


def pipe_in() -> Ends:
    return os.pipe()


def pipe_out() -> Ends:
    reader, writer = os.pipe()
    return writer, reader


def socket_pair() -> Ends:
    one, other = socket.socketpair()
    return one.detach(), other.detach()


def terminal() -> Ends:
    ours, theirs = pty.openpty()
    import tty

    tty.setraw(theirs)
    return theirs, ours


def nonblocking(descriptor: int) -> bool:
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_NONBLOCK)


@pytest.fixture
def ends() -> Iterator[Callable[[Ends], Ends]]:
    """Closes what a test leaves open."""
    opened: list[int] = []

    def keep(pair: Ends) -> Ends:
        opened.extend(pair)
        return pair

    yield keep
    for descriptor in opened:
        with suppress(OSError):
            os.close(descriptor)


def null() -> int:
    return os.open(os.devnull, os.O_RDWR)


@pytest.mark.parametrize("make", [pipe_in, socket_pair, terminal])
async def test_bytes_arrive_and_the_end_is_the_end(make: Callable[[], Ends], ends: Callable[[Ends], Ends]) -> None:
    theirs, ours = make()
    stream = FdStream(theirs, null())
    os.write(ours, b"one\n")
    assert await stream.read() == b"one\n"
    os.write(ours, b"two\n")
    assert await stream.read() == b"two\n"
    os.close(ours)
    assert await stream.read() == b""
    assert await stream.read() == b""
    await stream.aclose()


@pytest.mark.parametrize("make", [pipe_out, socket_pair, terminal])
async def test_more_than_any_pipe_holds_arrives_whole_and_in_order(make: Callable[[], Ends]) -> None:
    theirs, ours = make()
    stream = FdStream(null(), theirs)
    lines = [b"%07d\n" % number for number in range(50_000)]
    for line in lines:
        stream.write(line)
    assert stream.buffered == 400_000
    received = await asyncio.to_thread(_read_exactly, ours, 400_000)
    assert received == b"".join(lines)
    await stream.drained()
    assert stream.buffered == 0
    assert stream.written == 400_000
    await stream.aclose()
    os.close(ours)


def _read_exactly(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(descriptor, 65536)
    return data


async def test_everything_written_in_one_tick_is_one_write() -> None:
    theirs, ours = pipe_out()
    notes: list[tuple[int, bool]] = []
    stream = FdStream(null(), theirs, on_written=lambda total, whole: notes.append((total, whole)))
    for _ in range(100):
        stream.write(b"x\n")
    await stream.drained()
    assert notes == [(0, False), (200, True)]
    assert os.read(ours, 1000) == b"x\n" * 100
    await stream.aclose()
    os.close(ours)


@pytest.mark.scaffold
async def test_what_was_read_is_under_way_until_the_reader_asks_for_more() -> None:
    ours, theirs = os.pipe()
    notes: list[bool] = []
    stream = FdStream(ours, null(), on_reading=notes.append)
    for said in (b"one\n", b"two\n"):
        os.write(theirs, said)
        assert await stream.read() == said
    assert notes == [False, True, False, True]
    os.close(theirs)
    assert await stream.read() == b""
    assert notes[4] is False
    await stream.aclose()


async def test_a_quick_stream_is_gathered_for_a_moment_and_single_writes_leave_at_once() -> None:
    theirs, ours = pipe_out()
    totals: list[int] = []
    stream = FdStream(null(), theirs, on_written=lambda total, whole: totals.append(total) if whole else None)
    for _ in range(1000):
        stream.write(b"x\n")
        await asyncio.sleep(0)
    await stream.drained()
    assert totals[-1] == 2000
    assert len(totals) < 500
    await asyncio.sleep(10 * GATHERING)
    for single in (b"y\n", b"z\n"):
        stream.write(single)
        await asyncio.sleep(0)
    assert totals[-1] == 2004
    assert os.read(ours, 10_000) == b"x\n" * 1000 + b"y\nz\n"
    await stream.aclose()
    os.close(ours)


@pytest.mark.parametrize("make", [pipe_out, socket_pair, terminal])
async def test_the_stranger_s_descriptors_stay_blocking(make: Callable[[], Ends]) -> None:
    theirs, ours = make()
    kept = os.dup(theirs)
    stream = FdStream(os.dup(theirs) if make is not pipe_out else null(), theirs)
    stream.write(b"x")
    await stream.drained()
    assert not nonblocking(kept)
    await stream.aclose()
    os.close(kept)
    os.close(ours)


async def test_a_pipe_that_is_also_standard_error_is_not_made_nonblocking() -> None:
    theirs, ours = pipe_out()
    stderr = os.dup(theirs)
    stream = FdStream(null(), theirs, stderr=stderr)
    stream.write(b"x")
    await stream.drained()
    assert not nonblocking(stderr)
    await stream.aclose()
    os.close(stderr)
    os.close(ours)


async def test_a_regular_file_is_read_to_its_end_and_written(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a\n" * 300_000)
    reader = os.open(tmp_path / "in", os.O_RDONLY)
    writer = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    stream = FdStream(reader, writer)
    while data := await stream.read():
        stream.write(data)
        await stream.drained()
    await stream.aclose()
    assert (tmp_path / "out").read_bytes() == b"a\n" * 300_000


async def test_one_socket_for_both_directions_works_as_node_does_it() -> None:
    ours, theirs = socket.socketpair()
    stream = FdStream(theirs.detach(), os.dup(ours.fileno()))
    await stream.aclose()
    ours.close()
    ours, theirs = socket.socketpair()
    descriptor = theirs.detach()
    stream = FdStream(descriptor, descriptor)
    ours.sendall(b"ping\n")
    assert await stream.read() == b"ping\n"
    stream.write(b"pong\n")
    await stream.drained()
    assert ours.recv(100) == b"pong\n"
    ours.close()
    assert await stream.read() == b""
    await stream.aclose()


@pytest.mark.parametrize("make", [pipe_out, socket_pair])
async def test_when_the_other_side_goes_the_stream_ends_and_writes_are_dropped(make: Callable[[], Ends]) -> None:
    theirs, ours = make()
    silent_reader, silent_writer = os.pipe()
    stream = FdStream(silent_reader, theirs)
    reading = asyncio.ensure_future(stream.read())
    os.close(ours)
    stream.write(b"x" * 1_000_000)
    await stream.drained()
    assert await reading == b""
    assert stream.buffered == 0
    stream.write(b"y")
    assert stream.buffered == 0
    await stream.aclose()
    os.close(silent_writer)


async def test_a_reader_that_wants_nothing_lets_the_pipe_fill() -> None:
    theirs, ours = pipe_in()
    os.set_blocking(ours, False)
    stream = FdStream(theirs, null())
    os.write(ours, b"first\n")
    assert await stream.read() == b"first\n"
    sent = 0
    with suppress(BlockingIOError):
        while True:
            sent += os.write(ours, b"z" * 4096)
    await asyncio.sleep(0)
    received = 0
    while received < sent:
        received += len(await stream.read())
    assert received == sent
    await stream.aclose()
    os.close(ours)


async def test_released_descriptors_go_on_where_they_were() -> None:
    read_theirs, read_ours = pipe_in()
    write_theirs, write_ours = pipe_out()
    stream = FdStream(read_theirs, write_theirs)
    os.write(read_ours, b'{"whole":1}\n{"hal')
    assert await stream.read() == b'{"whole":1}\n{"hal'
    stream.write(b"y" * 300_000)
    await asyncio.sleep(0)
    released = stream.release()
    assert released.unread == b'{"hal'
    assert len(released.unwritten) == 300_000 - stream.written
    again = FdStream(released.reader, released.writer, unread=released.unread, unwritten=released.unwritten)
    assert await again.read() == b'{"hal'
    os.write(read_ours, b'f":2}\n')
    assert await again.read() == b'f":2}\n'
    assert await asyncio.to_thread(_read_exactly, write_ours, 300_000) == b"y" * 300_000
    await again.aclose()
    os.close(read_ours)
    os.close(write_ours)


@pytest.mark.scaffold
async def test_on_drain_is_called_once() -> None:
    theirs, ours = pipe_out()
    stream = FdStream(null(), theirs)
    calls: list[int] = []
    stream.write(b"x")
    stream.on_drain(lambda: calls.append(1))
    await stream.drained()
    stream.write(b"y")
    await stream.drained()
    assert calls == [1]
    await stream.aclose()
    os.close(ours)


async def test_a_callback_that_fails_ends_the_stream_and_is_not_called_again(ends: Callable[[Ends], Ends]) -> None:
    failed: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))

    def fail(under_way: bool) -> None:
        if under_way:
            raise MemoryError

    ours, theirs = ends(socket_pair())
    stream = FdStream(ours, ours, on_reading=fail)
    os.write(theirs, b"x")
    assert await stream.read() == b""
    os.write(theirs, b"x")
    assert await stream.read() == b""
    assert len(failed) == 1
    stream.abandon()
