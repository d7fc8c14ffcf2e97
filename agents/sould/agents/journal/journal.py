"""The writing side of `wire.jsonl`: append, save before it is shown, let the writer thread sync.

`append` never touches the disk; the writer's `save` gives the system what was appended, once a turn of the loop and
before any client is shown it; `commit` is a promise that everything appended is on the disk. A message that streams is
one line, to which each piece is appended as it comes (D50). Nothing already written is ever rewritten in place.
"""

import asyncio
import logging
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from msgspec import Struct

from sould.agents.base.errors import JournalFullError, SouldError, why_refused
from sould.agents.journal.journalfile import JournalFile
from sould.agents.journal.locking import lock_file
from sould.agents.journal.openline import OpenLine
from sould.agents.journal.records import (
    FORMAT,
    Damage,
    JournalRecord,
    Scan,
    as_record,
    is_partial,
    metadata_line,
    read_records,
    record_line,
    sequence_of,
    unseal,
)
from sould.agents.journal.recovery import OpenWork, Recovery
from sould.agents.journal.writer import JournalWriter
from sould.agents.wire.messages import WireMessage
from sould.agents.wire.stream import Cursor, Record, is_delta, joined, piece, rest

__all__ = ["Damage", "Journal", "JournalRecord", "JournalWriter", "Recovery", "read_records"]

logger = logging.getLogger(__name__)

KEPT_BYTES = 32 * 1024 * 1024
"""A journal up to this size is parsed once for opening it and for the replay that follows."""


SLICE = 0.0003
"""Seconds of parsing between two turns of the loop."""
_LOOKS = 16
"""Records between two looks at the clock."""
_BUFFER = 64 * 1024
"""Bytes read at once while parsing: each read lets other threads have the interpreter."""


class _Parsed(Struct, frozen=True):
    """The records of a journal's first `end` bytes."""

    records: deque[Record]
    end: int


class _Streaming(Struct):
    """The message whose deltas arrive, and its line."""

    first: Record
    pieces: list[str]
    line: OpenLine

    def whole(self) -> WireMessage:
        return joined(self.first.message, self.pieces)


