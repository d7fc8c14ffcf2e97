"""When something that has ended may be started again: in a moment, later, or not any more. Knows nothing of what it is."""

import time
from collections import deque
from typing import Final

LONGEST_WAIT: Final = 30.0
"""Seconds between two attempts, at most."""


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
