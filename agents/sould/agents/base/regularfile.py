"""What sould reads by itself: a regular file, opened without waiting, bounded by what was read.

A project may have a pipe or a device in a file's place, and a file whose size is said to be 0 may never end. All
functions block; call them in a thread where the loop must not wait.
"""

import errno
import os
import stat
from pathlib import Path
from typing import Final

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a file where its reader says no less."""


def read_regular(path: Path, limit: int = LARGEST) -> bytes:
    """All of a regular file.

    Raises:
        OSError: it cannot be read, is no regular file (EINVAL), or is longer than `limit` (EFBIG).
    """
    data = read_beginning(path, limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return data


def read_text(path: Path, limit: int = LARGEST) -> str:
    """All of a regular file as UTF-8 text, its lines ended as on this system.

    Raises:
        OSError: see `read_regular`.
        UnicodeDecodeError: it is no UTF-8.
    """
    return read_regular(path, limit).decode().replace("\r\n", "\n").replace("\r", "\n")


def read_beginning(path: Path, limit: int) -> bytes:
    """The first `limit` bytes of a regular file.

    Raises:
        OSError: see `read_regular`.
    """
    with open(path, "rb", opener=without_waiting) as file:
        return file.read(limit)


def without_waiting(path: str, flags: int) -> int:
    """Open a regular file only; an opener for `open`."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor
