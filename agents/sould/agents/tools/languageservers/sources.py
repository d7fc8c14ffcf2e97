"""The files of a project that a language server reads by itself, and which of them changed since it was told last.

Where inotify tells, a look goes only where something happened; else it goes everywhere. What is installed or made is passed
over. Blocks: use it in a thread. Never opens a file.
"""

import heapq
import math
import os
import stat
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from sould.agents.files.directories.tree import NEVER
from sould.agents.files.directories.watching import Watches, WatchReader

MOST_FILES: Final = 50_000
LOOK: Final = 3.0
"""Seconds after which a look leaves the rest to the next one. Not the first: the server begins to read as many files."""
PASSED_OVER: Final = NEVER | {"node_modules", "site-packages", "__pycache__", "venv", "target", "dist", "build"}

ChangeKind: TypeAlias = Literal[1, 2, 3]
_Files: TypeAlias = dict[str, tuple[int, int]]
CREATED: Final[ChangeKind] = 1
CHANGED: Final[ChangeKind] = 2
DELETED: Final[ChangeKind] = 3


class FileEvent(Struct, frozen=True):
    """One file; `kind` in the protocol's numbers."""

    path: Path
    kind: ChangeKind


class SourceFiles:
    """Those with certain suffixes or names. Files by folder, relative to the root, with time and size."""

    def __init__(
        self, root: Path, suffixes: Collection[str], names: Collection[str], watches: Watches, seconds: float = LOOK
    ) -> None:
        """`seconds`: see `LOOK`."""
        self._root = root
        self._suffixes = tuple(suffixes)
        self._names = frozenset(names)
        self._watches = watches
        self._seconds = seconds
        self._reader: WatchReader | None = None
        self._looked = False
        self._folders: dict[str, _Files] = {}
        self._below: dict[str, frozenset[str]] = {}
        """The folders in a folder."""
        self._old: dict[str, _Files] = {}
        """While all is looked at: as it was before."""
        self._everywhere = False
        """All is to be looked at, once what is pending is."""
        self._pending: list[str] = []
        """Folders that are to be listed, with all below."""
        self._events: list[FileEvent] = []
        self._size = 0
        self._until = 0.0

    def close(self) -> None:
        """Look no more."""
        if self._reader is not None:
            self._reader.leave()
            self._reader = None

    def look(self) -> list[FileEvent]:
        """What changed since the last look; nothing at the first one."""
        self._events = []
        first, self._looked = not self._looked, True
        if first:
            self._reader = self._watches.join(self._root)
        self._until = math.inf if first else time.monotonic() + self._seconds
        changed = self._reader.take() if self._reader is not None else None
        if changed is None:
            self._everywhere = True
        else:
            for folder in {each for each in changed.folders if each in self._folders}:
                self._look_again(folder, changed.trees)
        if self._everywhere and not self._pending:
            self._old, self._folders, self._below, self._size = self._folders, {}, {}, 0
            self._everywhere, self._pending = False, [""]
        self._go_on()
        return [] if first else self._events

    def newest(self, most: int) -> list[Path]:
        """The source files that were changed last, as they were looked at."""
        fitting = (
            (seen[0], folder, name)
            for folder, files in (self._old | self._folders).items()
            for name, seen in files.items()
            if name.endswith(self._suffixes)
        )
        return [self._root / folder / name for _, folder, name in heapq.nlargest(most, fitting)]

    def _go_on(self) -> None:
        """List what is pending, until the time is over: at least one folder."""
        while self._pending and self._size <= MOST_FILES:
            folder = self._pending.pop()
            if self._list(folder):
                self._pending += self._below[folder]
            if time.monotonic() > self._until:
                break
        if self._size > MOST_FILES:  # what was not reached is not told of
            self._pending, self._old = [], {}
        if not self._pending:
            for folder in self._old.keys() - self._folders.keys():
                self._differ(folder, self._old[folder], {})
            self._old = {}

    def _look_again(self, folder: str, replaced: Collection[str]) -> None:
        """List one folder anew; what is new below it is pending."""
        known = self._below.get(folder, frozenset())
        if not self._list(folder):
            self._drop(folder)
            return
        now = self._below[folder]
        for gone in known - now:
            self._drop(gone)
        for below in now:
            if below not in known or below in replaced:
                self._drop(below)
                self._pending.append(below)

    def _drop(self, folder: str) -> None:
        prefix = f"{folder}/"
        for each in [each for each in self._folders if each == folder or each.startswith(prefix)]:
            self._differ(each, self._folders.pop(each), {})
            self._below.pop(each, None)
            self._old.pop(each, None)

    def _list(self, folder: str) -> bool:
        if self._reader is not None:
            self._reader.enter(folder)
        files: _Files = {}
        below: set[str] = set()
        try:
            with os.scandir(os.path.join(self._root, folder)) as listing:
                for entry in listing:
                    self._note(entry, folder, files, below)
        except OSError:
            return False
        before = self._folders.get(folder)
        self._size += len(files) - len(before or ())
        self._differ(folder, self._old.get(folder, {}) if before is None else before, files)
        self._folders[folder], self._below[folder] = files, frozenset(below)
        return True

    def _note(self, entry: "os.DirEntry[str]", folder: str, files: "_Files", below: set[str]) -> None:
        if entry.is_dir(follow_symlinks=False):
            if not entry.name.startswith(".") and entry.name not in PASSED_OVER:
                below.add(f"{folder}/{entry.name}" if folder else entry.name)
        elif entry.name.endswith(self._suffixes) or entry.name in self._names:
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                files[entry.name] = (status.st_mtime_ns, status.st_size)

    def _differ(self, folder: str, before: "_Files", now: "_Files") -> None:
        if before == now:
            return
        place = self._root / folder
        self._events += [FileEvent(place / name, CREATED) for name in now.keys() - before.keys()]
        self._events += [FileEvent(place / name, DELETED) for name in before.keys() - now.keys()]
        changed = (name for name, seen in now.items() if before.get(name, seen) != seen)
        self._events += [FileEvent(place / name, CHANGED) for name in changed]
