"""What the next daemon must know of a connection when this one is killed: a small file per connection (D11).

The file is mapped memory with two slots and a switch: a new state is written to the slot not in use, then the switch
is set. `kill -9` at any moment leaves one whole state, and no write ever waits for a disk (a crash of the machine ends
the editors, too). Before each state stand its marks: numbers that change more often than the rest, one at a time and in
their place. What states and marks mean belongs to the frontend; this module keeps them and two flags, whether a write to
the client, or something that was read of it, was under way. Environments and conversation texts are never kept here (D14).
"""

import contextlib
import logging
import mmap
import os
import re
import struct
import time
from collections.abc import Sequence
from typing import NamedTuple

_log = logging.getLogger(__name__)

_MAGIC = b"sould record 2\n\0"
_EARLIER = b"sould record 1\n\0"
"""Without marks."""
_SWITCH, _CUT, _TAKING, _LENGTHS, _COUNTS, _SLOTS = 16, 17, 18, 24, 40, 64
_NUMBER = struct.Struct("@Q")
_NAME = re.compile(r"[cn]\.[0-9a-f]{32}")
"""Records, and the notes beside them."""
_FORGOTTEN = 24 * 3600.0


class StoredRecord:
    """One connection's file. Closing keeps it for the next daemon; `forget` removes it."""

    def __init__(self, path: str, capacity: int = 8192) -> None:
        """Make an empty record at `path`; `capacity` bytes fit a state before the file must grow.

        Where the disk refuses, it is kept in memory: the client is served, and begins anew with the next daemon.
        """
        self._path = path
        self._map, self._capacity = _create(path, capacity)
        self._current = 0

    def write(self, state: bytes, marks: Sequence[int] = ()) -> None:
        """Replace the state and its marks in one step."""
        size = _NUMBER.size * len(marks)
        if size + len(state) > self._capacity:
            self._grow(state, marks)
            return
        slot = 1 - self._current
        start = _SLOTS + slot * self._capacity
        for place, mark in enumerate(marks):
            self._put(start + _NUMBER.size * place, mark)
        self._map[start + size : start + size + len(state)] = state
        self._put(_LENGTHS + 8 * slot, len(state))
        self._put(_COUNTS + 8 * slot, len(marks))
        self._map[_SWITCH] = slot
        self._current = slot

    def mark(self, place: int, mark: int) -> None:
        """Replace one of the marks that the state was written with."""
        self._put(_SLOTS + self._current * self._capacity + _NUMBER.size * place, mark)

    def _put(self, at: int, number: int) -> None:
        """Write a number, all of it at once: `struct` would clear its place before, and a kill would leave that."""
        self._map[at : at + _NUMBER.size] = _NUMBER.pack(number)

    def note_cut(self, *, cut: bool) -> None:
        """Whether the client may have got the beginning of a line only."""
        self._map[_CUT] = 1 if cut else 0

    def note_taking(self, *, under_way: bool) -> None:
        """Whether the client may have said something of which no state knows yet."""
        self._map[_TAKING] = 1 if under_way else 0

    def close(self) -> None:
        """Let go of the file, which stays."""
        self._map.close()

    def forget(self) -> None:
        """The conversation is over: remove the file."""
        self._map.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _grow(self, state: bytes, marks: Sequence[int]) -> None:
        flags = self._map[_CUT : _TAKING + 1]
        grown, capacity = _create(self._path + ".new", 2 * (len(state) + _NUMBER.size * len(marks)))
        self._map.close()
        self._map, self._capacity, self._current = grown, capacity, 0
        self._map[_CUT : _TAKING + 1] = flags
        self.write(state, marks)
        try:
            os.rename(self._path + ".new", self._path)
        except OSError:  # it is in memory only, and the last one on disk says what holds no more
            with contextlib.suppress(OSError):
                os.unlink(self._path)


def record_path(runtime: str, token: str) -> str:
    """Where the record of a connection is. The token's form was checked when the hello was read."""
    return f"{runtime}/c.{token}"


class FoundRecords(NamedTuple):
    """What a daemon left, whether its last write may have been cut, and whether it read something that is not in it."""

    state: bytes
    marks: tuple[int, ...]
    cut: bool
    taking: bool


def read_record(path: str) -> FoundRecords | None:
    """What a daemon left; None when there is no usable record."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    if not data.startswith((_MAGIC, _EARLIER)) or len(data) < _SLOTS:
        return None
    slot = data[_SWITCH]
    (length,) = _NUMBER.unpack_from(data, _LENGTHS + 8 * slot)
    (count,) = _NUMBER.unpack_from(data, _COUNTS + 8 * slot)
    start = _SLOTS + slot * ((len(data) - _SLOTS) // 2)
    begin = start + _NUMBER.size * count
    if not length or begin + length > len(data):
        return None
    marks = tuple(mark for (mark,) in _NUMBER.iter_unpack(data[start:begin]))
    return FoundRecords(data[begin : begin + length], marks, data[_CUT] == 1, data[_TAKING] == 1)


def sweep_records(runtime: str) -> None:
    """Remove what nobody came back for within a day."""
    for entry in os.scandir(runtime):
        if _NAME.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > _FORGOTTEN:
            _log.info("removing a forgotten record")
            with contextlib.suppress(OSError):
                os.unlink(entry.path)


def _create(path: str, capacity: int) -> tuple[mmap.mmap, int]:
    capacity += -capacity % _NUMBER.size  # so that a number is never written in two pieces
    size = _SLOTS + 2 * capacity
    try:
        mapped = _mapped(path, size)
    except OSError as error:
        _log.warning("a connection cannot be resumed once this daemon is killed: %s: %s", path, error.strerror)
        with contextlib.suppress(OSError):
            os.unlink(path)
        mapped = mmap.mmap(-1, size)
    mapped[0 : len(_MAGIC)] = _MAGIC
    return mapped, capacity


def _mapped(path: str, size: int) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, size)  # a full disk must show here, not as SIGBUS later
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)
