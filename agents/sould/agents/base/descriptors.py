"""Opening files and directories by descriptor, without following a link on the way.

Paths given here are already judged: absolute, with every link resolved. All functions block; call them in a thread.
"""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sould.agents.base.workspace import NotAFileError, OutsideError

_WALK = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@contextmanager
def opened_directory(path: Path, *, create: int | None = None) -> Generator[int, None, None]:
    """A descriptor of the directory; `create`: the umask with which missing ones are made.

    Raises:
        NotAFileError, OutsideError, OSError
    """
    fd = os.open("/", _WALK)
    try:
        for part in path.parts[1:]:
            following = _step(fd, part, path, create=create)
            os.close(fd)
            fd = following
        yield fd
    finally:
        os.close(fd)


def _step(fd: int, part: str, path: Path, *, create: int | None) -> int:
    try:
        return os.open(part, _WALK, dir_fd=fd)
    except FileNotFoundError:
        if create is None:
            raise NotAFileError(f"{path} does not exist") from None
        with contextlib.suppress(FileExistsError):
            _make_directory(fd, part, create)
        return os.open(part, _WALK, dir_fd=fd)
    except OSError as error:
        if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise
        if stat.S_ISLNK(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
            raise OutsideError(f"{path} now goes through a link (`{part}`) that was not there before") from None
        raise NotAFileError(f"`{part}` in {path} is not a directory") from None


def _make_directory(folder: int, name: str, umask: int) -> None:
    os.mkdir(name, dir_fd=folder)
    if decides_modes(folder):
        return
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        inherited = stat.S_IMODE(os.fstat(fd).st_mode) & ~0o777  # the set-group-id bit of the directory above
        os.fchmod(fd, inherited | (0o777 & ~umask))
    finally:
        os.close(fd)


def decides_modes(folder: int) -> bool:
    """Whether a default ACL says what new files in a directory may be, in place of any umask (Linux)."""
    if not hasattr(os, "getxattr"):
        return False
    try:
        return bool(os.getxattr(f"/proc/self/fd/{folder}", "system.posix_acl_default"))
    except OSError:
        return False


def open_regular(folder: int, path: Path) -> int:
    """A descriptor for reading; what is not a regular file is refused before it is opened (opening a device acts).

    Raises:
        NotAFileError, OutsideError, OSError
    """
    try:
        found = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise NotAFileError(f"{path} does not exist") from None
    _refuse_special(path, found.st_mode)
    fd = os.open(path.name, _READ, dir_fd=folder)
    try:
        _refuse_special(path, os.fstat(fd).st_mode)
    except NotAFileError:
        os.close(fd)
        raise
    return fd


def _refuse_special(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISLNK(mode):
        raise OutsideError(f"{path} is a link now; it was not one before")
    kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file (a device, pipe or socket)"
    raise NotAFileError(f"{path} is {kind}")


def read_bytes(fd: int, limit: int) -> bytes:
    """At most `limit` bytes from where the descriptor stands."""
    pieces: list[bytes] = []
    while limit > 0 and (piece := os.read(fd, min(limit, 1 << 20))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def content_digest(fd: int) -> str:
    """The digest of all that the file holds."""
    os.lseek(fd, 0, os.SEEK_SET)
    with open(fd, "rb", closefd=False) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
