"""All projects of a daemon: one for each root, open as long as somebody borrows it.

`ownership` says whose a file is, `logrecords` which log is about a directory. Opening a project needs no session, no model
and no client.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeAlias
from weakref import WeakValueDictionary

from msgspec import Struct, field

from sould.agents.base.config import Config
from sould.agents.base.filelocks import FileLocks
from sould.agents.base.liveconfig import FixedConfig, LiveConfig
from sould.agents.base.processlock import alone_without_blocking
from sould.agents.base.tasks import Behind, run_shielded_in_thread, shielded
from sould.agents.files.directories.folderevents import FolderEvents, InotifyEvents
from sould.agents.files.directories.identity import DirectoryIdentity
from sould.agents.files.directories.secretblobs import SecretBlobs
from sould.agents.files.directories.watching import Watches
from sould.agents.files.edits.blobs import BlobStore
from sould.agents.files.edits.logrecords import LogRecords, place_identity
from sould.agents.files.edits.ownership import root_of
from sould.agents.files.edits.project import Project
from sould.agents.files.reviewing.activity import Activities
from sould.agents.files.reviewing.buffers import Buffers
from sould.agents.files.reviewing.files import ReviewFiles
from sould.agents.files.reviewing.gitreview import GitReview
from sould.agents.files.reviewing.review import Review

BeginForeseeing: TypeAlias = Callable[[], None]
"""Begins to find out what a call is about to write."""
Foresee: TypeAlias = Callable[[], Awaitable[None]]
"""Finds that out."""


class Unforeseen(Struct, frozen=True):
    """A call of which nobody was shown what it is about to write: `begin` has that found beside everything else."""

    find: Foresee
    begin: BeginForeseeing


class ProjectPlace(Struct, frozen=True):
    """Where a project is: its root, and which directory that is. After a move, or when another one took the path, it is another."""

    root: Path
    identity: DirectoryIdentity


class Projects(Struct, dict=True):
    """Every session of a daemon has the same one. `locks`: one lock a file for all of them."""

    state_dir: Path
    secrets: SecretBlobs = field(default_factory=SecretBlobs)
    locks: FileLocks = field(default_factory=FileLocks)
    buffers: Buffers = field(default_factory=Buffers)
    """What clients say of the files they have open."""
    watches: Watches = field(default_factory=Watches)
    """What tells where programs changed something."""
    at_work: set[str] = field(default_factory=set[str])
    """The sessions of which a turn runs."""
    variables: Mapping[str, str] = field(default_factory=lambda: {"PATH": os.defpath})
    """With which git is run to look at a project for everybody: the daemon's own."""
    events: FolderEvents = field(default_factory=InotifyEvents)
    """What tells clients at once that somebody changed a file under review."""
    config: LiveConfig = field(default_factory=lambda: FixedConfig(Config()))
    beforehand: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """Whoever looks at a project before anybody waits for it: two hundred sessions that begin at once do so one by one."""
    unforeseen: dict[tuple[str, str], Unforeseen] = field(default_factory=dict[tuple[str, str], Unforeseen])
    """By session and id: calls that may be about to write what nobody was shown so far."""
    _open: dict[str, Project] = field(default_factory=dict[str, Project])
    _reviews: dict[str, Review] = field(default_factory=dict[str, Review])
    _carrying_out: dict[str, Behind] = field(default_factory=dict[str, Behind])
    """What waited when a log was opened is carried out beside its borrower, who may hold a file of it, or look for changes."""
    _borrowers: Counter[str] = field(default_factory=Counter[str])
    _assigning: asyncio.Lock = field(default_factory=asyncio.Lock)
    _opening: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary[str, asyncio.Lock])
    """Whoever opens or closes a log holds its lock."""

    @cached_property
    def _records(self) -> LogRecords:
        return LogRecords(self.state_dir / "projects")

    @cached_property
    def activities(self) -> Activities:
        """What goes on in each project just now."""
        return Activities(self.variables)

    @property
    def store(self) -> BlobStore:
        """What files held, by digest."""
        return BlobStore(self.state_dir / "blobs", self.secrets)

    def place_of(self, path: Path, directories: Collection[Path], never: Collection[Path]) -> ProjectPlace:
        """Where the project of a file is, see `root_of`; some ten looks at the disk. Blocks. Raises OSError."""
        root = root_of(path, directories, self._records.has, never)
        return ProjectPlace(root, place_identity(root))

    async def borrow(self, root: Path) -> tuple[str, Project]:
        """The project of a root and the id of its log; to be given back.

        Raises:
            OSError, ConfigError, ProjectOpenElsewhereError
        """
        async with self._assigning, alone_without_blocking(self._records.directory / ".lock"):
            log_id = await run_shielded_in_thread(self._records.assign, root)
        return log_id, await self._borrowed(log_id, root)

    async def borrow_log(self, log_id: str) -> Project | None:
        """The project a log is about; None when there is none, or another one is in its place. Raises as `borrow`."""
        root = await asyncio.to_thread(self._records.root_of_log, log_id)
        return await self._borrowed(log_id, root) if root is not None else None

    def has_log(self, root: Path) -> bool:
        """Whether there is one of a root's project: else nothing of it is under review. Blocks."""
        return self._records.has(root)

    def log_ids(self) -> Sequence[str]:
        """Of all logs there are. Blocks."""
        return sorted(self._records.roots(()))

    async def age(self, log_id: str, sessions: Collection[str], since: float) -> int:
        """See `Project.age`; a project that nobody has open is opened for it, unless its directory is not there.

        Raises:
            OSError, ProjectOpenElsewhereError
        """
        async with self._lock(log_id):
            project = self._open.get(log_id)
            if project is not None:
                return await project.age(sessions, since)
            root = await asyncio.to_thread(self._records.root_of_log, log_id)
            if root is None or not await asyncio.to_thread(root.is_dir):
                return 0
            project = await Project.open(self._records.directory / log_id, root, self.store)
            try:
                return await project.age(sessions, since)
            finally:
                await shielded(project.aclose())

    def review(self, project: Project) -> Review:
        """What is to be decided in a project that somebody borrowed."""
        return self._reviews[project.log_id]

    @property
    def open_reviews(self) -> Sequence[Review]:
        """What is to be decided in the projects that somebody has borrowed."""
        return tuple(self._reviews.values())

    async def give_back(self, log_id: str) -> None:
        """Whoever borrowed it needs it no more."""
        await shielded(self._give_back(log_id))

    async def _give_back(self, log_id: str) -> None:
        async with self._lock(log_id):
            self._borrowers[log_id] -= 1
            if not self._borrowers[log_id]:
                del self._borrowers[log_id]
                await self._carrying_out.pop(log_id).aclose()
                await self._reviews.pop(log_id).aclose()
                await self._open.pop(log_id).aclose()

    async def _borrowed(self, log_id: str, root: Path) -> Project:
        async with self._lock(log_id):
            # another borrower may have found it elsewhere by now
            root = await asyncio.to_thread(self._records.root_of_log, log_id) or root
            project = self._open.get(log_id)
            if project is None:
                directory = self._records.directory / log_id
                project = self._open[log_id] = await Project.open(directory, root, self.store)
                git = GitReview(project, self.activities, self.config)
                files = ReviewFiles(self.store, self.buffers)
                review = self._reviews[log_id] = Review(project, self.locks, files, git, self.events)
                self._carrying_out[log_id] = Behind("carrying out what waited")
                self._carrying_out[log_id].begin(review.carry_out_waiting())
            elif project.root != root:
                await project.move_to(root)
            self._borrowers[log_id] += 1
            return project

    def _lock(self, log_id: str) -> asyncio.Lock:
        return self._opening.setdefault(log_id, asyncio.Lock())