class Journal:
    """One session's journal; its lock is held from `open` to `aclose`."""

    def __init__(self, path: Path, writer: JournalWriter, file: JournalFile, lock: int, recovered: Recovery) -> None:
        """For `create` and `open`."""
        self.path = path
        self.recovered = recovered
        self._writer = writer
        self._file = file
        self._lock = lock
        self._streaming: _Streaming | None = None
        self._parsed: _Parsed | None = None
        self._appended = 0
        self._closed = False

    @classmethod
    def create(cls, path: Path, writer: JournalWriter, metadata: Mapping[str, Any]) -> "Journal":
        """A new file whose first line is Wire's metadata with ours added.

        Raises:
            FileExistsError: there is one already.
            JournalFullError: the disk refuses.
            SessionOpenElsewhereError: another process is making it.
        """
        lock = lock_file(path.with_name(path.name + ".lock"))
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(path, flags, 0o600)
        except FileExistsError:
            os.close(lock)
            raise
        except OSError as error:
            os.close(lock)
            raise JournalFullError(f"The session's journal {path} cannot be created: {why_refused(error)}.") from error
        file = JournalFile(path, descriptor, 0)
        file.add(metadata_line(metadata))
        writer.wake(file)
        return cls(path, writer, file, lock, Recovery(metadata=dict(metadata)))

    @classmethod
    async def open(
        cls, path: Path, writer: JournalWriter, visit: Callable[[WireMessage], None] = lambda _: None
    ) -> "Journal":
        """Lock, check, set a torn tail aside, finish a message that was cut; `visit` sees every message on the way.

        The whole file is read: from the disk in a thread, parsed on the loop, a slice of time at a time. A parsing
        thread would make every other client wait for the interpreter at each of its system calls.

        Raises:
            SessionOpenElsewhereError: another process holds it.
            SouldError: it cannot be read, locked or repaired.
        """
        lock = lock_file(path.with_name(path.name + ".lock"))
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            os.close(lock)
            raise SouldError(f"The session's journal {path} cannot be opened: {error.strerror}.") from error
        try:
            await asyncio.to_thread(_read_ahead, descriptor)
            file, recovered, parsed = await _recover(path, descriptor, visit)
        except OSError as error:
            os.close(descriptor)
            os.close(lock)
            raise JournalFullError(f"The session's journal {path} cannot be repaired: {why_refused(error)}.") from error
        except BaseException:
            os.close(descriptor)
            os.close(lock)
            raise
        if file.dirty:
            writer.wake(file)
        journal = cls(path, writer, file, lock, recovered)
        journal._parsed = parsed
        return journal

    @property
    def error(self) -> JournalFullError | None:
        """Why the session is read-only, while it is."""
        return self._file.error

    def append(self, record: Record) -> None:
        """Take a durable record; O(1), no system call of its own. Call it in the loop that publishes."""
        if self._closed:
            raise SouldError("The session is closed.")
        self._appended += 1
        streaming = self._streaming
        if streaming and streaming.first.seq == record.seq:
            text = piece(record.message)
            streaming.pieces.append(text)
            self._writer.note_more(self._file, self._file.add(streaming.line.more(text)))
            return
        self._finish()
        if is_delta(record.message):
            line = OpenLine(record.seq, record.timestamp, record.message)
            self._streaming = _Streaming(record, [piece(record.message)], line)
            self._add(line.begin())
        else:
            self._add(record_line(record.seq, record.timestamp, record.message))

    async def commit(self) -> None:
        """Return when everything appended is on disk.

        Raises:
            JournalFullError: the disk refuses; the session is read-only. What was appended is kept and tried again.
        """
        if self._closed:
            raise SouldError("The session is closed.")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._writer.wake(self._file, (loop, done))
        await done

    def read(self, since: Cursor, position: int = 0) -> Iterator[Record]:
        """Everything appended at and after `since`, each message as whole as it is now.

        The end comes when nothing has been appended that was not yielded; appending while it runs is fine. `position`: of a
        line in the file; what stands before it is not looked at.
        """
        parsed = None
        if not position:
            parsed, self._parsed = self._parsed, None
        if parsed and since == _START:
            while parsed.records:
                yield parsed.records.popleft()  # each is let go at once: all together would hold the loop up
            position = parsed.end
            since = Cursor(self.recovered.last_seq + 1)
        while True:
            appended = self._appended
            end, waiting = self._file.snapshot()
            streaming = self._streaming
            now = Record(streaming.first.seq, 0, streaming.whole(), streaming.first.timestamp) if streaming else None
            for line, following in _lines(self.path, position, end, waiting):
                position = following
                for record in _replayed(line, since):
                    yield record
                    since = record.after
            if now and (record := _after(now, since)):
                yield record
                since = record.after
            if self._appended == appended:
                return

    def forget(self) -> None:
        """Let go of what opening parsed, for when no replay has come."""
        self._parsed = None

    async def aclose(self) -> None:
        """Finish the open message, commit, give up the lock. Idempotent; a disk that refuses is logged, not raised."""
        if self._closed:
            return
        self.forget()
        self._finish()
        try:
            await self.commit()
        except JournalFullError as error:
            logger.warning("closing %s with records unsaved: %s", self.path, error.message)
        finally:
            self._closed = True
            self._writer.forget(self._file)
            os.close(self._lock)

    def _add(self, data: bytes) -> None:
        self._file.add(data)
        self._writer.note(self._file)

    def _finish(self) -> None:
        """The streaming message is whole: end its line."""
        streaming, self._streaming = self._streaming, None
        if streaming:
            self._add(streaming.line.end())


_START = Cursor(1)


def _read_ahead(descriptor: int) -> None:
    """Bring the file into the system's cache, so that reading it does not wait for the disk."""
    position = 0
    while block := os.pread(descriptor, 1 << 20, position):
        position += len(block)


