"""Which directory it is, whatever its path: device, inode and time of birth, as the kernel tells them.

Nothing is written into the directory and nothing in it is read, so no project can claim to be another one, and a copy, a
clone or a restored backup is a directory of its own. An inode alone is not enough: it is given anew soon after a directory
is deleted. Blocks: use it in a thread.
"""

import ctypes
import functools
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

_OPEN: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_EMPTY_PATH: Final = 0x1000
_STATX_BTIME: Final = 0x800
_MASK: Final = struct.Struct("=I")
_BTIME: Final = struct.Struct("=qI")
_BTIME_AT: Final = 80


class DirectoryIdentity(Struct, frozen=True):
    """`born` in nanoseconds; 0 where the file system does not tell it."""

    device: int
    inode: int
    born: int


def identity_of(directory: Path) -> DirectoryIdentity:
    """Of a resolved directory. Raises OSError: it is missing, or no directory."""
    fd = os.open(directory, _OPEN)
    try:
        status = os.fstat(fd)
        return DirectoryIdentity(status.st_dev, status.st_ino, _born(fd, status))
    finally:
        os.close(fd)


def _born(fd: int, status: os.stat_result) -> int:
    told: float | None = getattr(status, "st_birthtime", None)  # macOS
    if told is not None:
        return int(told * 1e9)
    statx = _statx()
    buffer = ctypes.create_string_buffer(256)
    if statx is None or statx(fd, b"", _AT_EMPTY_PATH, _STATX_BTIME, buffer) != 0:
        return 0
    (mask,) = _MASK.unpack_from(buffer)
    if not mask & _STATX_BTIME:
        return 0
    seconds, rest = _BTIME.unpack_from(buffer, _BTIME_AT)
    return int(seconds) * 1_000_000_000 + int(rest)


@functools.cache
def _statx() -> "Callable[[int, bytes, int, int, ctypes.Array[ctypes.c_char]], int] | None":
    made = ctypes.CFUNCTYPE(
        *(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p), use_errno=True
    )
    try:
        return made(("statx", ctypes.CDLL(None, use_errno=True)))
    except AttributeError:
        return None
