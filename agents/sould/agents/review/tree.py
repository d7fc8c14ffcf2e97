"""How a directory looks: every file, link and directory that git does not ignore, by what `lstat` says.

Nothing is opened. Our own writes under way are no files of the project: one that is seen by a look would be the doing of
the call that runs then, and would come back with it. Blocks: use it in a thread.
"""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from sould.agents.diskfile import is_passing

Seen: TypeAlias = tuple[int, int, int, int, int]
"""Mode, size, modification and change time in nanoseconds, inode; of a directory only the mode."""

NEVER = frozenset({".git", ".hg", ".svn"})


@dataclass(slots=True)
class Look:
    """By path relative to the root. `partial`: there was more than could be looked at in time.

    `beyond`: of each directory that holds more than was asked for, how everything in it looks, as one number.
    """

    found: dict[str, Seen] = field(default_factory=dict[str, Seen])
    beyond: dict[str, int] = field(default_factory=dict[str, int])
    partial: bool = False


def look(root: Path, ignored: Callable[[Path], frozenset[str]], most: int, deadline: float) -> Look:
    """Look at everything below `root`, at `most` files one by one. `ignored` is asked for the root and for every git project in it.

    What it answers is relative to the directory it was asked for; directories end in a slash.
    """
    seen = Look()
    pending: list[tuple[str, frozenset[str], str]] = [("", ignored(root), "")]
    while pending:
        if time.monotonic() > deadline:
            seen.partial = True
            return seen
        folder, hidden, base = pending.pop()
        try:
            with os.scandir(os.path.join(root, folder)) as listing:
                entries = list(listing)
        except OSError:
            continue
        if folder and any(entry.name == ".git" for entry in entries):
            hidden, base = ignored(root / folder), folder
        here = _take(entries, folder, hidden, base, pending)
        if len(seen.found) + len(here) <= most:
            seen.found.update(here)
        else:
            seen.beyond[folder] = hash(frozenset(here.items()))
    return seen


def _take(
    entries: list["os.DirEntry[str]"],
    folder: str,
    hidden: frozenset[str],
    base: str,
    pending: list[tuple[str, frozenset[str], str]],
) -> dict[str, Seen]:
    here: dict[str, Seen] = {}
    prefix = f"{folder}/" if folder else ""
    skip = len(base) + 1 if base else 0
    for entry in entries:
        path = prefix + entry.name
        if entry.name in NEVER or is_passing(entry.name) or (hidden and path[skip:] in hidden):
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            if hidden and f"{path[skip:]}/" in hidden:
                continue
            here[path] = (mode, 0, 0, 0, 0)
            pending.append((path, hidden, base))
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            here[path] = (mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return here
