"""Folders that somebody wants to be told of at once, by one inotify for the whole daemon, which is there as long as one is watched.

Nobody is woken but by an event, and by many of them at once only every `BURST`. Linux only; elsewhere see `rareevents`.
"""

import asyncio
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from inotify_simple import Event

    from sould.agents.base.inotify import DirectoryWatches

BURST: Final = 0.03
"""Seconds of events that are told together."""
MOST_WATCHED: Final = 2_000
"""Folders of one listener: each takes one of the watches that a user's editors need, too."""


class FolderListener(Protocol):
    """Is told what happens in the folders it names."""

    def happened(self, folder: str, name: str) -> None:
        """To this entry; "" is the folder itself, which may be another one now, or gone."""
        ...

    def burst_over(self) -> None:
        """That was all for now."""
        ...

    def lost(self) -> None:
        """Nobody knows what happened."""
        ...


class FolderEvents(Protocol):
    """Tells of folders. Belongs to the event loop."""

    def listen(self, listener: FolderListener, folders: Collection[str]) -> None:
        """Tell it what happens in these folders from now on, and nothing else; those that cannot be watched are passed over."""
        ...


class InotifyEvents:
    """A `FolderEvents`; see the module."""

    def __init__(self) -> None:
        self._watches: DirectoryWatches | None = None
        self._numbers: dict[str, int] = {}
        self._folders: dict[int, str] = {}
        self._listeners: dict[str, list[FolderListener]] = {}

    def listen(self, listener: FolderListener, folders: Collection[str]) -> None:
        """See `FolderEvents`."""
        wanted = frozenset(sorted(folders)[:MOST_WATCHED])
        for folder in [each for each, listeners in self._listeners.items() if listener in listeners]:
            if folder not in wanted:
                self._leave(folder, listener)
        for folder in wanted:
            self._join(folder, listener)
        if not self._listeners:
            self._close()

    def _join(self, folder: str, listener: FolderListener) -> None:
        listeners = self._listeners.get(folder)
        if listeners is None:
            number = self._watch(folder)
            if number is None:
                return
            listeners = self._listeners[folder] = []
            self._numbers[folder], self._folders[number] = number, folder
        if listener not in listeners:
            listeners.append(listener)

    def _leave(self, folder: str, listener: FolderListener) -> None:
        self._listeners[folder].remove(listener)
        if not self._listeners[folder]:
            self._forget(folder)

    def _forget(self, folder: str) -> None:
        del self._listeners[folder]
        number = self._numbers.pop(folder)
        del self._folders[number]
        if self._watches is not None:
            self._watches.remove(number)

    def _watch(self, folder: str) -> int | None:
        if sys.platform != "linux":
            return None
        try:
            if self._watches is None:
                self._open()
            assert self._watches is not None
            number = self._watches.add(folder)
        except OSError:  # it is gone, or there are no more watches
            return None
        return number if number not in self._folders else None  # the same directory by another name

    def _open(self) -> None:
        from inotify_simple import flags  # noqa: PLC0415 -- slow to load, and not on every system

        from sould.agents.base.inotify import DirectoryWatches  # noqa: PLC0415 -- as above

        # what is being written is looked at when it was closed, not after every piece of it
        self._watches = DirectoryWatches(flags.CLOSE_WRITE, flags.MODIFY)
        asyncio.get_running_loop().add_reader(self._watches.fileno(), self._wake)

    def _close(self) -> None:
        if self._watches is not None:
            asyncio.get_running_loop().remove_reader(self._watches.fileno())
            self._watches.close()
            self._watches = None

    def _wake(self) -> None:
        assert self._watches is not None
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._watches.fileno())
        loop.call_later(BURST, self._read, self._watches)

    def _read(self, watches: "DirectoryWatches") -> None:
        if watches is not self._watches:
            return  # nobody listened any more meanwhile
        asyncio.get_running_loop().add_reader(watches.fileno(), self._wake)
        told: dict[FolderListener, None] = {}
        for event in watches.read(timeout=0):
            told |= dict.fromkeys(self._take(watches, event))
        for listener in told:
            listener.burst_over()

    def _take(self, watches: "DirectoryWatches", event: "Event") -> Collection[FolderListener]:
        if watches.lost(event):
            everybody = {listener: None for listeners in self._listeners.values() for listener in listeners}
            for listener in everybody:
                listener.lost()
            return everybody
        folder = self._folders.get(event.wd)
        if folder is None:
            return ()
        listeners = tuple(self._listeners[folder])
        if watches.ended(event):
            self._forget(folder)
        for listener in listeners:
            listener.happened(folder, event.name)
        return listeners
