"""Folders that somebody wants to be told of within seconds, by one watchfiles watcher for the whole daemon, on every system.

For what changes rarely, and for everything where there is no inotify. It may miss something, for nobody learns of events
that were lost: it says where to look, and whoever uses a file looks at what it holds.

A timer reads what has come. `awatch` would keep a thread that wakes as often, tell a change only when another `step` has
passed, and hold up the daemon's end for a step. Opening the watcher blocks for milliseconds, and loading the library for
tens: both happen in a thread, a step after somebody first wanted to be told, so that no start waits for them.
"""

import asyncio
import os
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from sould.agents.base.tasks import Behind
from sould.agents.files.directories.folderevents import MOST_WATCHED, FolderListener

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

STEP: Final = 6.0
"""Seconds: ten wake-ups a minute."""
MOST_CHANGES: Final = 1_000
"""Between two looks: beyond, nobody is told which they are."""


class WatchfilesEvents:
    """A `FolderEvents`, over `RustNotify`, which watchfiles documents for direct use. Belongs to the event loop."""

    def __init__(self, step: float = STEP) -> None:
        """`step`: seconds between two looks at what has come."""
        self._step = step
        self._wanted: dict[FolderListener, frozenset[str]] = {}
        self._watcher: RustNotify | None = None
        self._watched: Mapping[str, Collection[str]] = {}
        """By the folder's own path: what listeners call it."""
        self._stale = False
        """Some folder is not watched, or another one than has its name."""
        self._timer: asyncio.TimerHandle | None = None
        self._opening = Behind("watching folders")

    def listen(self, listener: FolderListener, folders: Collection[str]) -> None:
        """See `FolderEvents`."""
        self._wanted.pop(listener, None)
        if folders:
            self._wanted[listener] = frozenset(sorted(folders)[:MOST_WATCHED])
        if not self._wanted:
            self._close()
            return
        self._stale = self._stale or not self._all_wanted <= self._known
        if self._timer is None:
            self._wake_later()

    def _wake_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._step, self._wake)

    def _close(self) -> None:
        self._opening.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._keep(None, {})

    def _keep(self, watcher: "RustNotify | None", watched: Mapping[str, Collection[str]]) -> None:
        if self._watcher is not None:
            self._watcher.close()
        self._watcher, self._watched = watcher, watched

    def _wake(self) -> None:
        self._wake_later()
        self._tell(self._read())
        if self._stale and not self._opening.busy:
            self._opening.begin(self._open())

    @property
    def _all_wanted(self) -> frozenset[str]:
        return frozenset[str]().union(*self._wanted.values())

    @property
    def _known(self) -> frozenset[str]:
        """What is watched, as listeners call it."""
        return frozenset(name for names in self._watched.values() for name in names)

    async def _open(self) -> None:
        self._stale = False
        watcher, watched = await asyncio.to_thread(_opened, self._all_wanted, self._step)
        last, before = self._read(), self._watched
        self._keep(watcher, watched)
        self._tell(last)
        new = {name for path, names in watched.items() if path not in before for name in names}
        for listener, folders in tuple(self._wanted.items()):
            if folders & new:  # what happened there until now nobody was told
                listener.lost()
                listener.burst_over()

    def _read(self) -> Collection[str] | None:
        """What may have changed since the last time; None: who knows. Takes a millisecond when nothing has."""
        if self._watcher is None:
            return ()
        try:
            changes = self._watcher.watch(0, 0, 1, None)
        except RuntimeError:  # of the library below it
            self._stale = True
            return None
        return () if isinstance(changes, str) else {path for _, path in changes}

    def _tell(self, paths: Collection[str] | None) -> None:
        if paths is None or len(paths) > MOST_CHANGES:
            told = dict.fromkeys(self._wanted)
            for listener in told:
                listener.lost()
        else:
            told = dict.fromkeys(listener for path in paths for listener in self._told_of(path))
        for listener in told:
            listener.burst_over()

    def _told_of(self, path: str) -> Collection[FolderListener]:
        parent, name = os.path.split(path)
        self._stale = self._stale or path in self._watched  # it may be another folder by now
        places = [(folder, name) for folder in self._watched.get(parent, ())]
        places += [(folder, "") for folder in self._watched.get(path, ())]
        told = [
            (listener, place) for place in places for listener, wanted in self._wanted.items() if place[0] in wanted
        ]
        for listener, place in told:
            listener.happened(*place)
        return [listener for listener, _ in told]


def _opened(wanted: Iterable[str], step: float) -> "tuple[RustNotify | None, Mapping[str, Collection[str]]]":
    """A watcher of the folders that are there, by their own paths. Blocks."""
    from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 -- slow to load, and most programs end before

    watched: dict[str, list[str]] = {}
    for folder in sorted(wanted):
        if os.path.isdir(folder):
            watched.setdefault(os.path.realpath(folder), []).append(folder)
    try:  # where the system's events cannot be had, it looks at all folders once a step
        return RustNotify([*watched], False, False, round(step * 1000), False, True), watched
    except OSError:  # one is gone by now: whoever listens will say so
        return None, {}
