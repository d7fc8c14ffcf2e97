"""In which folders of a directory something happened, by inotify: asked when it matters, and nothing done in between.

What the kernel has queued is read when somebody asks, so an idle daemon is never woken. A queue that ran over, a root
that moved, a changed `.gitignore` or a folder that cannot be watched are answered with "everything": whoever asks walks.
Not seen are writes through a memory map and through a hard link that lies elsewhere (inotify knows names, not files).

A folder is watched before it is listed: what happens in it later is reported, what happened before is in the list.
Blocks: use it in a thread. Other systems than Linux have none of it (`Watches.join` answers None).
"""

import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from sould.agents.base.diskfile import is_passing
from sould.agents.files.directories.tree import NEVER

if TYPE_CHECKING:
    from inotify_simple import Event

IGNORE_RULES = ".gitignore"
MOST_WATCHED = 50_000
"""Folders of one tree: each takes a kilobyte of the kernel's memory, and one of the watches that a user's editors need, too."""
MOST_UNKNOWN = 50_000
"""Events of folders that another program has begun to watch."""
MOST_PENDING = 10_000
"""Folders: when something happened in more of them, everything is looked at."""


class Changed(Struct):
    """Where something happened, relative to the root; "" is the root itself."""

    folders: set[str] = field(default_factory=set[str])
    """Some of their entries changed."""
    trees: set[str] = field(default_factory=set[str])
    """Directories that came, went or were replaced, with all that is in them."""

    def add(self, other: "Changed") -> None:
        """There, too."""
        self.folders |= other.folders
        self.trees |= other.trees


class WatchReader:
    """One of those who ask about a tree; each is told everything that happened since it asked last."""

    def __init__(self, tree: "_Tree") -> None:
        self._tree = tree
        self._changed: Changed | None = None

    def take(self) -> Changed | None:
        """What happened since the last time; None: anything may have, and the next time is from now on."""
        return self._tree.take(self)

    def enter(self, folder: str) -> None:
        """The folder is about to be listed: from now on what happens in it is reported."""
        self._tree.enter(folder)

    def watches(self, folder: str) -> bool:
        """What happens in the folder is reported."""
        return self._tree.watches(folder)

    @property
    def reliable(self) -> bool:
        """Every folder that was entered is watched."""
        return not self._tree.blind

    @property
    def exhausted(self) -> bool:
        """There are more folders than can be watched, so it is of no use to try again."""
        return self._tree.exhausted

    @property
    def descriptor(self) -> int:
        """Of inotify, for a program that sets watches in this one's place: see `adopt`."""
        return self._tree.descriptor

    @property
    def most(self) -> int:
        """So many folders may be watched."""
        return self._tree.most

    @property
    def mask(self) -> int:
        """What such a program asks the kernel to report."""
        return self._tree.mask

    def walk_begins(self) -> None:
        """From now on another program sets watches; what they report is kept until `adopt` or `walk_failed`."""
        self._tree.walk_begins()

    def adopt(self, numbers: Mapping[str, int], *, exhausted: bool) -> None:
        """The watches that it set, by folder; `exhausted`: not for all folders."""
        self._tree.adopt(numbers, exhausted)

    @property
    def unknown(self) -> Collection[int]:
        """The watches, of those that it sets, that have reported something by now."""
        return self._tree.unknown

    def walk_failed(self) -> None:
        """It ended without saying which watches it set."""
        self._tree.walk_failed()

    def leave(self) -> None:
        """Ask no more."""
        self._tree.leave(self)

    def swap(self, changed: Changed | None) -> Changed | None:
        """For the tree: what is still to be told, in place of what was."""
        before, self._changed = self._changed, changed
        return before

    @property
    def changed(self) -> Changed | None:
        """For the tree: what is still to be told."""
        return self._changed


class Watches:
    """The watched trees of a daemon: one for each root, shared by its readers, gone with the last of them."""

    def __init__(self, most: int = MOST_WATCHED) -> None:
        """`most`: folders of one tree."""
        self.most = most
        self._trees: dict[Path, _Tree] = {}
        self._lock = threading.Lock()

    def join(self, root: Path) -> WatchReader | None:
        """A reader of the tree below `root`, which knows nothing yet; None where nothing can be watched."""
        if sys.platform != "linux":
            return None
        with self._lock:
            tree = self._trees.get(root)
            if tree is None or tree.blind:
                try:
                    tree = self._trees[root] = _Tree(root, self)
                except OSError:  # no more instances, no descriptors
                    return None
            return tree.join()

    def forget(self, tree: "_Tree") -> None:
        """For a tree: nobody reads it any more."""
        with self._lock:
            if self._trees.get(tree.root) is tree:
                del self._trees[tree.root]


