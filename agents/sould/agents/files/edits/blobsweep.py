"""Removing contents that no log refers to any more. All projects share one store, so all logs are read first.

A content that is put again while it is removed is kept, or written anew: `BlobStore.put` marks it as used. Blocks: use it in
a thread.
"""

import os
import re
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

YOUNG: Final = 24 * 3600.0
"""Seconds for which a content stays in any case: what refers to it may be about to be written."""
_DIGEST: Final = re.compile(rb"[0-9a-f]{64}")
_GOING: Final = ".going"


def sweep_blobs(state_dir: Path, now: float | None = None) -> int:
    """How many were removed. Raises OSError, and then nothing is that any log refers to."""
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
