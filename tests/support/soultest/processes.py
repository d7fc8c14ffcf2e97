"""Looking at real processes: who carries a marker in its environment, how much memory and how many descriptors one holds."""

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

MARK = "SOULTEST_MARK"


def marked(mark: str) -> list[int]:
    """Live processes (zombies left out) started with `SOULTEST_MARK=mark`."""
    return carrying(MARK, mark)


def carrying(name: str, value: str) -> list[int]:
    """Live processes (zombies left out) started with this in their environment."""
    found: list[int] = []
    wanted = f"{name}={value}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if wanted in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                found.append(int(entry))
        except OSError:
            continue
    return found


def until_gone(mark: str, seconds: float, but: Collection[int] = ()) -> list[int]:
    """Wait at most `seconds` for every marked process, `but` those, to be gone; those that are left."""
    deadline = time.monotonic() + seconds
    while left := [pid for pid in marked(mark) if pid not in but]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return left


def end_all(name: str, value: str) -> None:
    """Kill each process that was started with this in its environment, and what these start meanwhile."""
    while left := carrying(name, value):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def memory(pid: int | None = None) -> int:
    """Resident bytes of a process, of this one by default."""
    text = Path(f"/proc/{pid or 'self'}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS:")).split()[1]) * 1024


def descriptors() -> int:
    """Open descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))


def peak_memory(pid: int) -> int:
    """The most bytes that were ever resident."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmHWM:")).split()[1]) * 1024
