"""Files by descriptor: no link is followed on the way, a replacement is whole or did not happen, nobody's bytes are lost.

Paths given here are already judged: absolute, with every link resolved. A link found on the way therefore was put there
since, and is refused. All functions block; call them in a thread.
"""

import contextlib
import ctypes
import errno
import fcntl
import functools
import hashlib
import os
import re
import secrets
import signal
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sould.agents.base.descriptors import content_digest, decides_modes, open_regular, opened_directory, read_bytes
from sould.agents.base.inplace import is_mount_point, stays_in_place, write_in_place
from sould.agents.base.workspace import FileChangedError, NotAFileError, WorkspaceError

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SWAP = 2
_MOST_SWAPS = 64
"""How often a text is put back against a program that writes again and again in between."""
_MOST_LEFT = 16
"""Files that killed processes left of their writes that are looked into."""
_NO_REPLACE = 4 if sys.platform == "darwin" else 1
_TEMP = re.compile(r"\.sould-[0-9a-f]{16}\.tmp")
_MOUNTED = "is a mount point and has other names (hard links) that would change with it, which nobody allowed; nothing was written"
_MAKES_NO_FILES = {errno.EACCES, errno.EPERM, errno.EROFS}
_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EMLINK}


def digest_of(data: bytes) -> str:
    """The digest that names a content everywhere: sha256, hex."""
    return hashlib.sha256(data).hexdigest()


def read_file(path: Path, limit: int) -> tuple[bytes, int]:
    """The first `limit` bytes of a regular file, and its size.

    Raises:
        NotAFileError, OutsideError, WorkspaceError
    """
    with _said(path, "read"), opened_directory(path.parent) as folder, _regular(folder, path) as fd:
        return read_bytes(fd, limit), os.fstat(fd).st_size


def list_directory(path: Path) -> list[tuple[str, bool]]:
    """The names in a directory, sorted, and whether each is a directory itself (a link to one is not).

    Raises:
        NotAFileError, OutsideError, WorkspaceError
    """
    with _said(path, "list"), opened_directory(path) as folder:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            with os.scandir(fd) as entries:
                return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        finally:
            os.close(fd)


def replace_file(path: Path, data: bytes, *, expected: str | None, umask: int, names: int = 1) -> None:
    """Put `data` in place of the content with digest `expected` (None: of nothing; parent directories are made).

    What is new gets its mode by `umask`, as from a program of the user's; mode, owner and extended attributes of a file
    that is replaced stay. What another program writes at the same moment is either noticed or comes after. (Where the
    system cannot swap two files, as on some network file systems, the last look is just before.)

    `names`: how many names (hard links) of the file may change with it. One that has just so many keeps them, and a mount
    point stays one: these are written where they are (`inplace`), and until that is done what they held and are to hold lies
    beside them, where the directory lets it. Where a file has other names than that, this name alone changes.

    Raises:
        FileChangedError: the content is not `expected`; the file is as the other program left it.
        NotAFileError, OutsideError, WorkspaceError: nothing was written.
    """
    with _said(path, "write"), opened_directory(path.parent, create=umask if expected is None else None) as folder:
        old = _check_target(folder, path, expected)
        if old is None or expected is None:
            with _temp(folder, data, None, umask) as temp:
                _publish_new(folder, temp, path)
            return
        try:
            if stays_in_place(folder, old, names):
                _replace_in_place(folder, path, old, data, expected, names)
            else:
                with _temp(folder, data, old) as temp:
                    _publish_over(folder, temp, path, expected, digest_of(data))
        finally:
            os.close(old)


def part_from_names(path: Path) -> None:
    """Give this name of a file a file of its own, which is the same but for that: the other names keep what they have.

    Raises:
        FileChangedError: another program wrote the file meanwhile.
        NotAFileError, OutsideError, WorkspaceError: nothing was changed.
    """
    with _said(path, "write"), opened_directory(path.parent) as folder, _regular(folder, path) as fd:
        if is_mount_point(folder, fd):
            raise WorkspaceError(f"{path} {_MOUNTED}")
        found = os.fstat(fd)
        data = read_bytes(fd, found.st_size)
        with _temp(folder, data, fd) as temp:
            os.utime(temp, ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=folder, follow_symlinks=False)
            _publish_over(folder, temp, path, digest_of(data), digest_of(data))


def is_written_in_place(path: Path, names: int) -> bool:
    """Whether `replace_file` writes the file where it is, so that a write that is cut off leaves a part of it."""
    try:
        with opened_directory(path.parent) as folder, _regular(folder, path) as fd:
            return stays_in_place(folder, fd, names)
    except (OSError, WorkspaceError):
        return False


