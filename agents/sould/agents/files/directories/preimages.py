"""The contents of files as they were before commands ran, as far as nothing else keeps them.

They are in a file without a name, those of secrets in memory; both are gone with the session. What is of no use any more
makes room for others. Memory holds nothing for a content: its `ref` says where it is. Blocks: use it in a thread.
"""

import hashlib
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

from sould.agents.files.directories.refs import UNKEPT, digest_in
from sould.agents.files.directories.secretblobs import SecretBlobs

_SMALLEST = 9
"""Places are powers of two long, so that what is freed fits others; the shortest has 512 bytes."""


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
