"""Looking again at a directory that was looked at before, only where something happened since.

What git ignores is not asked anew: of names that nobody knew, git is asked about these alone. Gives up where a whole look
is the surer way: too much happened, or a git project came into the directory. Blocks: use it in a thread.
"""

import os
import stat
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from sould.agents.base.diskfile import is_passing
from sould.agents.files.directories.ignored import Ignored
from sould.agents.files.directories.tree import NEVER, Seen, TreeListing, TreeSnapshot, seen_of
from sould.agents.files.directories.watching import Changed, WatchReader


class KnownTree(Protocol):
    """What was seen before."""

    def names(self, folder: str) -> Mapping[str, bool] | None:
        """The names in a folder, and whether each is a directory; None: it was not seen."""
        ...

    def folders(self) -> Collection[str]:
        """All folders that were seen."""
        ...


class GivenUpError(Exception):
    """Everything is to be looked at."""


class LookAgain(Struct):
    """One such look. `run` once."""

    root: Path
    reader: WatchReader
    known: KnownTree
    ignored: Ignored
    most: int
    deadline: float
    _found: dict[str, TreeListing] = field(default_factory=dict[str, TreeListing])
    _gone: set[str] = field(default_factory=set[str])
    _walked: set[str] = field(default_factory=set[str])
    """Directories of which everything was looked at, though they may have been known."""
    _size: int = 0

    def run(self, changed: Changed) -> TreeSnapshot:
        """Look.

        Raises:
            GivenUpError
        """
        known = self.known.folders()
        level = {folder for folder in changed.folders if folder in known and not lies_in(folder, changed.trees)}
        while level:
            level = self._look_at(level, changed.trees)
        if self._walked:
            self._gone |= {each for each in known if each not in self._found and lies_in(each, self._walked)}
        return TreeSnapshot(self._found, gone=frozenset(self._gone))

    def _look_at(self, level: Collection[str], replaced: Collection[str]) -> set[str]:
        """List these folders; the folders below them that are to be listed next."""
        listed = {folder: entries for folder in level if (entries := self._entries(folder)) is not None}
        unknown = {
            _path(folder, name): stat.S_ISDIR(entries[name][0])
            for folder, entries in listed.items()
            for name in entries.keys() - (self.known.names(folder) or {}).keys()
        }
        ignored = self.ignored.among(unknown, self.deadline) if unknown else ()
        if ignored is None:
            raise GivenUpError
        following: set[str] = set()
        for folder, entries in listed.items():
            following |= self._take(folder, entries, ignored, replaced)
        return following

    def _entries(self, folder: str) -> dict[str, Seen] | None:
        if time.monotonic() > self.deadline or self._size > self.most:
            raise GivenUpError
        self.reader.enter(folder)
        try:
            with os.scandir(os.path.join(self.root, folder)) as listing:
                entries = list(listing)
        except OSError:
            if not folder:
                raise GivenUpError from None
            self._gone.add(folder)
            return None
        if any(entry.name == ".git" for entry in entries) and self.known.names(folder) is None:
            raise GivenUpError
        looked = ((each.name, each) for each in entries if each.name not in NEVER and not is_passing(each.name))
        found = {name: seen for name, entry in looked if (seen := seen_of(entry)) is not None}
        self._size += len(found)
        return found

    def _take(
        self, folder: str, entries: Mapping[str, Seen], ignored: Collection[str], replaced: Collection[str]
    ) -> set[str]:
        """Keep what is in a folder; the directories in it that must be listed, too."""
        shown = {name: seen for name, seen in entries.items() if _path(folder, name) not in ignored}
        self._found[folder] = TreeListing.of(shown.items())
        directories = {_path(folder, name) for name, seen in shown.items() if stat.S_ISDIR(seen[0])}
        known = self.known.names(folder) or {}
        self._gone |= {_path(folder, name) for name, directory in known.items() if directory} - directories
        seen_before = self.known.folders()
        new = {each for each in directories if each in replaced or each not in seen_before}
        new |= {each for each in directories if not self.reader.watches(each) or folder in self._walked}
        self._walked |= new
        return new - self._found.keys()


def lies_in(folder: str, tops: Collection[str]) -> bool:
    """Whether it is one of them, or below one."""
    while folder:
        if folder in tops:
            return True
        folder = folder.rpartition("/")[0]
    return False


def _path(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
