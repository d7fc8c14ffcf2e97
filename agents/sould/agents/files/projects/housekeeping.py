"""Once a day: past edits that nobody needs go from the logs of all projects, and contents that no log refers to (D39)."""

import asyncio
import contextlib
import logging
import os
import time
from pathlib import Path
from typing import Final

from sould.agents.base.errors import SouldError
from sould.agents.base.privatefile import write_private
from sould.agents.files.edits.ageing import OLD
from sould.agents.files.edits.blobsweep import sweep_blobs
from sould.agents.files.projects.projects import Projects

DAY: Final = 24 * 3600.0
AT_REST: Final = 120.0
"""Seconds after a daemon has begun in which it has other things to do."""
_STAMP: Final = ".cleared"
_log: Final = logging.getLogger(__name__)


async def clear_daily(projects: Projects) -> None:
    """As long as the daemon runs."""
    stamp = projects.state_dir / _STAMP
    while True:
        last = await asyncio.to_thread(_time_of, stamp)
        await asyncio.sleep(seconds_until_next(last, time.time()))
        with contextlib.suppress(OSError):
            await asyncio.to_thread(write_private, stamp, b"")
        await clear(projects, time.time())


def seconds_until_next(last: float, now: float) -> float:
    """How long to wait after the last time; not for long after a clock that was ahead was put right."""
    return min(DAY, max(AT_REST, last + DAY - now))


async def clear(projects: Projects, now: float) -> None:
    """Drop what is old and settled. What the disk refuses, or another process holds, is left for another time."""
    try:
        sessions = frozenset(await asyncio.to_thread(_sessions, projects.state_dir))
        for log_id in await asyncio.to_thread(projects.log_ids):
            try:
                await projects.age(log_id, sessions, now - OLD)
            except (SouldError, OSError) as error:
                _log.info("the edit log %s is left as it is: %s", log_id, error)
        await asyncio.to_thread(sweep_blobs, projects.state_dir, now)
    except OSError as error:
        _log.warning("old contents are not removed: %s", error)


def _sessions(state_dir: Path) -> list[str]:
    """Those that exist. Raises OSError: nobody knows."""
    directory = state_dir / "sessions"
    return os.listdir(directory) if directory.is_dir() else []


def _time_of(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
