"""Locks that the kernel keeps on files: each ends with its holder, however that ends. The file, or a pid in it, decides nothing.

The start of the daemon imports it, so it needs nothing but what the interpreter has loaded already, except `fcntl`.
"""

import fcntl
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_TRIES, _LOOKS, _PAUSE_S = 50, 5, 0.01


def open_lock_file(path: "str | Path") -> int:
    """A descriptor of the file, made when missing; never inherited, never through a link. Raises OSError."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def lock_now(descriptor: int) -> None:
    """Hold the lock of an open file until its descriptor is closed.

    Raises:
        BlockingIOError: somebody else holds it.
        OSError: its file system has no locks.
    """
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_after(descriptor: int, holder: str) -> None:
    """As `lock_now`, where `holder` is the pid of whoever held it last, as far as is known.

    A process leaves its locks to a program that it is just starting until that has begun, also when it is killed or gives
    them up meanwhile: some milliseconds, which are waited for.
    """
    for _ in range(_TRIES):
        try:
            lock_now(descriptor)
        except BlockingIOError:
            if holder != str(os.getpid()) and _lives(holder):
                raise
            time.sleep(_PAUSE_S)
        else:
            return
    lock_now(descriptor)


def _lives(pid: str) -> bool:
    """Whether there is such a process; True when nobody knows."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OverflowError, OSError):
        return True
    return True


def share(directory: "str | Path") -> int:
    """Let `is_shared` be true of a directory until the descriptor is closed. Any number may.

    Whoever can open the directory can tell, from every namespace.

    Raises:
        OSError: it cannot be opened, its file system has no locks, or somebody keeps all others out.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _patiently(descriptor, fcntl.LOCK_SH)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def is_shared(directory: "str | Path") -> bool:
    """Whether somebody has called `share` for a directory and goes on; False when that cannot be found out."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        _patiently(descriptor, fcntl.LOCK_EX)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _patiently(descriptor: int, kind: int) -> None:
    """Others look with `is_shared`, which takes a moment."""
    for _ in range(_LOOKS):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)
        else:
            return
    fcntl.flock(descriptor, kind | fcntl.LOCK_NB)


def is_locked(path: "str | Path") -> bool:
    """Whether somebody holds the lock of a file now; False when that cannot be found out."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
