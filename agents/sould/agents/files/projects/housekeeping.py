"""Once a day: past edits that nobody needs go from the logs of all projects, and contents that no log refers to (D39)."""

import asyncio
import contextlib
import logging
import os
import re
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from sould.agents.base.errors import SouldError
from sould.agents.base.privatefile import write_private
from sould.agents.files.edits.ageing import OLD
from sould.agents.files.projects.projects import Projects

DAY: Final = 24 * 3600.0
AT_REST: Final = 120.0
"""Seconds after a daemon has begun in which it has other things to do."""
_STAMP: Final = ".cleared"
YOUNG: Final = 24 * 3600.0
"""Seconds for which a content stays in any case: what refers to it may be about to be written."""
_DIGEST: Final = re.compile(rb"[0-9a-f]{64}")
_GOING: Final = ".going"
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


def sweep_blobs(state_dir: Path, now: float | None = None) -> int:
    """Remove the contents that no log refers to; how many they were. All projects share one store, so all logs are read first.

    A content that is put again meanwhile is kept, or written anew: `BlobStore.put` marks it as used. Blocks.

    Raises:
        OSError: nothing is removed that any log refers to.
    """
    before = (now or time.time()) - YOUNG
    for draft in (*state_dir.glob("projects/*/*.tmp"), *state_dir.glob("projects/*/*.new")):
        _remove(draft, before)  # a killed daemon left it
    referred = _referred(state_dir)
    return sum(
        _remove(path, before) for path in _blobs(state_dir / "blobs") if path.parent.name + path.name not in referred
    )


def _referred(state_dir: Path) -> Collection[str]:
    """All digests that stand anywhere in a log; a log that cannot be read ends it."""
    found: set[bytes] = set()
    for pattern in ("projects/*/edits.jsonl", "sessions/*/ledger*.jsonl"):
        for log in state_dir.glob(pattern):
            with log.open("rb") as file:
                for line in file:
                    found.update(_DIGEST.findall(line))
    return {digest.decode() for digest in found}


def _blobs(directory: Path) -> Iterator[Path]:
    """The blobs, and what is left of writing and removing some."""
    for shard in os.scandir(directory):
        if len(shard.name) == 2 and shard.is_dir(follow_symlinks=False):
            yield from (Path(entry.path) for entry in os.scandir(shard.path))


def _remove(path: Path, before: float) -> bool:
    """Take it away, unless somebody has put it since."""
    try:
        if path.stat().st_mtime >= before:
            return False
        going = path.with_name(f"{path.name}{_GOING}")
        path.replace(going)
        if going.stat().st_mtime >= before:
            going.replace(path)
            return False
        going.unlink()
    except FileNotFoundError:  # another daemon's sweep was quicker
        return False
    return True
