"""A file that is written where it is: one of several names (hard links), or a mount point, onto which nothing can be renamed.

A write that is cut off leaves a mixture of the two texts, which `is_torn` knows again: both are on disk before it begins.
All functions block; call them in a thread.
"""

import contextlib
import fcntl
import os
import sys
from itertools import zip_longest
from pathlib import Path

from sould.agents.base.workspace import FileChangedError

_WRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def stays_in_place(folder: int, fd: int, names: int) -> bool:
    """Whether the regular file that is open as `fd`, of the directory `folder`, is one of `names` names, or a mount point."""
    return 1 < os.fstat(fd).st_nlink == names or is_mount_point(folder, fd)


def is_mount_point(folder: int, fd: int) -> bool:
    """Whether a single file is mounted there, as containers do it."""
    return _mount(fd) != _mount(folder)


def write_in_place(folder: int, path: Path, old: int, held: bytes, data: bytes) -> None:
    """Write `data` over `held`, which the file that is open as `old` holds under this name of `folder`.

    Nobody else of this daemon writes it meanwhile, under whatever name.

    Raises:
        FileChangedError: the file is another one by now or holds something else, or another program writes it.
        OSError: it holds what it held before, as far as the system let that be put back.
    """
    _give_up_lease(old)
    try:
        fd = os.open(path.name, _WRITE, dir_fd=folder)
    except BlockingIOError:
        raise _busy(path) from None
    try:
        _lock(fd, path)
        if _identity(fd) != _identity(old) or _content(fd, len(held)) != held:
            raise FileChangedError(f"{path} changed since it was read; nothing was written")
        _write_over(fd, held, data)
        if _content(fd, len(data)) != data:
            raise FileChangedError(f"another program wrote {path} at the same moment")
    finally:
        os.close(fd)


def is_torn(found: bytes, before: bytes, after: bytes) -> bool:
    """Whether a write of `after` over `before` that was cut off may have left this: nothing in it is from anywhere else.

    What the system had not stored yet when it stopped is zero.
    """
    if found in (before, after) or len(found) > max(len(before), len(after)):
        return False
    return all(byte in (0, *either) for byte, either in zip(found, zip_longest(before, after), strict=False))


def _write_over(fd: int, held: bytes, data: bytes) -> None:
    """The part behind the old end comes first: a disk without room for it refuses that, and nothing is lost."""
    common = len(held)
    try:
        _write_at(fd, data[common:], common)
        _write_at(fd, data[:common], 0)
        os.ftruncate(fd, len(data))
        os.fsync(fd)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, common)
            _write_at(fd, held, 0)
            os.fsync(fd)
        raise


def _write_at(fd: int, data: bytes, offset: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(fd, rest, offset)
        rest, offset = rest[written:], offset + written


def _content(fd: int, size: int) -> bytes:
    """What the file holds, read one byte further than `size`."""
    pieces: list[bytes] = []
    at = 0
    while at <= size and (piece := os.pread(fd, size + 1 - at, at)):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def _identity(fd: int) -> tuple[int, int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino, found.st_nlink


def _lock(fd: int, path: Path) -> None:
    """Against ourselves: the locks of the daemon are by name, and this file may have several."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _busy(path) from None
    except OSError:
        pass  # a file system without locks


def _busy(path: Path) -> FileChangedError:
    return FileChangedError(f"another program is writing {path} just now; nothing was written")


def _give_up_lease(fd: int) -> None:
    """A lease keeps everybody from writing, ourselves included."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _mount(fd: int) -> str:
    """The mount that a descriptor is on; "" where the system does not tell, which mounts no single files then."""
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as lines:
            return next((line for line in lines if line.startswith("mnt_id:")), "")
    except OSError:
        return ""
