"""What it costs to be told of changes by watchfiles, in each way: wake-ups a minute while nothing happens, and seconds until told.

    .venv/bin/python benchmarks/watching.py

`awatch` is how the library's manual does it; the last one is how sould does (`rareevents`). Takes two minutes; Linux only.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] -- trio, which it can do without, is not here

from processes import cpu, wakeups, woken
from sould.agents.files.directories.rareevents import STEP, WatchfilesEvents

QUIET_S = 24.0
Way = Callable[[Path, asyncio.Event], Awaitable[None]]


class Listener:
    """Sets the event when something happened."""

    def __init__(self, told: asyncio.Event) -> None:
        self._told = told

    def happened(self, folder: str, name: str) -> None:
        """See `FolderListener`."""
        self._told.set()

    def burst_over(self) -> None:
        """See `FolderListener`."""

    def lost(self) -> None:
        """See `FolderListener`."""


def by_awatch(step: float) -> Way:
    """With so many seconds between looks."""

    async def run(folder: Path, told: asyncio.Event) -> None:
        async for _ in awatch(folder, step=round(step * 1000)):
            told.set()

    return run


async def by_timer(folder: Path, told: asyncio.Event) -> None:
    """As sould does."""
    WatchfilesEvents().listen(Listener(told), [str(folder)])
    await asyncio.Event().wait()


WAYS: dict[str, Way] = {
    "awatch, its own step of 50 ms": by_awatch(0.05),
    f"awatch, a step of {STEP:g} s": by_awatch(STEP),
    f"a timer of {STEP:g} s": by_timer,
}


async def measured(way: Way) -> str:
    """One way's row."""
    own = [os.getpid()]
    with tempfile.TemporaryDirectory() as folder:
        told = asyncio.Event()
        running = asyncio.create_task(_never_ending(way(Path(folder), told)))
        await asyncio.sleep(2 * STEP + 0.5)
        before, used = wakeups(own), cpu(own)
        await asyncio.sleep(QUIET_S)
        slept, used = woken(before, wakeups(own)) / QUIET_S * 60, cpu(own) - used
        begun = time.perf_counter()
        Path(folder, "config.toml").touch()
        await told.wait()
        late = time.perf_counter() - begun
        running.cancel()
    return f"{slept:6.0f} wake-ups a minute, {used / QUIET_S * 100:.2f} % of a core, told after {late:.1f} s"


async def _never_ending(way: Awaitable[None]) -> None:
    await way


if __name__ == "__main__":
    for name, each in WAYS.items():
        print(f"{name}: {asyncio.run(measured(each))}", flush=True)
