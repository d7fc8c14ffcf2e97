"""How the folders of a directory looked, and what their files held, in a file without a name.

A project may have hundreds of thousands of files, and memory holds only where each folder's record is. The record of a
folder that changed is written anew at the end; when half the file is of no use any more, it is written once more.
Imports little, because `walkmain` does. Blocks: use it in a thread.
"""

import os
import struct
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from sould.agents.files.directories.refs import PENDING, UNKEPT
from sould.agents.files.directories.tree import Seen, TreeListing, name_of

_HEAD = struct.Struct("<qIII")
_LENGTH_BITS = 32
_LENGTH = (1 << _LENGTH_BITS) - 1
_PENDING = PENDING.encode()
_SMALL = 1024 * 1024
"""Bytes that are not worth writing anew."""


class FileVersion(Struct, frozen=True):
    """What a path held: `ref` names the content, `seen` is how it looked."""

    seen: Seen
    ref: str


class FolderVersion(Struct, frozen=True):
    """What is in a folder, listed at a time of `file_clock`: the `ref`s in the listing's order, with spaces between them."""

    listing: TreeListing
    refs: bytes
    listed_at: int

    @classmethod
    def of(cls, held: Mapping[str, FileVersion], listed_at: int) -> "FolderVersion":
        """In the order given."""
        listing = TreeListing.of((name, each.seen) for name, each in held.items())
        return cls(listing, " ".join(each.ref for each in held.values()).encode(), listed_at)

    def held(self) -> dict[str, FileVersion]:
        """By name."""
        refs = self.refs.decode().split(" ")
        return {name: FileVersion(seen, ref) for (name, seen), ref in zip(self.listing.entries(), refs, strict=False)}

    def not_kept(self, paths: Iterable[str], largest: int) -> Iterator[str]:
        """Those of paths in it whose content cannot be had later: of files with so many bytes at most all are read some time."""
        held = self.held()
        for path in paths:
            file = held.get(name_of(path))
            if file is not None and (file.ref == UNKEPT or (file.ref == PENDING and file.seen[1] > largest)):
                yield path

    @property
    def pending(self) -> bool:
        """Some contents are still to be read."""
        return _PENDING in self.refs


class FolderStore(Struct):
    """The folders of one directory. `scratch`: where its file is made."""

    scratch: Path
    _fd: int = -1
    _end: int = 0
    _live: int = 0
    _places: dict[str, int] = field(default_factory=dict[str, int])
    """Where each record begins, and, in the lowest bits, how long it is."""
    _in_memory: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Records that could not be written."""

    def open(self) -> int:
        """The descriptor of its file, made when it is not there yet. Raises OSError."""
        if self._fd < 0:
            self._fd = _unnamed(self.scratch)
        return self._fd

    @property
    def places(self) -> Mapping[str, int]:
        """What `take_over` needs."""
        return self._places

    def filled(self, places: Mapping[str, int]) -> None:
        """Another program has filled its file."""
        self._places = dict(places)
        self._live = sum(place & _LENGTH for place in places.values())
        self._end = max(((place >> _LENGTH_BITS) + (place & _LENGTH) for place in places.values()), default=0)

    def folders(self) -> Collection[str]:
        """All that are held."""
        return self._places.keys()

    def _record(self, folder: str, length: int | None = None) -> bytes:
        if folder in self._in_memory:
            return self._in_memory[folder]
        place = self._places[folder]
        return os.pread(self._fd, length or place & _LENGTH, place >> _LENGTH_BITS)

    def get(self, folder: str) -> FolderVersion | None:
        """As it was put."""
        if folder not in self._places:
            return None
        record = self._record(folder)
        listed_at, names, stats, refs = _HEAD.unpack_from(record)
        at = _HEAD.size
        listing = TreeListing(record[at : at + names], record[at + names : at + names + stats])
        return FolderVersion(listing, record[at + names + stats : at + names + stats + refs], listed_at)

    def listed_at(self, folder: str) -> int:
        """When it was listed; it must be held."""
        listed_at, *_ = _HEAD.unpack_from(self._record(folder, _HEAD.size))
        return int(listed_at)

    def put(self, folder: str, version: FolderVersion) -> None:
        """Hold it in place of what was; in memory, where the disk has no room."""
        names, stats = version.listing.names, version.listing.stats
        head = _HEAD.pack(version.listed_at, len(names), len(stats), len(version.refs))
        record = b"".join((head, names, stats, version.refs))
        self.pop(folder)
        self._append(folder, record)
        if self._end > 2 * self._live + _SMALL:
            self._rewrite()

    def pop(self, folder: str) -> None:
        """Hold it no more."""
        self._live -= self._places.pop(folder, 0) & _LENGTH
        self._in_memory.pop(folder, None)

    def add_note(self, note: bytes) -> int:
        """Write more behind the records; where it begins. Nothing may be put after it. Raises OSError."""
        _write(self.open(), note, self._end)
        return self._end

    def note(self, at: int) -> bytes:
        """What `add_note` wrote there. Raises OSError."""
        return os.pread(self._fd, os.fstat(self._fd).st_size - at, at)

    def close(self) -> None:
        """Forget all of it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._places.clear()
        self._in_memory.clear()
        self._end = self._live = 0

    def _append(self, folder: str, record: bytes) -> None:
        try:
            _write(self.open(), record, self._end)
        except OSError:
            self._in_memory[folder], self._places[folder] = record, 0
            return
        self._places[folder] = self._end << _LENGTH_BITS | len(record)
        self._end += len(record)
        self._live += len(record)

    def _rewrite(self) -> None:
        try:
            fd = _unnamed(self.scratch)
        except OSError:
            return  # another time
        records = {folder: self._record(folder) for folder in self._places}
        self.close()
        self._fd = fd
        for folder, record in records.items():
            self._append(folder, record)


def _unnamed(scratch: Path) -> int:
    fd, name = tempfile.mkstemp(prefix="looked-", dir=scratch)
    os.unlink(name)
    return fd


def _write(fd: int, data: bytes, at: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(fd, rest, at)
        rest, at = rest[written:], at + written
