"""Which process a pid in a file means: pid, start time and boot together, because pids are used again.

Signals go through a pidfd opened before the identity is checked, so that they reach that process or none.
"""

import os
import signal

from msgspec import Struct


class Identity(Struct, frozen=True):
    """One process, for ever. `start_ticks` is 0 where the system does not say."""

    pid: int
    start_ticks: int
    boot_id: str

    @classmethod
    def of(cls, pid: int) -> "Identity | None":
        """The process that has this pid now; None when there is none, or when it has ended and waits to be reaped."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            pass
        state, ticks = _stat(pid)
        return None if state == "Z" else cls(pid, ticks, _boot_id())

    @classmethod
    def mine(cls) -> "Identity":
        """This process."""
        return cls(os.getpid(), _stat(os.getpid())[1], _boot_id())

    def alive(self) -> bool:
        """Whether exactly this process still runs."""
        return Identity.of(self.pid) == self


def write_owner(lock: int, identity: Identity, version: str) -> None:
    """Note in the lock file who holds the lock. Information only: the flock decides."""
    line = f"{identity.pid} {identity.start_ticks} {identity.boot_id} {version}\n".encode()
    os.ftruncate(lock, 0)
    os.pwrite(lock, line, 0)


def read_owner(path: str) -> tuple[Identity, str] | None:
    """Who noted itself last, and its version; None when the file says nothing readable."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            pid, ticks, boot, version = file.read(200).split()
        return Identity(int(pid), int(ticks), boot), version
    except (OSError, ValueError):
        return None


def send_signal(identity: Identity, number: signal.Signals) -> bool:
    """Signal exactly this process; False when it is gone."""
    if not hasattr(os, "pidfd_open"):
        if not identity.alive():
            return False
        os.kill(identity.pid, number)
        return True
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    try:
        if not identity.alive():
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)


def _stat(pid: int) -> tuple[str, int]:
    """State letter and start time."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            return fields[0].decode(), int(fields[19])
    except (OSError, IndexError, ValueError):
        return "?", 0


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "-"
