"""Looking at everything in a directory: here when that is a matter of a moment, else in a program of its own.

The program (`walkmain`) goes on while nobody waits, and what it found is taken over when it has ended. It outlives neither
the daemon nor `close`, also when it stands still.
"""

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypedDict

from msgspec import Struct

from sould.agents.base.filestamp import FileStamp
from sould.agents.files.directories.folders import FolderStore
from sould.agents.files.directories.gitfiles import GitFiles
from sould.agents.files.directories.watching import WatchReader

PROGRAM = Path(__file__).with_name("walkmain.py")


class ScanRequest(TypedDict):
    """What the program is told. Descriptors are those it inherits; `inotify` -1: nothing is watched."""

    root: str
    variables: Mapping[str, str]
    hidden: Sequence[str]
    most: int
    seconds: float
    output: int
    inotify: int
    mask: int
    most_watched: int


class Walked(Struct, frozen=True):
    """What the program found. `other`: path, blob and size of what git has and is not on disk as git has it."""

    store: FolderStore
    numbers: Mapping[str, int]
    exhausted: bool
    beyond: Mapping[str, int]
    partial: bool
    ignored: Mapping[str, Collection[str]]
    other: Sequence[tuple[str, str, int]]
    index: FileStamp


class Walk(Struct, dict=True):
    """One run of the program. `reader`: on whose watches it works."""

    git: GitFiles
    hidden: tuple[Path, ...]
    reader: WatchReader | None
    scratch: Path
    _program: "subprocess.Popen[bytes] | None" = None
    _told: int = -1
    """Our end of the pipe that it reads."""

    @cached_property
    def _store(self) -> FolderStore:
        return FolderStore(self.scratch)

    def begin(self, most: int, seconds: float) -> None:
        """Start it: at most so many files, no longer than that. Raises OSError: it could not be started."""
        output = self._store.open()
        given = [output] if self.reader is None else [output, self.reader.descriptor]
        order = ScanRequest(
            root=str(self.git.root),
            variables=dict(self.git.variables),
            hidden=[str(path) for path in self.hidden],
            most=most,
            seconds=seconds,
            output=output,
            inotify=self.reader.descriptor if self.reader is not None else -1,
            mask=self.reader.mask if self.reader is not None else 0,
            most_watched=self.reader.most if self.reader is not None else 0,
        )
        heard, self._told = os.pipe()
        try:
            self._program = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", str(PROGRAM)],
                cwd="/",
                env={},
                stdin=heard,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=given,
                start_new_session=True,
            )
            self._wake_at_end(heard, self._program.pid)
            with open(self._told, "wb", closefd=False) as told:
                told.write(json.dumps(order).encode() + b"\n")
        except OSError:
            self.close()
            raise
        finally:
            os.close(heard)

    @staticmethod
    def _wake_at_end(heard: int, group: int) -> None:
        """Have the kernel continue it when our end of the pipe closes, so that it notices also when it stands still."""
        if sys.platform == "linux":
            fcntl.fcntl(heard, fcntl.F_SETOWN, -group)
            fcntl.fcntl(heard, fcntl.F_SETSIG, signal.SIGCONT)
            fcntl.fcntl(heard, fcntl.F_SETFL, os.O_ASYNC)

    def rest(self) -> None:
        """Stand still until `go_on`, with the git it runs. Elsewhere than on Linux it does not."""
        if sys.platform == "linux":
            self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Go on, if it stood still."""
        if sys.platform == "linux":
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._program is not None and self._program.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._program.pid, number)

    @property
    def descriptor(self) -> int:
        """Can be read when it has ended."""
        assert self._program is not None
        assert self._program.stdout is not None
        return self._program.stdout.fileno()

    def ended(self, seconds: float) -> bool:
        """Whether it has ended, after so many seconds at the latest. Blocks."""
        waiting = select.poll()
        waiting.register(self.descriptor, select.POLLIN | select.POLLHUP)
        return bool(waiting.poll(max(0, min(seconds, 1e6)) * 1000))

    def result(self) -> Walked | None:
        """What it found, when it has ended; None: it failed."""
        assert self._program is not None
        assert self._program.stdout is not None
        try:
            at = int(self._program.stdout.read() or -1)
            found = json.loads(self._store.note(at)) if at >= 0 else None
        except (OSError, ValueError):
            found = None
        self._end()
        if found is None:
            self._store.close()
            return None
        self._store.filled(found["places"])
        return Walked(
            self._store,
            found["numbers"],
            found["exhausted"],
            found["beyond"],
            found["partial"],
            found["ignored"],
            [(path, blob, size) for path, blob, size in found["other"]],
            tuple(found["index"]),
        )

    def close(self) -> None:
        """End it: nobody wants to know."""
        self._end()
        self._store.close()

    def _end(self) -> None:
        if self._told >= 0:
            os.close(self._told)
            self._told = -1
        if self._program is not None:
            assert self._program.stdout is not None
            self._program.stdout.close()
            if self._program.returncode is None:  # nobody has waited for it, so the group is its own
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._program.pid, signal.SIGKILL)  # with what a git that was stopped had started
            self._program.wait()


def parent_changed(path: str, root: Path, moment: int) -> bool:
    """Whether the nearest directory above a missing path lost or got an entry since then."""
    at = os.path.dirname(root / path)
    while not os.path.isdir(at):
        at = os.path.dirname(at)
    try:
        return os.lstat(at).st_mtime_ns >= moment
    except OSError:
        return True
