"""Which edit log is about which directory: a small file beside each log. Blocks: use it in a thread.

A log belongs to a directory by `identity`, not by its path: a directory that was moved keeps its log, and another one that
took its place gets one of its own. Not followed: a move to another file system, which is a copy; a move on a file system
that tells no time of birth, where the path alone counts.
"""

import contextlib
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Final

from msgspec import Struct, field
from pydantic import ValidationError

from sould.agents.base.parsed import Parsed
from sould.agents.base.privatefile import write_private
from sould.agents.files.directories.identity import DirectoryIdentity, identity_of
from sould.agents.files.edits.ownership import ALONE

RECORD: Final = "project.json"
_DRAFT: Final = "."
"""What the name of a directory begins with that is being made."""


class _Record(Parsed):
    root: str
    device: int
    inode: int
    born: int = 0
    """Missing where earlier versions wrote it."""

    @classmethod
    def of(cls, root: Path, found: DirectoryIdentity) -> "_Record":
        """Of a directory as it was found."""
        return cls(root=str(root), device=found.device, inode=found.inode, born=found.born)


class _Known(Struct, frozen=True):
    record: _Record
    stamp: tuple[int, int]
    """Inode and time of the file it was read from: each writing makes another one."""

    def is_here(self, found: DirectoryIdentity) -> bool:
        """Whether the directory at the recorded path is the one it is about."""
        if not found.born:
            return not self.record.born
        if self.record.inode != found.inode:
            return False
        # one that was born after the record was written has the inode of one that is gone
        return self.record.born == found.born if self.record.born else found.born <= self.stamp[1]

    def has_become(self, found: DirectoryIdentity) -> bool:
        """Whether a directory at another path is the one it is about, which was moved there."""
        return bool(found.born) and self.record.device == found.device and self.is_here(found) and not self._is_there()

    def root_now(self, candidates: Mapping[Path, DirectoryIdentity]) -> Path | None:
        """Where its directory is: as recorded, or at one of the candidates; else where it was last, None if another one is there."""
        root = Path(self.record.root)
        if self._is_there():
            return root
        moved = next((each for each, found in candidates.items() if each != root and self.has_become(found)), None)
        return moved or (None if os.path.lexists(root) else root)

    def _is_there(self) -> bool:
        """One directory may be seen at two paths (a bind mount)."""
        try:
            return self.is_here(place_identity(Path(self.record.root)))
        except OSError:
            return False


class LogRecords(Struct):
    """The records in `directory`. `assign` is called by one caller at a time; the others whenever."""

    directory: Path
    _by_id: Mapping[str, _Known] | None = None
    _by_root: Mapping[str, tuple[_Known, ...]] = field(default_factory=dict[str, tuple[_Known, ...]])
    _reading: threading.Lock = field(default_factory=threading.Lock)
    """So that what is known never goes back to an earlier reading."""

    def assign(self, root: Path) -> str:
        """The id of the log about `root`, a new one when there is none. Raises OSError."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = place_identity(root)
        known = self._read()
        here = (name for name, each in known.items() if each.record.root == str(root) and each.is_here(found))
        moved = (name for name, each in known.items() if each.record.root != str(root) and each.has_become(found))
        name = next(here, None) or next(moved, None)
        if name is None:
            name = token_hex(8)
            self._make(name, root, found)
        else:
            if known[name].record.root != str(root):
                self._take_along(Path(known[name].record.root), root)
            self._write(name, root, found)
        self._read()
        return name

    def _make(self, name: str, root: Path, found: DirectoryIdentity) -> None:
        """With its record in it from the beginning: who watches for new projects is told once."""
        draft = self.directory / f"{_DRAFT}{name}"
        draft.mkdir(mode=0o700)
        write_private(draft / RECORD, _Record.of(root, found).model_dump_json().encode(), durable=True)
        draft.rename(self.directory / name)

    def _take_along(self, before: Path, now: Path) -> None:
        """A directory was moved: so were the projects in it, which nobody may have opened since."""
        for name, known in self._read().items():
            root = Path(known.record.root)
            if root != before and root.is_relative_to(before):
                with contextlib.suppress(OSError):
                    place = now / root.relative_to(before)
                    found = identity_of(place)
                    if known.has_become(found):
                        self._write(name, place, found)

    def _write(self, name: str, root: Path, found: DirectoryIdentity) -> None:
        record = _Record.of(root, found)
        known = (self._by_id or {}).get(name)
        if known is None or known.record != record:
            write_private(self.directory / name / RECORD, record.model_dump_json().encode(), durable=True)

    def root_of_log(self, log_id: str) -> Path | None:
        """Where the directory of a log is, or was last; None: there is no such log, or another directory is there now."""
        before = (self._by_id or {}).get(log_id) or self._read().get(log_id)
        known = before and _known(f"{self.directory}/{log_id}/{RECORD}", before)
        return known.root_now({}) if known is not None else None

    def roots(self, candidates: Iterable[Path]) -> Mapping[str, Path]:
        """Where the directory of each log is, or was last, by id; those that were moved are looked for among the candidates."""
        found: dict[Path, DirectoryIdentity] = {}
        for directory in candidates:
            with contextlib.suppress(OSError):
                found[directory] = identity_of(directory)
        known = self._read().items()
        return {log_id: each.root_now(found) or Path(each.record.root) for log_id, each in known}

    def has(self, directory: Path) -> bool:
        """Whether there is a log about the directory. An `IsProject`."""
        if self._by_id is None:
            self._read()
        candidates = self._by_root.get(str(directory), ())
        try:
            return bool(candidates) and any(each.is_here(identity_of(directory)) for each in candidates)
        except OSError:
            return False

    def _read(self) -> Mapping[str, _Known]:
        """What the records say now; those that are as they were are not read again."""
        with self._reading:
            before = self._by_id or {}
            names = os.listdir(self.directory) if self.directory.is_dir() else []
            names = [name for name in names if not name.startswith(_DRAFT)]
            files = ((name, f"{self.directory}/{name}/{RECORD}") for name in names)
            found = {name: known for name, file in files if (known := _known(file, before.get(name))) is not None}
            by_root: dict[str, tuple[_Known, ...]] = {}
            for known in found.values():
                by_root[known.record.root] = (*by_root.get(known.record.root, ()), known)
            self._by_id, self._by_root = found, by_root
            return found


def place_identity(root: Path) -> DirectoryIdentity:
    """Of a project's root; of the files that stand alone nothing but the path counts. Raises OSError."""
    return DirectoryIdentity(0, 0, 0) if root == ALONE else identity_of(root)


def _known(file: str, before: _Known | None) -> _Known | None:
    try:
        status = os.stat(file)
        stamp = (status.st_ino, status.st_mtime_ns)
        if before is not None and before.stamp == stamp:
            return before
        return _Known(_Record.model_validate_json(Path(file).read_bytes()), stamp)
    except (OSError, ValidationError):
        return None
