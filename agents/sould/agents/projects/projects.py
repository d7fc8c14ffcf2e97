"""All projects of a daemon: one for each root, open as long as a session borrows it.

A root is the innermost git worktree, else the directory a session works in, else a file's own directory. `/`, the user's
home and the directory for temporary files are no projects: a repository there does not take what lies below it.
"""

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

from pydantic import BaseModel, ValidationError

from sould.agents.filelocks import FileLocks
from sould.agents.privatefile import write_private
from sould.agents.processlock import alone_without_blocking
from sould.agents.projects.blobs import BlobStore
from sould.agents.projects.buffers import Buffers
from sould.agents.projects.project import Project
from sould.agents.projects.secretblobs import SecretBlobs

RECORD = "project.json"


class _Record(BaseModel):
    """Which directory a log is about: by its path, and by what it is on disk, so that one that was moved keeps its log."""

    root: str
    device: int
    inode: int


@dataclass(slots=True)
class Projects:
    """Every session of a daemon has the same one. `locks`: one lock a file for all of them."""

    state_dir: Path
    secrets: SecretBlobs = field(default_factory=SecretBlobs)
    locks: FileLocks = field(default_factory=FileLocks)
    buffers: Buffers = field(default_factory=Buffers)
    """What clients say of the files they have open."""
    _open: dict[str, Project] = field(default_factory=dict[str, Project])
    _borrowers: Counter[str] = field(default_factory=Counter[str])
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def store(self) -> BlobStore:
        """What files held, by digest."""
        return BlobStore(self.state_dir / "blobs", self.secrets)

    async def borrow(self, root: Path) -> tuple[str, Project]:
        """The project of a root and the id of its log; to be given back.

        Raises:
            OSError, ConfigError, ProjectOpenElsewhereError
        """
        async with self._one:
            directory = self.state_dir / "projects"
            async with alone_without_blocking(directory / ".lock"):
                log_id = await asyncio.to_thread(_log_of, directory, root)
            return log_id, await self._borrowed(log_id, root)

    async def borrow_log(self, log_id: str) -> Project | None:
        """The project a log is about; None when there is none. Raises as `borrow`."""
        async with self._one:
            record = await asyncio.to_thread(_read_record, self.state_dir / "projects" / log_id)
            return await self._borrowed(log_id, Path(record.root)) if record is not None else None

    async def give_back(self, log_id: str) -> None:
        """Whoever borrowed it needs it no more."""
        async with self._one:
            self._borrowers[log_id] -= 1
            if not self._borrowers[log_id]:
                del self._borrowers[log_id]
                await self._open.pop(log_id).aclose()

    async def _borrowed(self, log_id: str, root: Path) -> Project:
        project = self._open.get(log_id)
        if project is None:
            project = self._open[log_id] = await Project.open(self.state_dir / "projects" / log_id, root, self.store)
        self._borrowers[log_id] += 1
        return project


def root_of(path: Path, directories: Sequence[Path], home: Path) -> Path:
    """The root of the project that a file belongs to, by its resolved path; `directories`: where its session works."""
    never = {Path("/"), Path(os.path.realpath(home)), Path(os.path.realpath(tempfile.gettempdir()))}
    for parent in path.parents:
        if parent not in never and (parent / ".git").exists():
            return parent
    around = [directory for directory in directories if path.is_relative_to(directory)]
    there = next(parent for parent in path.parents if parent.is_dir())
    return max(around, key=lambda directory: len(directory.parts), default=there)


def _log_of(directory: Path, root: Path) -> str:
    """The id of the log about `root`: the one that names it, or that is about what was moved there, else a new one."""
    status = root.stat()
    record = _Record(root=str(root), device=status.st_dev, inode=status.st_ino)
    records = {each.name: found for each in directory.iterdir() if (found := _read_record(each)) is not None}
    for name, found in records.items():
        if found.root == record.root:
            _write_record(directory / name, record)
            return name
    for name, found in records.items():
        if (found.device, found.inode) == (record.device, record.inode) and not os.path.lexists(found.root):
            _write_record(directory / name, record)
            return name
    name = token_hex(8)
    (directory / name).mkdir(mode=0o700)
    _write_record(directory / name, record)
    return name


def _read_record(directory: Path) -> _Record | None:
    try:
        return _Record.model_validate_json((directory / RECORD).read_bytes())
    except (OSError, ValidationError):
        return None


def _write_record(directory: Path, record: _Record) -> None:
    if _read_record(directory) == record:
        return
    write_private(directory / RECORD, record.model_dump_json().encode(), durable=True)
