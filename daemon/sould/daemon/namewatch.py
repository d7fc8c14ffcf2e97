"""Be told when a name in a directory appears, goes or changes hands, without looking (Linux).

The kernel sends a signal that means nothing to a process that does not expect it: whatever happens in the directory
while this one starts or ends, nobody is ended by it. Where the system cannot do this, nothing is told: whoever needs
the directory must look at times, too.
"""

import fcntl
import os
import signal
import sys

LOOK = signal.SIGWINCH
"""What the kernel sends, and what a client sends to a daemon whose socket is gone: ignored unless there is a handler."""


class NameWatch:
    """Watches one directory at a time. The owner handles `LOOK`."""

    def __init__(self, directory: str) -> None:
        """Nothing is watched before `renew`."""
        self._directory = directory
        self._descriptor: int | None = None

    def renew(self) -> None:
        """Watch what the path leads to now."""
        if self._descriptor is not None:
            try:
                if os.path.samestat(os.fstat(self._descriptor), os.lstat(self._directory)):
                    return
            except OSError:
                pass  # nothing is there
            os.close(self._descriptor)
        self._descriptor = _watched(self._directory)


def _watched(directory: str) -> int | None:
    """The descriptor on which the watch hangs; None where there is none."""
    if sys.platform != "linux":
        return None
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, LOOK)  # the usual signal would end the process
        names = fcntl.DN_CREATE | fcntl.DN_DELETE | fcntl.DN_RENAME
        fcntl.fcntl(descriptor, fcntl.F_NOTIFY, names | fcntl.DN_MULTISHOT)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
