"""Whether files and directories may have changed since somebody looked at them: one read of inotify, however many they are.

A place is watched before it is looked at, with every directory and link on the way to it. What cannot be watched so that
nothing is missed (another system, a network disk, hard links, too many directories) has no stamp, and whoever asks looks
again each time, as everywhere before. Nobody is woken: what the kernel has queued is read when somebody asks. It keeps no
content and never says what changed: trust is judged by what a file holds when it is used.

Not seen are writes through a memory map, and a file system that is mounted over a place.
"""

import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct, field

if TYPE_CHECKING:
    from inotify_simple import Event

    from sould.agents.base.inotify import DirectoryWatches

MOST_DIRECTORIES: Final = 500
"""Of one tree: each takes one of the watches that a user's editors need, too."""
MOST_WATCHED: Final = 4_000
"""Directories in all: beyond, everything is forgotten, and what is still asked for is watched anew."""
MOST_PLACES: Final = 5_000
"""As above: a daemon that runs for months sees many projects."""
MOST_LINKS: Final = 40


class _Place(Struct, eq=False):
    """A file, or a directory with everything below it (`deep`)."""

    path: str
    deep: bool
    number: int = 0
    """Another one after every change."""
    watched: bool = False
    blind: bool = False
    """It cannot be watched."""

    def change(self) -> None:
        """Something may have happened there."""
        self.number += 1
        self.watched = False

    def begin(self) -> None:
        """From now on what happens there is known."""
        self.watched = True

    def give_up(self) -> None:
        """It cannot be watched."""
        self.blind = True


class _Directory(Struct, eq=False):
    """A watched directory, and whom what happens in it concerns."""

    names: dict[str, set[_Place]] = field(default_factory=dict[str, set[_Place]])
    """By entry."""
    all: set[_Place] = field(default_factory=set[_Place])
    """Whatever entry it is."""

    def concerned(self, name: str) -> Iterator[_Place]:
        """By what happens to an entry; without a name, to the directory itself."""
        yield from self.all
        for places in (self.names.get(name, ()),) if name else self.names.values():
            yield from places


Stamp: TypeAlias = tuple[tuple[_Place, int], ...]
"""How places stood. Equal stamps, asked for one after the other, mean that nothing happened in between."""


class UnwatchableError(Exception):
    """A place cannot be watched so that nothing is missed."""


class FileChanges:
    """One for a daemon: places are shared by all who ask. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: DirectoryWatches | None = None
        self._closed = False
        self._places: dict[tuple[str, bool], _Place] = {}
        self._directories: dict[int, _Directory] = {}

    def stamp(
        self, files: Iterable[str | os.PathLike[str]], trees: Iterable[str | os.PathLike[str]] = ()
    ) -> Stamp | None:
        """How absolute paths stand, to be asked for before they are looked at; None: look again each time.

        `trees` are directories with everything below them. Blocks for milliseconds where a place is new or has changed.
        """
        wanted = [(os.fspath(path), False) for path in files] + [(os.fspath(path), True) for path in trees]
        if sys.platform != "linux" or not all(path.startswith("/") for path, _ in wanted):
            return None
        with self._lock:
            if self._closed:
                return None
            if len(self._directories) > MOST_WATCHED or len(self._places) > MOST_PLACES:
                self._forget()
            self._read()
            places = [self._places.get(key) or self._places.setdefault(key, _Place(*key)) for key in wanted]
            if not all(map(self._watch, places)):
                return None
            return tuple((place, place.number) for place in places)

    def holds(self, stamp: Stamp | None) -> bool:
        """Whether certainly nothing happened since the stamp. Never waits: in doubt, something did."""
        if stamp is None or not self._lock.acquire(blocking=False):
            return False
        try:
            self._read()
            return all(place.number == number for place, number in stamp)
        finally:
            self._lock.release()

    def close(self) -> None:
        """Watch nothing any more: whoever still asks looks again each time."""
        with self._lock:
            self._closed = True
            self._forget()

    # --- what has happened ------------------------------------------------------------------------------------------

    def _read(self) -> None:
        if self._watches is not None:
            self._take(self._watches, self._watches.read(timeout=0))

    def _take(self, watches: "DirectoryWatches", events: "Iterable[Event]") -> None:
        for event in events:
            if watches.lost(event):
                self._forget()
                return
            directory = self._directories.get(event.wd)
            if directory is not None:
                for place in directory.concerned(event.name):
                    place.change()
            if watches.ended(event):
                self._directories.pop(event.wd, None)

    def _forget(self) -> None:
        """Nobody knows any more what happened: all that was ever asked for counts as changed, and is watched when asked for."""
        for place in self._places.values():
            place.change()
        self._places.clear()
        self._directories.clear()
        if self._watches is not None:
            self._watches.close()
            self._watches = None

    # --- watching ---------------------------------------------------------------------------------------------------

    def _watch(self, place: _Place) -> bool:
        if place.watched or place.blind:
            return not place.blind
        try:
            if self._watches is None:
                self._watches = _new_watches()
            end = self._approach(place, place.path)
            if end is not None and place.deep:
                self._enter(place, end)
        except (FileNotFoundError, NotADirectoryError):
            return False  # it is being changed just now
        except (OSError, UnwatchableError):
            place.give_up()
            return False
        place.begin()
        return True

    def _approach(self, place: _Place, path: str) -> str | None:
        """Watch every directory on the way, also where links lead; the directory that is at its end, if it is one."""
        at, links, rest = "/", 0, deque(path.split("/"))
        while rest:
            name = rest.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                at = os.path.dirname(at)
                continue
            self._directory(at).names.setdefault(name, set()).add(place)
            entry = os.path.join(at, name)
            try:
                status = os.lstat(entry)
            except FileNotFoundError:
                return None
            if stat.S_ISLNK(status.st_mode):
                links += 1
                if links > MOST_LINKS:
                    raise UnwatchableError
                target = os.readlink(entry)
                at = "/" if target.startswith("/") else at
                rest.extendleft(reversed(target.split("/")))
            elif stat.S_ISDIR(status.st_mode):
                at = entry
            else:
                _require_one_name(status)
                return None
        return at

    def _enter(self, place: _Place, top: str) -> None:
        """Watch a directory and all below it, also where links lead."""
        waiting, entered = [top], set[str]()
        while waiting:
            path = waiting.pop()
            if path in entered:
                continue
            entered.add(path)
            if len(entered) > MOST_DIRECTORIES:
                raise UnwatchableError
            self._directory(path).all.add(place)
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        waiting += filter(None, (self._approach(place, entry.path),))
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        _require_one_name(entry.stat(follow_symlinks=False))

    def _directory(self, path: str) -> _Directory:
        assert self._watches is not None
        number = self._watches.add(path)
        known = self._directories.get(number)
        if known is None:
            if not self._watches.is_local(path):
                raise UnwatchableError
            known = self._directories[number] = _Directory()
        return known


def _require_one_name(status: os.stat_result) -> None:
    """A file that is written by another of its names is not reported by the directory of this one."""
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise UnwatchableError


def _new_watches() -> "DirectoryWatches":
    """Of nothing, so far. Raises OSError: the user has no more of them."""
    from sould.agents.base.inotify import DirectoryWatches  # noqa: PLC0415 -- slow to load, and not on every system

    return DirectoryWatches()
