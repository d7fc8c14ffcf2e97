"""What git knows of a directory: which files it ignores, and which are as they were committed or staged.

Read only: no lock is taken, the index is not refreshed, nothing of the project's git configuration is run. Blocks: use it
in a thread. Where git is missing or says that this is no project of its, it knows nothing. That git was stopped, or failed
at something in a project of its, is another thing: then nobody knows what it ignores, and None says so.
"""

import os
import re
import stat
import struct
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field

from sould.agents.base.filestamp import FileStamp, file_stamp
from sould.agents.files.directories.gitprogram import GitAnswer, GitProgram
from sould.agents.files.directories.refs import DIRECTORY, GIT, PENDING
from sould.agents.files.directories.tree import TreeListing

Stat: TypeAlias = tuple[int, int, int]
"""Size, modification time in nanoseconds, inode."""

MOST_GIT = 16 * 1024 * 1024
"""Bytes of one file whose content is left to git."""

_ENTRY = re.compile(
    rb"(\d+) ([0-9a-f]{40,64}) 0\t([^\0]*)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n"
    rb"  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: \w+\n"
)
NONE_IGNORED = 1
"""How `git check-ignore` ends where it names nothing."""
_STAT = struct.Struct("<QqQ")


class Tracked(Struct):
    """How files looked when git last saw them, and their blobs; packed, for all of a large project are asked for at once."""

    _folders: defaultdict[bytes, list[bytes]] = field(default_factory=lambda: defaultdict[bytes, list[bytes]](list))

    def add(self, path: bytes, looked: Stat, blob: bytes) -> None:
        """Take a file."""
        folder, _, name = path.rpartition(b"/")
        self._folders[folder].append(b"%b%b %b" % (_STAT.pack(*looked), blob, name))

    def folders(self) -> list[str]:
        """Those in which git has files."""
        return [os.fsdecode(folder) for folder in self._folders]

    def refs(self, folder: str, listing: TreeListing) -> bytes:
        """How the contents of a folder are named, in the listing's order: git's blobs where it has them, else pending."""
        known = self.within(folder)
        refs: list[str] = []
        for name, (mode, size, mtime, _, inode) in listing.entries():
            entry = known.get(name)
            if stat.S_ISDIR(mode):
                refs.append(DIRECTORY)
            elif entry is not None and entry[0] == (size, mtime, inode) and size <= MOST_GIT:
                refs.append(GIT + entry[1])
            else:
                refs.append(PENDING)
        return " ".join(refs).encode()

    def within(self, folder: str) -> dict[str, tuple[Stat, str]]:
        """Those in a folder relative to the root, by name."""
        files: dict[str, tuple[Stat, str]] = {}
        for packed in self._folders.get(os.fsencode(folder), ()):
            blob, _, name = packed[_STAT.size :].partition(b" ")
            files[os.fsdecode(name)] = (_STAT.unpack_from(packed), blob.decode())
        return files


