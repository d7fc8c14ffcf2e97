"""One writer for each journal: a lock file held for life, whose content says who holds it.

The lock is the kernel's and ends with its holder, however that ends; the file is never removed and the pid in it is
information only.
"""

import contextlib
import os
from pathlib import Path

from sould.agents.base.errors import SessionOpenElsewhereError, SouldError
from sould.agents.base.filelock import lock_after, open_lock_file

ALLOW_UNLOCKED = "SOULD_ALLOW_UNLOCKED"
"""Set to 1 for file systems without locks, at one's own risk."""


def lock_file(path: Path) -> int:
    """Lock `path` and return its descriptor, which holds the lock until it is closed; never inherited.

    Raises:
        SessionOpenElsewhereError: somebody holds it.
        SouldError: it cannot be made, or its file system has no locks.
    """
    try:
        descriptor = open_lock_file(path)
    except OSError as error:
        raise SouldError(f"The lock file {path} cannot be opened: {error.strerror}.") from error
    holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
    try:
        lock_after(descriptor, holder)
    except BlockingIOError:
        os.close(descriptor)
        raise SessionOpenElsewhereError(
            f"The session is open in pid {holder}; close it there, or start a new session."
        ) from None
    except OSError as error:
        if os.environ.get(ALLOW_UNLOCKED) != "1":
            os.close(descriptor)
            raise SouldError(
                f"{path} cannot be locked ({error.strerror}): its file system may lose a session that two processes write. "
                f"Move the state directory, or set {ALLOW_UNLOCKED}=1."
            ) from error
    with contextlib.suppress(OSError):  # a full disk must not keep a session from being opened
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
    return descriptor
