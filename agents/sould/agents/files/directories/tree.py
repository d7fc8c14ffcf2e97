"""How a directory looks: every file, link and directory that git does not ignore, by what `lstat` says.

Nothing is opened. What is found is packed, a folder at a time: a project may have hundreds of thousands of files, and a
session keeps what it saw last. A folder of equal bytes is as it was.

Our own writes under way are no files of the project: one that is seen by a look would be the doing of the call that runs
then, and would come back with it. Blocks: use it in a thread.
"""

import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field

from sould.agents.base.diskfile import is_passing

Seen: TypeAlias = tuple[int, int, int, int, int]
"""Mode, size, modification and change time in nanoseconds, inode; of a directory only the mode."""

NEVER = frozenset({".git", ".hg", ".svn"})
_SEEN = struct.Struct("<IQqqQ")
_INODE = struct.Struct("<Q")
_FEW = 8
"""Files that a listing is searched for one by one."""
_COARSE = 5
"""CLOCK_REALTIME_COARSE of Linux: what the times of files are taken from."""
_BEHIND = 10_000_000
"""Nanoseconds that the times of files may be behind the clock elsewhere."""


def file_clock() -> int:
    """Nanoseconds: what is done to a local file from here on has no earlier change time."""
    return time.clock_gettime_ns(_COARSE) if sys.platform == "linux" else time.time_ns() - _BEHIND


class TreeListing(Struct, frozen=True):
    """What is in one folder: names with a zero byte between them, and as many packed `Seen`."""

    names: bytes
    stats: bytes

    @classmethod
    def of(cls, entries: Iterable[tuple[str, Seen]]) -> "TreeListing":
        """In the order given."""
        names: list[str] = []
        stats: list[bytes] = []
        for name, seen in entries:
            names.append(name)
            stats.append(_SEEN.pack(*seen))
        return cls(os.fsencode("\0".join(names)), b"".join(stats))

    def __len__(self) -> int:
        return len(self.stats) // _SEEN.size

    @property
    def number(self) -> int:
        """The same for the same entries, whatever their order, in every process."""
        entries = sorted(f"{name}\0{seen}" for name, seen in self.entries())
        return int.from_bytes(blake2b(os.fsencode("\0".join(entries)), digest_size=8).digest(), "big")

    def named(self, inodes: Collection[int]) -> list[str]:
        """The names of these files, as far as it has them."""
        if len(inodes) <= _FEW and not any(_INODE.pack(inode) in self.stats for inode in inodes):
            return []  # as most listings, which are not unpacked
        return [name for name, seen in self.entries() if seen[-1] in inodes]

    def entries(self) -> Iterator[tuple[str, Seen]]:
        """Names, and how each looked."""
        return zip(os.fsdecode(self.names).split("\0"), _SEEN.iter_unpack(self.stats), strict=False)


def name_of(path: str) -> str:
    """In its folder."""
    return path.rpartition("/")[2]


def by_folder(paths: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """So that what is in a folder is unpacked once for all of them: there may be thousands in one."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(path.rpartition("/")[0], []).append(path)
    return found


class TreeSnapshot(Struct, frozen=True):
    """By folder, relative to the root, "" for itself. `partial`: there was more than could be looked at in time.

    `beyond`: of each directory that holds more than was asked for, how everything in it looks, as one number.
    `gone`: only some folders were looked at, and these are there no more, with all below them; None: all were.
    `times`: when each folder was listed, by `file_clock`.
    """

    found: dict[str, TreeListing] = field(default_factory=dict[str, TreeListing])
    beyond: dict[str, int] = field(default_factory=dict[str, int])
    partial: bool = False
    gone: frozenset[str] | None = None
    times: dict[str, int] = field(default_factory=dict[str, int])


Entering: TypeAlias = Callable[[str], None]
"""Takes the path of each folder, relative to the root, before it is listed."""


def look(
    root: Path,
    ignored: Callable[[Path], Collection[str] | None],
    most: int,
    deadline: float,
    entering: Entering | None = None,
) -> TreeSnapshot:
    """Look at everything below `root`, at `most` files one by one. `ignored` is asked for the root and for every git project in it.

    What it answers is relative to the directory it was asked for; directories end in a slash. None: nobody knows just now.
    """
    found: dict[str, TreeListing] = {}
    beyond: dict[str, int] = {}
    times: dict[str, int] = {}
    size = 0
    hidden = ignored(root)
    if hidden is None:
        return TreeSnapshot(partial=True)
    pending: list[tuple[str, Collection[str], str]] = [("", hidden, "")]
    while pending:
        if time.monotonic() > deadline:
            return TreeSnapshot(found, beyond, partial=True, times=times)
        folder, hidden, base = pending.pop()
        if entering is not None:
            entering(folder)
        times[folder] = file_clock()
        try:
            with os.scandir(os.path.join(root, folder)) as listing:
                entries = list(listing)
        except OSError:
            continue
        if folder and any(entry.name == ".git" for entry in entries):
            here_hidden = ignored(root / folder)
            if here_hidden is None:
                return TreeSnapshot(found, beyond, partial=True, times=times)
            hidden, base = here_hidden, folder
        here = TreeListing.of(_seen_in(entries, folder, hidden, base, pending))
        if size + len(here) <= most:
            found[folder] = here
            size += len(here)
        else:
            beyond[folder] = here.number
    return TreeSnapshot(found, beyond, times=times)


def _seen_in(
    entries: list["os.DirEntry[str]"],
    folder: str,
    hidden: Collection[str],
    base: str,
    pending: list[tuple[str, Collection[str], str]],
) -> Iterator[tuple[str, Seen]]:
    prefix = f"{folder}/" if folder else ""
    skip = len(base) + 1 if base else 0
    for entry in entries:
        name = entry.name
        if name in NEVER or is_passing(name) or (hidden and f"{prefix}{name}"[skip:] in hidden):
            continue
        seen = seen_of(entry)
        if seen is None:
            continue
        if stat.S_ISDIR(seen[0]):
            path = prefix + name
            if hidden and f"{path[skip:]}/" in hidden:
                continue
            pending.append((path, hidden, base))
        yield name, seen


def seen_of(entry: "os.DirEntry[str]") -> Seen | None:
    """How an entry looks; None for what is neither file, link nor directory, or is gone by now."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return mode, 0, 0, 0, 0
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        return mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
    return None
