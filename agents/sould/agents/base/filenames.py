"""The names of a file (hard links): which lie below some directories, whether there are others, and which of them a write reaches.

They are looked for by `lstat`; no file is opened and no link is followed. Blocks: use it in a thread.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.base.diskfile import is_written_in_place, part_from_names

MOST_SECONDS: Final = 2.0
"""For one search; a name that was not found by then counts as one elsewhere."""
MOST_KNOWN: Final = 64
"""Files whose names are remembered."""


class FileNames(Struct, frozen=True):
    """Of one file: how many in all, and those `inside` the directories that count, but for the one that was asked about."""

    count: int = 1
    inside: tuple[Path, ...] = ()

    @property
    def elsewhere(self) -> bool:
        """It has names that are not known."""
        return len(self.inside) + 1 < self.count


ONE_NAME: Final = FileNames()


def names_of(path: Path, directories: Sequence[Path]) -> FileNames:
    """The names of the file at `path`, resolved, below these. What is missing or no regular file has one."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):  # no file can have such a name
        return ONE_NAME
    if not stat.S_ISREG(found.st_mode) or found.st_nlink < 2:
        return ONE_NAME
    place, inode = (path, *directories), (found.st_dev, found.st_ino)
    known = _KNOWN.get(place)
    if known is None or not known.holds(inode, found):
        names = _search(path, inode, found.st_nlink, directories)
        known = _KnownNames(names, found.st_ctime_ns)
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[place] = known
    return FileNames(found.st_nlink, known.names)


class _KnownNames(Struct, frozen=True):
    """The further names that a search found of a file, which had `changed` last at that time."""

    names: tuple[Path, ...]
    changed: int

    def holds(self, inode: tuple[int, int], found: os.stat_result) -> bool:
        """Whether another search would find the same: all names there are, or the file has got and lost none since."""
        is_all = len(self.names) + 1 == found.st_nlink
        return (is_all or self.changed == found.st_ctime_ns) and all(_is_at(name, inode) for name in self.names)


_KNOWN: Final[dict[tuple[Path, ...], _KnownNames]] = {}
"""By file and the directories in which its names were looked for."""


def names_among(paths: Iterable[str], path: str) -> Sequence[str]:
    """Those of the paths that are other names of the file at `path`."""
    try:
        found = os.lstat(path)
    except OSError:
        return ()
    inode = (found.st_dev, found.st_ino)
    return [each for each in paths if each != path and _inode(each) == inode] if found.st_nlink > 1 else ()


class WrittenNames(Struct, frozen=True):
    """What a write does to the names of a file: `count` of them change with it, `others` as far as they are known.

    `parted`: there were others, which keep what they had. `in_place`: it is written where it is, see `replace_file`.
    """

    count: int = 1
    others: tuple[Path, ...] = ()
    parted: bool = False
    in_place: bool = False


ONE_WRITTEN: Final = WrittenNames()


class Reach(Struct, frozen=True):
    """Which names change with a write of a file: all, when they lie below these directories, or `all_names` may."""

    directories: tuple[Path, ...]
    all_names: bool = False

    def prepare(self, path: Path) -> WrittenNames:
        """What a write of the file is going to do; where not all names may change with it, this one is parted from them first.

        Raises:
            FileChangedError, WorkspaceError: it cannot be parted; nothing may be written.
        """
        names = names_of(path, self.directories)
        if names.elsewhere and not self.all_names:
            part_from_names(path)
            return WrittenNames(parted=True)
        return WrittenNames(names.count, names.inside, in_place=is_written_in_place(path, names.count))


def _search(path: Path, inode: tuple[int, int], count: int, directories: Sequence[Path]) -> tuple[Path, ...]:
    """The names but for `path`, of which there are `count` in all."""
    names = {str(path)}
    todo, deadline = deque(map(str, directories)), time.monotonic() + MOST_SECONDS
    while todo and len(names) < count and time.monotonic() < deadline:
        for entry in _listed(todo.popleft()):
            if entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
            elif entry.inode() == inode[1] and _inode(entry.path) == inode:
                names.add(entry.path)
    return tuple(Path(name) for name in sorted(names) if name != str(path))


def _listed(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _is_at(name: Path, inode: tuple[int, int]) -> bool:
    """Whether this is a name of the file, and no directory above it became a link."""
    return os.path.realpath(name) == str(name) and _inode(name) == inode


def _inode(path: Path | str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