def remove_file(path: Path, *, expected: str) -> None:
    """Remove the file whose content has the digest `expected`.

    It is taken aside before the last look, so that what another program writes at the same moment is put back.

    Raises:
        FileChangedError: the content is not `expected`; the file is as the other program left it.
        NotAFileError, OutsideError, WorkspaceError: nothing was removed.
    """
    with _said(path, "delete"), opened_directory(path.parent) as folder:
        old = _check_target(folder, path, expected)
        if old is not None:
            os.close(old)
        aside = f".sould-{secrets.token_hex(8)}.tmp"
        os.rename(path.name, aside, src_dir_fd=folder, dst_dir_fd=folder)
        if _digest_at(folder, aside) != expected:
            if not _rename(folder, aside, path.name, _NO_REPLACE):
                os.link(aside, path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
                os.unlink(aside, dir_fd=folder)
            raise _changed(path)
        os.unlink(aside, dir_fd=folder)
        _sync_directory(folder)


def make_directories(path: Path, umask: int) -> None:
    """Make `path` and what is missing above it, with the modes a program of the user's would give them.

    Raises:
        NotAFileError, OutsideError, WorkspaceError
    """
    with _said(path, "make"), opened_directory(path, create=umask):
        pass


def is_passing(name: str) -> bool:
    """Whether a file of this name is one of our writes under way, or what a killed process left of one."""
    return name.startswith(".sould-") and _TEMP.fullmatch(name) is not None


def sweep(folder: Path, known: Iterable[bytes]) -> None:
    """Remove what a killed process left of its writes in `folder`.

    That is a file with one of our temporary names that holds the beginning of a known content. All else stays.
    """
    contents = tuple(known)
    for path in _passing(folder):
        with contextlib.suppress(OSError, WorkspaceError):
            data, size = read_file(path, max(map(len, contents), default=0))
            if len(data) == size and any(content.startswith(data) for content in contents):
                os.unlink(path)


def left_in(folder: Path, most: int) -> Iterator[bytes]:
    """What a killed process left of its writes in `folder`, each up to `most` bytes."""
    for path in _passing(folder)[:_MOST_LEFT]:
        with contextlib.suppress(WorkspaceError):
            yield read_file(path, most)[0]


def _passing(folder: Path) -> list[Path]:
    try:
        return sorted(Path(entry.path) for entry in os.scandir(folder) if is_passing(entry.name))
    except OSError:
        return []


@contextmanager
def _regular(folder: int, path: Path) -> Generator[int, None, None]:
    fd = open_regular(folder, path)
    try:
        yield fd
    finally:
        os.close(fd)


# --- replacing -------------------------------------------------------------------------------------------------------


def _check_target(folder: int, path: Path, expected: str | None) -> int | None:
    """The descriptor of the file to be replaced, its content checked; None when there is to be none and is none."""
    try:
        fd = open_regular(folder, path)
    except NotAFileError:
        if _exists(folder, path.name):
            raise
        if expected is None:
            return None
        raise FileChangedError(f"{path} was deleted since it was read; nothing was written") from None
    try:
        if expected is None:
            raise FileChangedError(f"{path} exists already; nothing was written")
        if not _no_writer(fd):
            raise FileChangedError(f"another program is writing {path} just now; nothing was written")
        if content_digest(fd) != expected:
            raise _changed(path)
        if not os.access(path.name, os.W_OK, dir_fd=folder):
            raise WorkspaceError(f"{path} is read-only; nothing was written")
    except WorkspaceError:
        os.close(fd)
        raise
    return fd


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _changed(path: Path) -> FileChangedError:
    return FileChangedError(f"{path} changed since it was read; nothing was written")


def _replace_in_place(folder: int, path: Path, old: int, data: bytes, expected: str, names: int) -> None:
    if os.fstat(old).st_nlink > names:
        raise WorkspaceError(f"{path} {_MOUNTED}")
    os.lseek(old, 0, os.SEEK_SET)
    held = read_bytes(old, os.fstat(old).st_size)
    if digest_of(held) != expected:
        raise _changed(path)
    with _beside(folder, old, held), _beside(folder, old, data):
        _sync_directory(folder)
        write_in_place(folder, path, old, held, data)


@contextmanager
def _beside(folder: int, old: int, data: bytes) -> Generator[None, None, None]:
    """A copy as long as the block lasts, in a directory in which files may be made."""
    with contextlib.ExitStack() as copies:
        try:
            copies.enter_context(_temp(folder, data, old))
        except OSError as error:
            if error.errno not in _MAKES_NO_FILES:
                raise
        yield


@contextmanager
def _temp(folder: int, data: bytes, old: int | None, umask: int = 0) -> Generator[str, None, None]:
    """The name of a file with this content, on disk, and with what `old` is beside its content; gone with the block."""
    temp = f".sould-{secrets.token_hex(8)}.tmp"
    try:
        _write_temp(folder, temp, data, old, umask)
        yield temp
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temp, dir_fd=folder)