async def _recover(
    path: Path, descriptor: int, visit: Callable[[WireMessage], None]
) -> tuple[JournalFile, Recovery, _Parsed | None]:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise SouldError(f"The session's journal {path} is not a file.")
    work = OpenWork()
    records: deque[Record] = deque()
    pause = time.monotonic() + SLICE
    keep = status.st_size <= KEPT_BYTES
    with os.fdopen(os.dup(descriptor), "rb", buffering=_BUFFER) as source:
        scan = Scan(source)
        for number, record in enumerate(scan, 1):
            if number % _LOOKS == 0 and time.monotonic() > pause:
                await asyncio.sleep(0)
                pause = time.monotonic() + SLICE
            message = record.message
            if message is not None:
                work.apply(message)
                visit(message)
                if keep:
                    records.append(Record(record.seq, 0, message, record.timestamp))
    if not scan.ours:
        raise SouldError(f"{path} was written by another program; it can be read but not continued.")
    if scan.newer:
        raise SouldError(
            f"{path} was written by a newer sould (journal format {scan.newer}; this one writes {FORMAT}), so the session "
            "can be listed and exported but not opened here. Update sould, then run `sould restart`."
        )
    torn = scan.size - scan.good_end
    recovered = Recovery(
        records=scan.records,
        last_seq=scan.last_seq,
        metadata=scan.metadata,
        torn_bytes=torn,
        torn_path=_set_aside(path, descriptor, scan.good_end) if torn else None,
        damage=scan.damage,
        cut=scan.cut.seq if scan.cut else None,
        open_turn=work.turn,
        open_step=work.step,
        open_usage=work.usage.total,
        open_calls=work.calls,
        open_requests=work.requests,
        open_compaction=work.compaction,
        open_restore=work.restore,
        open_dmail=work.dmail,
    )
    file = JournalFile(path, descriptor, scan.good_end)
    for line in _mending(path, scan):
        file.add(line)
    return file, recovered, _Parsed(records, scan.whole_end) if keep else None


def _mending(path: Path, scan: Scan) -> Iterator[bytes]:
    """The lines that make a repaired file whole again."""
    if scan.good_end == 0:
        yield metadata_line({"session_id": path.parent.name})
    elif scan.unterminated:
        yield b"\n"
    if scan.open_end:
        yield scan.open_end
    elif scan.cut and scan.cut.message is not None:
        yield record_line(scan.cut.seq, scan.cut.timestamp, scan.cut.message, incomplete=True)


def _set_aside(path: Path, descriptor: int, good_end: int) -> Path:
    """Move what follows the last good record into a file of its own, then cut it off."""
    aside = path.with_name(f"{path.name}.torn-{time.time_ns()}")
    copy = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        position = good_end
        while chunk := os.pread(descriptor, 1 << 20, position):
            position += os.write(copy, chunk)
        os.fsync(copy)
    finally:
        os.close(copy)
    os.ftruncate(descriptor, good_end)
    os.fsync(descriptor)
    return aside


def _lines(path: Path, start: int, end: int, waiting: bytes) -> Iterator[tuple[bytes, int]]:
    """The whole lines of the file's bytes and of those that wait behind them, each with where the next one in the file begins."""
    rest = b""
    if start < end:
        with path.open("rb") as file:
            file.seek(start)
            while start < end and (line := file.readline()[: end - start]):
                if line.endswith(b"\n"):
                    start += len(line)
                    yield line, start
                else:
                    rest = line
                    break
    for line in (rest + waiting).splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield line, start


def _replayed(line: bytes, since: Cursor) -> Iterator[Record]:
    """The records of a line, damaged or not, that are not before `since`."""
    content = line.removesuffix(b"\n")
    seq = sequence_of(content)
    if 0 < seq < since.seq:
        return
    fields = unseal(content)
    if fields and is_partial(content):
        return
    found = as_record(fields, seq) if fields else None
    for record in (found,) if found else Scan(BytesIO(line)):
        message = record.message
        if message is not None and (kept := _after(Record(record.seq, 0, message, record.timestamp), since)):
            since = kept.after
            yield kept


def _after(record: Record, since: Cursor) -> Record | None:
    """The part of a whole message at and after `since`."""
    if record.seq != since.seq:
        return record if record.seq > since.seq else None
    part = rest(record.message, since.offset)
    return Record(record.seq, since.offset, part, record.timestamp) if part is not None else None
