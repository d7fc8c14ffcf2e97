"""Sees at once what others do to files under review and to git, while somebody wants to know: editors, staging in a terminal.

It says where to look, and never what happened. Where nothing can be watched, that is found when somebody lists. While
nobody attends, or nothing is under review, nothing is watched.
"""

import asyncio
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from sould.agents.base.gitplaces import git_directories
from sould.agents.base.tasks import Behind, in_time
from sould.agents.files.directories.folderevents import FolderEvents
from sould.agents.files.edits.reviewed import ReviewedFiles
from sould.agents.files.reviewing.gitmoments import GitMoments
from sould.agents.files.reviewing.gitreview import GitReview, is_pending
from sould.agents.files.reviewing.looking import ExpectedSaves

LOCKED: Final = 1.0
"""Seconds that are left to a git that works: it writes files first, and says then what it did."""
_LOCK: Final = "index.lock"


class LookedAt(Protocol):
    """A review, for its watcher."""

    root: Path

    async def look(self, path: str) -> None:
        """Take what a file holds now."""
        ...

    async def look_at_git(self) -> None:
        """Take what files hold where git moved."""
        ...

    async def look_at_all(self) -> None:
        """Take what all files hold."""
        ...


class ReviewWatcher:
    """Of one project. Belongs to the event loop."""

    def __init__(
        self, review: LookedAt, reviewed: ReviewedFiles, git: GitReview, saves: ExpectedSaves, events: FolderEvents
    ) -> None:
        self._review = review
        self._reviewed = reviewed
        self._git_review = git
        self._saves = saves
        self._events = events
        self._attending = 0
        self._files: frozenset[str] = frozenset()
        self._folders: frozenset[str] = frozenset()
        self._git: frozenset[str] = frozenset()
        """Folders, and in them the names, that say where git stands."""
        self._changed: set[str] = set()
        self._moved = False
        """What is watched may not be what has its name."""
        self._everything = False
        self._git_moved = False
        self._told = asyncio.Event()
        """Git said something."""
        self._renewal: asyncio.Handle | None = None
        self._behind = Behind("looking at what changed")

    @contextmanager
    def attended(self) -> Generator[None]:
        """Somebody wants to know at once, as long as the block lasts."""
        self._attending += 1
        self._renew_soon()
        try:
            with self._reviewed.followers.following(self._note):
                yield
        finally:
            self._attending -= 1
            self._renew_soon()

    async def aclose(self) -> None:
        """Watch nothing any more."""
        self._attending = 0
        self._renew()
        await self._behind.aclose()

    def _note(self, path: str) -> None:
        """The review of a file changed."""
        if self._is_watched(path) != (path in self._files):
            self._renew_soon()

    def _is_watched(self, path: str) -> bool:
        file = self._reviewed.state.files.get(path)
        return file is not None and is_pending(file)

    # --- what is watched ----------------------------------------------------------------------------------------------

    def _renew_soon(self) -> None:
        if self._renewal is None:
            self._renewal = asyncio.get_running_loop().call_soon(self._renew)

    def _renew(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None
        self._files = frozenset(filter(self._is_watched, self._reviewed.state.files) if self._attending else ())
        self._git = frozenset(_git_files(self._git_review.activity.git)) if self._files else frozenset()
        if self._moved:
            self._moved, self._folders = False, frozenset()
            self._events.listen(self, ())
        root = str(self._review.root)
        folders = frozenset(folder for path in self._files for folder in _way(os.path.dirname(path), root))
        folders |= {_nearest(os.path.dirname(path)) for path in self._git}
        new = folders - self._folders
        self._folders = folders
        self._events.listen(self, folders)
        if new:  # what happened before nobody was told
            self._everything = True
            self.burst_over()

    # --- what happens -------------------------------------------------------------------------------------------------

    def happened(self, folder: str, name: str) -> None:
        """See `FolderListener`."""
        path = f"{folder}/{name}" if name else folder
        if path in self._git:
            self._git_moved = True
            self._told.set()
        elif name == _LOCK:
            self._told.set()
        elif path in self._files:
            self._changed.add(path)
        elif any(each.startswith(f"{path}/") for each in (*self._files, *self._git)):
            self._moved = True  # a folder on the way to some of them is another one now
            self._renew_soon()
            self._changed.update(each for each in self._files if each.startswith(f"{path}/"))

    def lost(self) -> None:
        """See `FolderListener`."""
        self._everything = True

    def burst_over(self) -> None:
        """See `FolderListener`."""
        if (self._changed or self._git_moved or self._everything) and not self._behind.busy:
            self._behind.begin(self._look())

    async def _look(self) -> None:
        while self._changed or self._git_moved or self._everything:
            self._told.clear()
            if any(os.path.exists(f"{os.path.dirname(path)}/{_LOCK}") for path in self._git if path.endswith("/index")):
                await in_time(LOCKED, self._told.wait())
            changed, self._changed = self._changed, set()
            everything, self._everything = self._everything, False
            git, self._git_moved = self._git_moved, False
            if everything:
                await self._review.look_at_all()
            elif git:
                await self._review.look_at_git()
            for path in changed:
                wait = self._saves.left(path)
                if wait:  # what is there may be the editor's work on what an agent wrote
                    asyncio.get_running_loop().call_later(wait, self._look_later, path)
                else:
                    await self._git_review.activity.find()  # it may be the doing of a call
                    await self._review.look(path)
            if git and not everything:
                self._renew()  # it may be on another branch

    def _look_later(self, path: str) -> None:
        if path in self._files:
            self._changed.add(path)
            self.burst_over()


def _git_files(moments: GitMoments) -> Iterator[str]:
    """What changes when git moves."""
    places = git_directories(moments.root)
    if places is None:
        return
    own, common = places
    moment = moments.now()
    branch = moment.branch.removeprefix("ref: ") if moment is not None and moment.branch.startswith("ref: ") else ""
    yield from _normal((own / "HEAD", own / "index", common / "packed-refs", common / "refs" / "stash"))
    yield from _normal([common / branch] if branch else ())
    yield from _normal([common / "reftable" / "tables.list"] if moment is not None and moment.commit is None else ())


def _normal(paths: Iterable[Path]) -> Iterator[str]:
    return map(os.path.normpath, paths)


def _nearest(folder: str) -> str:
    """The folder, or the lowest one above it that is there."""
    while not os.path.isdir(folder) and folder != "/":
        folder = os.path.dirname(folder)
    return folder


def _way(folder: str, root: str) -> Iterator[str]:
    """The folder and those above it up to the root, which are there: of a move only the one above is told."""
    while folder != root and folder.startswith(f"{root.rstrip('/')}/"):
        yield from [folder] if os.path.isdir(folder) else ()
        folder = os.path.dirname(folder)
    yield root
