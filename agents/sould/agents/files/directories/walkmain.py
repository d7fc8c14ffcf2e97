"""The program that looks at a large directory for the daemon, so that no thread of it computes while models answer.

`python -I walkmain.py` reads one line of JSON (`walking.Order`) from descriptor 0, watches and lists every folder, writes
the records of `FolderStore` into the file it was given, behind them what else it found, and prints where that begins.
Watches are set on the daemon's own inotify descriptor, so their events are the daemon's. It ends when descriptor 0 does,
with the git it runs: then nobody waits for it. Writes nothing else anywhere.
"""

import ctypes
import errno
import json
import os
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, field

from sould.agents.files.directories.folders import FolderStore, FolderVersion
from sould.agents.files.directories.gitfiles import GitFiles, Tracked
from sould.agents.files.directories.ignored import Ignored
from sould.agents.files.directories.tree import TreeListing, look

CPU_SECONDS = 120


AddWatch: TypeAlias = Callable[[int, bytes, int], int]
"""The system's `inotify_add_watch`: the number of the watch; negative: there is none."""


class Watching(Struct):
    """Watches every folder before it is listed. `descriptor` -1: there is nothing to watch with."""

    root: str
    descriptor: int
    mask: int
    most: int
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    blind: bool = False
    exhausted: bool = False
    _add: "AddWatch | None" = None

    def __post_init__(self) -> None:
        self._add = ctypes.CDLL(None, use_errno=True).inotify_add_watch if self.descriptor >= 0 else None

    def enter(self, folder: str) -> None:
        """See `Entering`."""
        if self._add is None or self.blind:
            return
        number = self._add(self.descriptor, os.fsencode(os.path.join(self.root, folder)), self.mask)
        if number >= 0:
            self.numbers[folder] = number
            self.blind = self.exhausted = len(self.numbers) > self.most
        elif ctypes.get_errno() not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
            self.blind = self.exhausted = True


def main() -> None:
    """Look, and say it."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    order: dict[str, Any] = json.loads(_line())
    threading.Thread(target=_end_with_daemon, daemon=True).start()
    root, store = Path(order["root"]), FolderStore(Path("/"), order["output"])
    git = GitFiles(root, order["variables"], grouped=True)
    deadline = time.monotonic() + order["seconds"]
    watching = Watching(order["root"], order["inotify"], order["mask"], order["most_watched"])
    ignored = Ignored(git, tuple(map(Path, order["hidden"])))
    now = look(root, lambda at: ignored.listed(at, deadline), order["most"], deadline, watching.enter)
    tracked = git.tracked(deadline)
    for folder, listing in now.found.items():
        store.put(folder, FolderVersion(listing, tracked.refs(folder, listing), now.times[folder]))
    found = {
        "places": dict(store.places),
        "numbers": watching.numbers,
        "exhausted": watching.exhausted,
        "beyond": now.beyond,
        "partial": now.partial,
        "ignored": {base: sorted(names) for base, names in ignored.names()},
        "other": _others(now.found, tracked),
        "index": git.stamp,
    }
    os.write(1, b"%d" % store.add_note(json.dumps(found).encode()))


def _end_with_daemon() -> None:
    """The daemon wants it no more, or is gone, when it closes its end: it says nothing there."""
    select.select([0], [], [])
    os.killpg(0, signal.SIGKILL)


def _line() -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, 1 << 20)
        if not piece:
            sys.exit(1)
        line += piece
    return bytes(line)


def _others(found: Mapping[str, TreeListing], tracked: Tracked) -> list[tuple[str, str, int]]:
    """Path, blob and size of what git has and is not on disk as git has it."""
    others: list[tuple[str, str, int]] = []
    for folder in tracked.folders():
        here = dict(found[folder].entries()) if folder in found else {}
        for name, (known, blob) in tracked.within(folder).items():
            seen = here.get(name)
            if seen is None or known != (seen[1], seen[2], seen[4]):
                others.append((f"{folder}/{name}" if folder else name, blob, known[0]))
    return others


if __name__ == "__main__":
    main()