def _write_temp(folder: int, temp: str, data: bytes, old: int | None, umask: int) -> None:
    decided = old is None and decides_modes(folder)
    fd = os.open(temp, _CREATE, 0o666 if decided else 0o600, dir_fd=folder)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        if old is not None:
            _copy_attributes(old, fd)
        elif not decided:
            os.fchmod(fd, 0o666 & ~umask)  # the process's own umask is another
        os.fsync(fd)
    finally:
        os.close(fd)


def _copy_attributes(old: int, new: int) -> None:
    was, now = os.fstat(old), os.fstat(new)
    mode = stat.S_IMODE(was.st_mode)
    if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
        try:
            os.fchown(new, was.st_uid, was.st_gid)
        except OSError:
            mode &= 0o777  # set-uid bits must not pass to another owner
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(old):
                with contextlib.suppress(OSError):
                    os.setxattr(new, name, os.getxattr(old, name))
    os.fchmod(new, mode)


def _publish_new(folder: int, temp: str, path: Path) -> None:
    try:
        if not _rename(folder, temp, path.name, _NO_REPLACE):
            os.link(temp, path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise FileChangedError(f"{path} was created by another program meanwhile; nothing was written") from None
    _sync_directory(folder)


def _publish_over(folder: int, temp: str, path: Path, expected: str, ours: str) -> None:
    """Swap the new text in, then look at what came out; if that is not what was read, swap back.

    A plain rename would silently drop a text that another program put there after our last look.
    """
    try:
        swapped = _rename(folder, temp, path.name, _SWAP)
    except FileNotFoundError:
        raise FileChangedError(f"{path} was deleted since it was read; nothing was written") from None
    if not swapped:
        if _digest_at(folder, path.name) != expected:
            raise _changed(path)
        os.replace(temp, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        _sync_directory(folder)
        return
    if _still_holds(folder, temp, expected):
        return
    placed, held = ours, _digest_at(folder, temp)
    for _ in range(_MOST_SWAPS):
        _rename(folder, temp, path.name, _SWAP)
        if _still_holds(folder, temp, placed):
            break
        placed, held = held, _digest_at(folder, temp)  # they wrote once more: what came out now is the newest
    raise _changed(path)


def _still_holds(folder: int, temp: str, digest: str) -> bool:
    """Whether the file we took away is as it should be, before and after the directory is synced.

    The second look is for a program that was in the middle of opening the file by its name when it was swapped. One
    that stays in that system call for longer than the sync takes is the one case nothing here can see.
    """
    if _digest_at(folder, temp) != digest:
        return False
    _sync_directory(folder)
    return _digest_at(folder, temp) == digest


def _digest_at(folder: int, name: str) -> str:
    """The digest of what `name` is now; empty for anything but a regular file that nobody is writing to."""
    try:
        fd = open_regular(folder, Path(name))
    except (WorkspaceError, OSError):
        return ""
    try:
        return content_digest(fd) if _no_writer(fd) else ""
    finally:
        os.close(fd)


def _no_writer(fd: int) -> bool:
    """False when a program has the file open for writing; new ones wait until `fd` is closed. True where nobody can tell.

    A program that empties a file and then fills it would otherwise fill the one we just took away. Only Linux answers,
    by granting a read lease; its signal is set to one that is ignored, because the usual one ends the process.
    """
    if sys.platform != "linux":
        return True
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno != errno.EAGAIN
    return True


def _sync_directory(folder: int) -> None:
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _rename(folder: int, source: str, target: str, flag: int) -> bool:
    """Rename with `flag` inside one directory; False where the system or file system cannot."""
    call = _rename_call()
    if call is None:
        return False
    if call(folder, os.fsencode(source), folder, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), target)


@functools.cache
def _rename_call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    libc = ctypes.CDLL(None, use_errno=True)
    made = ctypes.CFUNCTYPE(
        *(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint), use_errno=True
    )
    try:
        return made(("renameatx_np" if sys.platform == "darwin" else "renameat2", libc))
    except AttributeError:
        return None


# --- saying what went wrong ------------------------------------------------------------------------------------------

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.EFBIG: "the file would be too large for the file system",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENOENT: "its directory was removed",
    errno.ELOOP: "it became a link since it was resolved",
    errno.EMFILE: "too many files are open",
    errno.EBUSY: "it is a mount point, or another program holds it",
    errno.ETXTBSY: "it is a program that runs just now",
}


@contextmanager
def _said(path: Path, verb: str) -> Generator[None, None, None]:
    """Turn what the system says into one sentence that names the path."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or "the system refused")
        kind = NotAFileError if error.errno == errno.ENOENT else WorkspaceError
        raise kind(f"cannot {verb} {path}: {reason}") from error
