"""Hard links: a file of several names may be a secret under another one, and counts as that (D47).

The other names that matter are looked for where secrets are: in the project, and in the well-known places of the account.
Only names and `lstat` are looked at; nothing is opened and no link is followed. Blocks: use it in a thread.
"""

import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.protected import read_is_protected
from sould.agents.permissions.secretnames import likelihood

MOST_ENTRIES: Final = 200_000
MOST_SECONDS: Final = 2.0
DEPTH_IN_HOME: Final = 3
FRESH: Final = 50_000_000
"""Nanoseconds by which the times of files may be behind the clock."""
PLACES: Final = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".docker",
    ".kube",
    ".password-store",
    ".config/gh",
    ".config/gcloud",
)
"""Below the home directory; its own files are looked at, too."""
_INSTALLED: Final = frozenset({"node_modules", "site-packages", ".venv", "venv", "__pycache__", ".tox", ".nox"})
"""Full of hard links to caches of package managers, and of no secret of the user's."""
_INSIDE_VCS: Final = frozenset({".git", ".hg", ".svn", ".jj"})

_Inode = tuple[int, int]


class HardLinks:
    """What is looked for is looked for again only when a file got a name since then, which its change time tells."""

    def __init__(self, where: PolicyContext) -> None:
        self._where = where
        self._known: dict[_Inode, tuple[Path, ...]] = {}
        self._looked: tuple[int, int] = (0, 0)
        """When, in nanoseconds, and in how many directories of the session."""
        self._lock = threading.Lock()

    def other_names(self, path: Path) -> tuple[Path, ...]:
        """The secrets that the file at `path` is, by names it has elsewhere."""
        try:
            found = os.lstat(path)
        except (OSError, ValueError):  # no file can have such a name
            return ()
        if not _has_several_names(found):
            return ()
        with self._lock:
            if found.st_ctime_ns + FRESH >= self._looked[0] or len(self._where.additional) != self._looked[1]:
                self._look()
            return tuple(name for name in self._known.get((found.st_dev, found.st_ino), ()) if name != path)

    def _look(self) -> None:
        self._looked = (time.time_ns(), len(self._where.additional))
        self._known = {}
        deadline = time.monotonic() + MOST_SECONDS
        for name, found in self._places(deadline):
            if _has_several_names(found) and self._may_be_secret(name):
                inode = (found.st_dev, found.st_ino)
                self._known[inode] = (*self._known.get(inode, ()), name)

    def _may_be_secret(self, name: Path) -> bool:
        return likelihood(name, self._where) != "no" or bool(read_is_protected(name, self._where))

    def _places(self, deadline: float) -> Iterator[tuple[Path, os.stat_result]]:
        where = self._where
        yield from _files(where.home, 1, deadline)
        for place in (*(where.home / name for name in PLACES), *where.own):
            yield from _files(place, DEPTH_IN_HOME, deadline)
        for root in (where.root, *where.additional):
            yield from _files(root, MOST_ENTRIES, deadline)


def _has_several_names(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def _files(root: Path, depth: int, deadline: float) -> Iterator[tuple[Path, os.stat_result]]:
    """The files below `root` with what `lstat` says of them, breadth first, as far as time allows."""
    level, seen = [root], 0
    while level and depth > 0:
        below: list[Path] = []
        for directory in level:
            for entry in _listed(directory):
                seen += 1
                if seen > MOST_ENTRIES or time.monotonic() > deadline:
                    return
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _INSTALLED:
                        below.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    try:
                        yield Path(entry.path), entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
        level, depth = below, depth - 1


def _listed(directory: Path) -> list[os.DirEntry[str]]:
    """Of version control only its own settings, which may hold a token."""
    try:
        with os.scandir(directory) as entries:
            inside = directory.name in _INSIDE_VCS
            return [entry for entry in entries if not inside or entry.name == "config"]
    except OSError:
        return []
