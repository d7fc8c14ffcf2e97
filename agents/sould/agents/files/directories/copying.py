"""What files held before commands ran, and reading it: left to git where git has it, else copied, and only what was read whole counts.

What cannot be kept (too large, not to be read, no room) is not tried again until the file changes. Blocks: use it in a thread.
"""

import errno
import hashlib
import math
import os
import stat
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

from sould.agents.base.config import CaptureLimits
from sould.agents.files.directories.folders import FileVersion, FolderVersion
from sould.agents.files.directories.gitfiles import GitFiles
from sould.agents.files.directories.refs import GIT, PENDING, UNKEPT, digest_in, is_kept
from sould.agents.files.directories.secretblobs import SecretBlobs, SecretJudge
from sould.agents.files.directories.tree import Seen

_SMALLEST = 9
"""Places are powers of two long, so that what is freed fits others; the shortest has 512 bytes."""
FRESH = 50_000_000
"""Nanoseconds: a file written so shortly before it was read may be written again without its times telling."""


class PreimageStore(Struct):
    """`directory`: where its file is made; `most`: bytes of all contents together."""

    directory: Path
    most: int
    _fd: int = -1
    _end: int = 0
    _kept: int = 0
    _secrets: SecretBlobs = field(default_factory=SecretBlobs)
    _free: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict[int, list[int]](list))
    """By length, as a power of two."""

    def put(self, data: bytes, *, secret: bool = False, like: str = "") -> str:
        """Keep `data`; its `ref`, which is `like` when that holds the same, or UNKEPT when there is no more room."""
        if secret:
            return self._secrets.put(data)
        digest = hashlib.sha256(data).hexdigest()
        if digest_in(like) == digest:
            return like
        if self._kept + len(data) > self.most:
            return UNKEPT
        power = _power(len(data))
        freed = self._free.get(power)
        at = freed.pop() if freed else self._end
        try:
            if self._fd < 0:
                self._fd, name = tempfile.mkstemp(prefix="preimages-", dir=self.directory)
                os.unlink(name)
            written = os.pwrite(self._fd, data, at)
        except OSError:
            written = -1
        if at == self._end:
            self._end += 1 << power
        if written < len(data):
            self._free[power].append(at)
            return UNKEPT
        self._kept += len(data)
        return f"{digest}@{at:x}+{len(data):x}"

    def get(self, ref: str) -> bytes | None:
        """The content, if it was kept."""
        _, _, place = ref.partition("@")
        if not place:
            return self._secrets.get(ref)
        at, length = _parsed(place)
        return os.pread(self._fd, length, at)

    def free(self, refs: Iterable[str]) -> None:
        """Nobody will ask for these any more."""
        for ref in refs:
            _, _, place = ref.partition("@")
            if place:
                at, length = _parsed(place)
                self._free[_power(length)].append(at)
                self._kept -= length

    def close(self) -> None:
        """Forget all of it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._free.clear()
        self._end = self._kept = 0
        self._secrets = SecretBlobs()


def _power(length: int) -> int:
    return max(_SMALLEST, (length - 1).bit_length())


def _parsed(place: str) -> tuple[int, int]:
    at, _, length = place.partition("+")
    return int(at, 16), int(length, 16)


class Contents(Struct):
    """Of the files below `root`."""

    root: Path
    kept: PreimageStore
    limits: CaptureLimits
    secrets: SecretJudge | None = None
    fresh: set[str] = field(default_factory=set[str])
    """Files that are to be read again at the next look, though nothing tells that they changed."""

    def take_fresh(self) -> set[str]:
        """Those by now; from then on others."""
        fresh, self.fresh = self.fresh, set()
        return fresh

    def hold(self, path: str, seen: Seen, until: float, like: str = "") -> FileVersion | None:
        """Keep what a file holds that looks like this, later when it is too late; None when it is gone by now.

        `like`: the `ref` of what it held before.
        """
        if stat.S_ISREG(seen[0]) and seen[1] > self.limits.max_file_bytes:
            return FileVersion(seen, UNKEPT)
        if time.monotonic() > until:
            return FileVersion(seen, PENDING)
        return self.read(path, seen, like)

    def read(self, path: str, seen: Seen, like: str = "") -> FileVersion | None:
        """As it is now, which may be later than `seen`; None when it is gone by now."""
        if stat.S_ISLNK(seen[0]):
            try:
                return FileVersion(seen, self.kept.put(os.fsencode(os.readlink(self.root / path)), like=like))
            except OSError as error:
                return None if error.errno == errno.ENOENT else FileVersion(seen, UNKEPT)
        try:
            fd = os.open(f"{self.root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return None if error.errno == errno.ENOENT else FileVersion(seen, UNKEPT)
        try:
            for _ in range(3):
                now = seen_of_status(os.fstat(fd))
                data = os.pread(fd, now[1], 0) if now[1] <= self.limits.max_file_bytes else b""
                if len(data) == now[1] and seen_of_status(os.fstat(fd)) == now:
                    if time.time_ns() - max(now[2], now[3]) < FRESH:
                        self.fresh.add(path)
                    secret = self.secrets is not None and bool(self.secrets.secret_in(self.root / path, data))
                    return FileVersion(now, self.kept.put(data, secret=secret, like=like))
        except OSError:
            pass
        finally:
            os.close(fd)
        return FileVersion(seen, UNKEPT)

    def looks(self, path: str) -> Seen | None:
        """How a path looks now; None: nothing is there."""
        try:
            return seen_of_status(os.lstat(f"{self.root}/{path}"))
        except OSError:
            return None

    def of(self, held: Iterable[FileVersion], git: GitFiles) -> dict[str, bytes]:
        """The contents by their `ref`, as far as they can still be had."""
        sizes = {(each.ref, each.seen[1]) for each in held if is_kept(each.ref)}
        of_git = {(ref.removeprefix(GIT), size) for ref, size in sizes if ref.startswith(GIT)}
        found = git.contents(of_git, time.monotonic() + 10 * self.limits.copy_s)
        result = {f"{GIT}{blob}": data for blob, data in found.items()}
        for ref in {ref for ref, _ in sizes if not ref.startswith(GIT)}:
            data = self.kept.get(ref)
            if data is not None:
                result[ref] = data
        return result


class FolderCopy(Struct):
    """The contents of one folder that are still to be read, a while at a time: a folder of thousands is unpacked once for all of them."""

    folder: str
    listed_at: int
    held: dict[str, FileVersion]
    left: list[str]
    """Names; the last one is next."""

    @classmethod
    def of(cls, folder: str, version: FolderVersion) -> "FolderCopy":
        """Of what it was when it was listed."""
        held = version.held()
        return cls(folder, version.listed_at, held, [name for name in reversed(held) if held[name].ref == PENDING])

    def go_on(self, contents: Contents, until: float) -> bool:
        """Read on until then; whether everything is read."""
        while self.left and time.monotonic() < until:
            name = self.left.pop()
            seen = self.held[name].seen
            now = contents.hold(f"{self.folder}/{name}" if self.folder else name, seen, math.inf)
            # what changed meanwhile is not what it was, and the next look finds it
            self.held[name] = now if now is not None and now.seen == seen else FileVersion(seen, UNKEPT)
        return not self.left

    @property
    def version(self) -> FolderVersion:
        """The folder with what was read by now."""
        return FolderVersion.of(self.held, self.listed_at)


def seen_of_status(status: os.stat_result) -> Seen:
    """How a file looks that is no directory."""
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