class _Tree:
    """One watched tree. Every method may be called from any thread."""

    def __init__(self, root: Path, registry: Watches) -> None:
        from inotify_simple import flags  # noqa: PLC0415 -- slow to load, and not on every system

        from sould.agents.base.inotify import DirectoryWatches  # noqa: PLC0415 -- as above

        self.root = root
        self.blind = False
        """Something of it cannot be watched (any more)."""
        self.exhausted = False
        self.most = registry.most
        self._registry = registry
        self._flags = flags
        self._watches = DirectoryWatches(flags.CLOSE_WRITE | flags.EXCL_UNLINK)
        self._folders: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._readers: list[WatchReader] = []
        self._lock = threading.Lock()
        self._walks = 0
        """Programs that set watches now."""
        self._unknown: list[Event] = []
        """What was reported by watches that such a program set."""

    def join(self) -> WatchReader:
        with self._lock:
            reader = WatchReader(self)
            self._readers.append(reader)
            return reader

    def leave(self, reader: WatchReader) -> None:
        with self._lock:
            if reader in self._readers:
                self._readers.remove(reader)
            if self._readers:
                return
            self.blind = True
            self._watches.close()
        self._registry.forget(self)

    @property
    def descriptor(self) -> int:
        return self._watches.fileno()

    @property
    def mask(self) -> int:
        return self._watches.mask

    def watches(self, folder: str) -> bool:
        return folder in self._numbers

    def walk_begins(self) -> None:
        with self._lock:
            self._walks += 1

    def adopt(self, numbers: Mapping[str, int], exhausted: bool) -> None:
        with self._lock:
            self._walks -= 1
            for folder, number in numbers.items():
                if folder not in self._numbers:
                    self._know(folder, number)
            if exhausted or len(self._numbers) > self.most:
                self.blind = self.exhausted = True
            for event in self._take_unknown():
                self._note(event)

    def walk_failed(self) -> None:
        with self._lock:
            self._walks -= 1
            self._take_unknown()

    @property
    def unknown(self) -> Collection[int]:
        with self._lock:
            return {event.wd for event in self._unknown}

    def _take_unknown(self) -> "list[Event]":
        """Those of other programs that still walk stay known as unknown."""
        events, self._unknown = self._unknown, []
        return events

    def enter(self, folder: str) -> None:
        with self._lock:
            if folder in self._numbers or self.blind:
                return
            try:
                number = self._watches.add(self.root / folder)
            except (FileNotFoundError, NotADirectoryError):
                return  # it is gone by now, which its parent reports
            except PermissionError:
                return  # then it cannot be listed, either
            except OSError:  # the user's limit of watches
                self.blind = self.exhausted = True
                return
            if len(self._numbers) >= self.most:
                self.blind = self.exhausted = True
            self._know(folder, number)

    def _know(self, folder: str, number: int) -> None:
        self._forget_number(number)
        self._folders[number], self._numbers[folder] = folder, number

    def take(self, reader: WatchReader) -> Changed | None:
        with self._lock:
            if self.blind:
                return None
            for event in self._watches.read(timeout=0):
                self._note(event)
            return None if self.blind else reader.swap(Changed())

    def _note(self, event: "Event") -> None:
        flags = self._flags
        if self._watches.lost(event):
            self._lose()
            return
        folder = self._folders.get(event.wd)
        if folder is None:
            self._note_unknown(event)
            return
        if self._watches.ended(event):
            self._forget_number(event.wd)
        elif not event.name:
            if not folder and event.mask & (flags.DELETE_SELF | flags.MOVE_SELF):
                self.blind = True
        elif event.name == IGNORE_RULES or (event.name in NEVER and self._comes_or_goes(event)):
            self._lose()
        elif event.name not in NEVER and not is_passing(event.name):
            self._note_entry(folder, event)

    def _note_unknown(self, event: "Event") -> None:
        if self._walks:
            self._unknown.append(event)
            if len(self._unknown) > MOST_UNKNOWN:
                self._unknown.clear()
                self._lose()

    def _comes_or_goes(self, event: "Event") -> bool:
        flags = self._flags
        return bool(event.mask & (flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO))

    def _note_entry(self, folder: str, event: "Event") -> None:
        path = f"{folder}/{event.name}" if folder else event.name
        tree = bool(event.mask & self._flags.ISDIR) and self._comes_or_goes(event)
        if event.mask & self._flags.MOVED_FROM and tree:
            self._forget_below(path)  # with all that is in it; what is deleted was empty by then
        elif tree:
            self._forget(path)
        for changed in self._pending():
            changed.folders.add(folder)
            if tree:
                changed.trees.add(path)
            if len(changed.folders) > MOST_PENDING:
                self._lose()
                return

    def _pending(self) -> Iterator[Changed]:
        return (reader.changed for reader in self._readers if reader.changed is not None)

    def _lose(self) -> None:
        """Nobody knows any more what happened."""
        for reader in self._readers:
            reader.swap(None)

    def _forget_below(self, path: str) -> None:
        """What was watched there is no longer there, or is another directory."""
        prefix = f"{path}/"
        for folder in [each for each in self._numbers if each == path or each.startswith(prefix)]:
            self._forget(folder)

    def _forget(self, folder: str) -> None:
        number = self._numbers.get(folder)
        if number is not None:
            self._forget_number(number)
            self._watches.remove(number)

    def _forget_number(self, number: int) -> None:
        folder = self._folders.pop(number, None)
        if folder is not None:
            self._numbers.pop(folder, None)
