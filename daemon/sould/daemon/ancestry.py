"""Whether a process was started by what this daemon runs for an agent: commands, hooks, MCP servers, tools.

Such a process is the agent's hand and not the user's: it may not answer for the user. Nothing here is a sandbox; a
process that can kill the daemon or use another program of the user's gets away from it. Reads `/proc` and changes nothing;
that what an agent starts stays below us is `ownprocess`' work.
"""

import contextlib
import os
import sys

GUARD = b"sould-guard"
"""What the guard and its keepers are called."""
_TRIES = 3


def is_below(pid: int, ancestor: int) -> bool | None:
    """Whether a process was started, at any remove, by another one; None: it is gone, or hidden, and nobody can tell.

    Where there is no `/proc` (macOS) nobody can ever tell, and the answer is no.
    """
    if not sys.platform.startswith("linux"):
        return False
    for _ in range(_TRIES):  # a process on the way up may end while we look; its child then has another parent
        found = _climb(pid, ancestor)
        if found is not None:
            return found
    return None


def runs_guarded() -> bool:
    """Whether this very process is below the guard of any daemon, whatever its environment says of where that is."""
    pid = os.getpid() if sys.platform.startswith("linux") else 0
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                before, _, after = file.read().rpartition(b")")
        except OSError:
            return False
        if before.endswith(b"(" + GUARD):
            return True
        pid = int(after.split()[1])
    return False


def _climb(pid: int, ancestor: int) -> bool | None:
    if pid < 1:  # of another world, as from outside of a container
        return None
    while pid > 1 and pid != ancestor:
        try:
            parent = _parent(pid)
        except PermissionError:
            return False
        if parent is None:
            return None
        pid = parent
    return pid == ancestor


def _parent(pid: int) -> int | None:
    """None: the process has ended. Raises PermissionError for another user's, which some systems hide: none of ours."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:  # every client waits for this, so no file object is made
            state, parent = os.read(descriptor, 4096).rpartition(b")")[2].split(None, 2)[:2]
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
        return None
    if state in (b"Z", b"X"):  # what it started has another parent already
        return None
    return int(parent)
