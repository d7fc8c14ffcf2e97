"""A server over standard streams: started under the guard, its complaints heard, ended in three steps. Knows no protocol.

Its process belongs to the daemon's guard, so that no end of the daemon leaves it behind.
"""

import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias

from sould.agents.base.environment import USUAL_UMASK
from sould.agents.base.process.guard import GuardedProcess, ProcessGuard
from sould.agents.base.tasks import beside, in_time

LONGEST_WAIT: Final = 30.0
"""Seconds between two attempts, at most."""
INPUT_CLOSE_GRACE: Final = 2.0
"""Seconds a server gets to end after its input has ended, before TERM."""
LONGEST_COMPLAINT: Final = 4096
MOST_LINES: Final = 8
"""Lines that are kept of what a server complains about: of a failed installation the last names nothing but a log."""
Complaint: TypeAlias = Callable[[Sequence[str]], None]
"""Takes the last lines of a server's standard error. Must not block."""


@asynccontextmanager
async def serving(
    guard: ProcessGuard,
    argv: Sequence[str],
    cwd: Path,
    variables: Mapping[str, str],
    complaint: Complaint,
    *,
    umask: int = USUAL_UMASK,
    memory: int | None = None,
) -> AsyncGenerator[GuardedProcess, None]:
    """The server's process; its input ends first, then it gets TERM, then KILL, with all its descendants.

    `memory`: bytes that one of its processes may have.

    Raises:
        CommandStartError: nothing was started; the text says why.
    """
    process = await guard.start(argv, cwd, variables, stdin=True, errors=True, umask=umask, memory=memory)
    async with beside(_listen(process, complaint), f"errors of {argv[0]}"):
        try:
            yield process
        finally:
            process.close_input()
            await in_time(INPUT_CLOSE_GRACE, process.wait())
            await process.kill()


async def _listen(process: GuardedProcess, complaint: Complaint) -> None:
    """Keep the last lines of what it complains about; a flood is read and dropped."""
    tail = b""
    async with aclosing(process.errors()) as errors:
        async for chunk in errors:
            tail = (tail + chunk)[-LONGEST_COMPLAINT:]
            lines = [line for line in tail.decode(errors="replace").splitlines() if line.strip()]
            if lines:
                complaint(lines[-MOST_LINES:])


class Restarts:
    """How often it was started lately."""

    def __init__(self) -> None:
        self._starts: deque[float] = deque()

    def began(self) -> None:
        """It is started now."""
        self._starts.append(time.monotonic())

    def forget(self) -> None:
        """What was does not count: somebody wants it anew."""
        self._starts.clear()

    def wait(self, failures: int, *, first: float, most: int, window: float) -> float | None:
        """Seconds until the next attempt, after so many `failures` in a row.

        None: there were more than `most` of them, or more than `most` starts within `window` seconds.
        """
        now = time.monotonic()
        while self._starts and self._starts[0] < now - window:
            self._starts.popleft()
        if failures > most or len(self._starts) > most:
            return None
        return min(first * 2 ** min(max(failures - 1, 0), 10), LONGEST_WAIT)