class GitFiles(Struct):
    """Git's view of `root`, which may be below the top of the work tree."""

    root: Path
    variables: Mapping[str, str]
    grouped: bool = False
    """See `Bounded`."""
    _index: Path | None = None
    _is_unknown: bool = False
    """Git was stopped before it said whether this is a project of its."""
    _exclude: Path | None = None
    """Rules of what is ignored that are no file of the project."""
    _stamp: FileStamp = ()
    """How git's index looked when it was read."""

    @property
    def stamp(self) -> FileStamp:
        """Of the index that `tracked` has read."""
        return self._stamp

    def has_read(self, stamp: FileStamp) -> None:
        """Somebody else has read the index that looked like this."""
        self._stamp = stamp

    def at(self, directory: Path) -> "GitFiles":
        """Git's view of another directory."""
        return GitFiles(directory, self.variables, self.grouped)

    def ignored(self, deadline: float) -> frozenset[str] | None:
        """Ignored files, and directories of which everything is (with a slash at the end), relative to the root."""
        if not self._is_project(deadline):
            return None if self._is_unknown else frozenset()
        listed = self._git(("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory"), deadline)
        return None if listed.failed else frozenset(map(os.fsdecode, listed.printed.split(b"\0"))) - {""}

    def ignored_among(self, paths: Collection[str], deadline: float) -> Collection[str] | None:
        """Those of the paths, relative to the root, that are ignored and not tracked; none where there is no git project."""
        if not self._is_project(deadline):
            return None if self._is_unknown else ()
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        said = self._git(("check-ignore", "-z", "--stdin"), deadline, given)
        if said.code == NONE_IGNORED:
            return ()
        return None if said.failed else [os.fsdecode(path) for path in said.printed.split(b"\0") if path]

    @property
    def index_size(self) -> int:
        """Bytes of git's index, some hundred for each file; 0 where there is no git project."""
        if not self._is_project(time.monotonic() + 1):
            return 0
        assert self._index is not None
        try:
            return self._index.stat().st_size
        except OSError:
            return 0

    def _is_project(self, deadline: float) -> bool:
        """Whether git has answered that it is one."""
        return self._index is not None or self._find_index(deadline)

    def _find_index(self, deadline: float) -> bool:
        self._is_unknown = False
        if not any((directory / ".git").exists() for directory in (self.root, *self.root.parents)):
            return False
        asked = ("rev-parse", "--is-inside-work-tree", "--git-path", "index", "--git-path", "info/exclude")
        answer = self._git(asked, deadline)
        self._is_unknown = answer.was_stopped
        inside, *said = os.fsdecode(answer.printed.rstrip(b"\n")).split("\n")
        if inside != "true":  # a configuration may say that its files are elsewhere
            return False
        half = len(said) // 2  # a path may have line ends, the same in both
        index, exclude = ("\n".join(each) for each in (said[:half], said[half:]))
        self._index, self._exclude = (self.root / index, self.root / exclude) if index else (None, None)
        return bool(index)

    def rules_found(self, deadline: float) -> FileStamp | None:
        """`rules`, for which git is asked where they are; None: there is no git project."""
        return self.rules if self._is_project(deadline) else None

    @property
    def rules(self) -> FileStamp | None:
        """How `info/exclude` looks: rules of what is ignored that are no file of the project. None: git was not asked for anything yet."""
        return file_stamp(self._exclude) if self._exclude is not None else None

    def tracked(self, deadline: float) -> Tracked:
        """The files git has; nothing while the index is as it was. Files that git itself is not sure of are left out."""
        if not self._is_project(deadline):
            return Tracked()
        assert self._index is not None
        stamp = file_stamp(self._index)
        if stamp in (self._stamp, ()):
            return Tracked()
        listed = self._git(("ls-files", "-z", "-s", "--debug"), deadline).printed
        self._stamp = stamp if listed else ()
        return _parsed(listed, stamp[0])

    def contents(self, blobs: Collection[tuple[str, int]], deadline: float) -> dict[str, bytes]:
        """What the blobs hold; those that are gone, or are not of the size given with them, are left out unread."""
        git = self._program
        known = git.sizes([blob for blob, _ in blobs], deadline) if blobs else {}
        return git.contents([blob for blob, size in known.items() if (blob, size) in blobs], deadline)

    def _git(self, arguments: Sequence[str], deadline: float, given: bytes = b"") -> GitAnswer:
        return self._program.answer(arguments, deadline, given)

    @property
    def _program(self) -> GitProgram:
        return GitProgram(self.root, self.variables, grouped=self.grouped)


def _parsed(listed: bytes, index_time: int) -> Tracked:
    tracked = Tracked()
    for entry in _ENTRY.finditer(listed):
        mode, blob, path, seconds, rest, inode, size = entry.groups()
        mtime = int(seconds) * 1_000_000_000 + int(rest)
        if mode.startswith(b"100") and mtime < index_time:  # later ones may have changed since git looked
            tracked.add(path, (int(size), mtime, int(inode)), blob)
    return tracked
