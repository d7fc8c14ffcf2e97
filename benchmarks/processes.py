"""What processes cost, as the kernel tells it: memory, processor time, wake-ups. Linux only; it must never change them.

Everything is asked of a process and all that descend from it, because an agent is often several processes.
"""

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def family(roots: Iterable[int]) -> set[int]:
    """These processes and all that descend from them, as far as they still run."""
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found and alive(pid):
            found.add(pid)
            waiting += children(pid)
    return found


def children(pid: int) -> list[int]:
    """Direct children."""
    found: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(each) for each in (task / "children").read_text().split()]
    return found


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    return _fields(pid)[:1] not in ([], ["Z"])


def cpu(roots: Iterable[int]) -> float:
    """Seconds of processor time so far, with that of children which have ended and were waited for."""
    return sum(sum(int(ticks) for ticks in _fields(pid)[11:15]) for pid in family(roots)) / TICK


def pss(roots: Iterable[int], without: str = "") -> float:
    """Proportional memory in MB: what these processes cost, shared pages divided among their users.

    `without` leaves out processes whose command line holds this text.
    """
    return sum(_pss(pid) for pid in family(roots) if not without or without not in _command_line(pid))


def _command_line(pid: int) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""


def _pss(pid: int) -> float:
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def wakeups(roots: Iterable[int]) -> dict[str, int]:
    """How often each of their threads went to sleep so far."""
    counts: dict[str, int] = {}
    for pid in family(roots):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                for line in (task / "status").read_text().splitlines():
                    if line.startswith("voluntary_ctxt_switches:"):
                        counts[task.name] = int(line.split()[1])
    return counts


def woken(before: dict[str, int], after: dict[str, int]) -> int:
    """How often they did between two counts; a thread that ended meanwhile counts for nothing."""
    return sum(count - before.get(thread, 0) for thread, count in after.items())


def settle(roots: Iterable[int], calm: float = 1.0, patience: float = 30.0) -> None:
    """Wait until they have finished what they do in the background: `calm` seconds without processor time."""
    roots = tuple(roots)
    last, since = cpu(roots), time.monotonic()
    deadline = since + patience
    while time.monotonic() - since < calm and time.monotonic() < deadline:
        time.sleep(0.1)
        now = cpu(roots)
        if now > last:
            last, since = now, time.monotonic()


def wait_gone(pid: int, patience: float = 10.0) -> None:
    """Until the process is gone; killed when it does not go."""
    deadline = time.monotonic() + patience
    while alive(pid):
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _fields(pid: int) -> list[str]:
    """The fields of `/proc/PID/stat` behind the name: the state first, user and system time at 11 to 14."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
