"""The projects that a session writes to, runs commands in or has edits in: borrowed when it first needs them, given back when it ends.

Which logs hold edits of the session is on disk before the first such edit is.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sould.agents.base.tasks import run_shielded_in_thread, shielded
from sould.agents.base.workspace import TextFiles, Workspace
from sould.agents.files.edits.blobs import BlobMissingError
from sould.agents.files.edits.editlog import Intent
from sould.agents.files.edits.ownership import ALONE
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.reviewed import EditReader
from sould.agents.files.edits.sessionlogs import add_logs, logs_of, old_edits, set_aside
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.projects.projects import ProjectPlace, Projects
from sould.agents.files.reviewing.answers import DecisionListener
from sould.agents.files.reviewing.review import Review


class BorrowedProjects:
    """Of the session that works in `workspace` and keeps its things in `directory`; None: of the user, without a session."""

    def __init__(
        self,
        projects: Projects,
        workspace: Workspace,
        texts: TextFiles,
        directory: Path | None,
        never: frozenset[Path],
        session_id: str,
    ) -> None:
        """`texts`: the files as its clients see them. `never`: directories that are no projects. `session_id`: "" of the user."""
        self._session_id = session_id
        self._projects = projects
        self._workspace = workspace
        self._texts = texts
        self._directory = directory
        self._never = never
        self._by_log: dict[str, Project] = {}
        self._by_place: dict[ProjectPlace, Project] = {}
        self._one = asyncio.Lock()
        self._listener: DecisionListener | None = None
        self._stepping = False
        self._reader: EditReader | None = None

    def __iter__(self) -> Iterator[Project]:
        """Those that are borrowed by now."""
        return iter(tuple(self._by_log.values()))

    @property
    def edits(self) -> Mapping[Path, Sequence[LoggedEdit]]:
        """Every edit of the session by resolved path, oldest first, taken back or not."""
        found: dict[Path, list[LoggedEdit]] = {}
        for project in self:
            for path, edits in project.edits(self._session_id or None).items():
                if self._session_id or project.root != ALONE or path.is_relative_to(self._workspace.root):
                    found.setdefault(path, []).extend(edits)
        return {path: sorted(edits, key=lambda edit: edit.timestamp) for path, edits in found.items()}

    def edits_of(self, path: Path) -> Sequence[LoggedEdit]:
        """Of a file, in those that are borrowed by now, oldest first."""
        return sorted((edit for project in self for edit in project.edits_of(path)), key=lambda edit: edit.timestamp)

    async def content(self, digest: str) -> bytes:
        """A content named in `edits`, nothing for a directory. Raises BlobMissingError."""
        missing = BlobMissingError("no edit of the session names it")
        for project in self:
            try:
                return await project.content(digest)
            except BlobMissingError as error:
                missing = error
        raise missing

    @property
    def directories(self) -> tuple[Path, ...]:
        """Those the session works in, as they are at the time."""
        return (self._workspace.root, *self._workspace.additional)

    @property
    def watched(self) -> Sequence[Path]:
        """The directories the session works in that may be projects."""
        return [each for each in self.directories if each not in self._never]

    @property
    def unwatched(self) -> Sequence[Path]:
        """The others."""
        return [each for each in self.directories if each in self._never]

    async def open(self) -> None:
        """Borrow those with edits of the session, for the user the project's; take over its own log of earlier versions."""
        ids = await asyncio.to_thread(logs_of, self._directory) if self._directory is not None else []
        await self._open_logs(ids)
        if self._directory is not None:
            await self._take_over(self._session_id, self._directory)

    async def inherit(self, source: str, directory: Path) -> None:
        """Know the edits of the session `source`, too, which keeps its things in `directory`: this one, still new, goes on there.

        Raises:
            OSError: they cannot be read, or could not be kept.
        """
        await self._take_over(source, directory)
        ids = await asyncio.to_thread(logs_of, directory)
        await self._open_logs(ids)
        for log_id in ids:
            project = self._by_log.get(log_id)
            if project is not None:
                await self._note(log_id)
                await project.inherit(self._session_id, source)

    async def of(self, path: Path) -> Project:
        """The one a file belongs to, by its resolved path. Raises OSError, SouldError."""
        place = await asyncio.to_thread(self._projects.place_of, path, self.directories, self._never)
        async with self._one:
            known = self._by_place.get(place)
            if known is not None and known.root == place.root:
                return known
            log_id, project = await self._projects.borrow(place.root)
            try:
                await self._note(log_id)
            except BaseException:
                await self._projects.give_back(log_id)
                raise
            if log_id in self._by_log:
                await self._projects.give_back(log_id)
            self._by_log[log_id] = self._by_place[place] = project
            self._serve(project)
            return project

    def root_of(self, path: Path) -> Path:
        """The root of the one a file belongs to, which is not borrowed for that. Blocks. Raises OSError."""
        return self._projects.place_of(path, self.directories, self._never).root

    def review(self, project: Project) -> Review:
        """What is to be decided in one that is borrowed."""
        return self._projects.review(project)

    async def review_of(self, path: Path) -> Review:
        """What is to be decided in the one a file belongs to. Raises as `of`."""
        return self._projects.review(await self.of(path))

    def reviews(self) -> Sequence[Review]:
        """What is to be decided in those that are borrowed by now."""
        return [self._projects.review(project) for project in self]

    async def open_reviews(self) -> Sequence[Review]:
        """Likewise, first that of the directory the session works in, when what waited is done. Raises as `of`."""
        own = await self.of(self._workspace.root / "any")
        reviews = [self._projects.review(project) for project in (own, *(each for each in self if each is not own))]
        for review in reviews:
            await review.carry_out_waiting()
        return reviews

    def tell(self, listener: DecisionListener) -> None:
        """From now on of what is decided about the session's hunks. Said once."""
        self._listener = listener
        for project in self:
            self._serve(project)

    def tell_edits(self, reader: EditReader) -> None:
        """From now on of what users make of files under review. Said once, before a project is borrowed."""
        self._reader = reader

    def step_begins(self) -> None:
        """What the session wrote is not taken from under its agents from now on, wherever it is."""
        self._stepping = True
        for review in self.reviews():
            review.step_begins(self._session_id)

    async def step_ended(self) -> None:
        """They do nothing with files now: what waited for that is done."""
        self._stepping = False
        for review in self.reviews():
            review.step_over(self._session_id)
        for review in self.reviews():
            await review.carry_out_waiting()

    def _serve(self, project: Project) -> None:
        """What is decided about the session's hunks is written as its clients see the files, and told."""
        review = self._projects.review(project)
        if self._session_id:
            review.files.sessions[self._session_id] = self._texts
            if self._listener is not None:
                review.listeners[self._session_id] = self._listener
        if self._reader is not None:
            project.review.readers[self._session_id] = self._reader
        if self._stepping:
            review.step_begins(self._session_id)

    async def _take_over(self, session_id: str, directory: Path) -> None:
        """The edits that earlier versions kept beside a session; they are in the projects' logs when this returns."""
        edits = await asyncio.to_thread(old_edits, directory)
        by_project: dict[int, tuple[Project, list[tuple[Intent, bool]]]] = {}
        for edit, settled in edits:
            project = await self.of(Path(edit.path))
            by_project.setdefault(id(project), (project, []))[1].append((edit, settled))
        for project, found in by_project.values():
            await project.take_over(session_id, found)
        if edits:
            await run_shielded_in_thread(add_logs, directory, [*self._by_log])
            await asyncio.to_thread(set_aside, directory)

    async def aclose(self) -> None:
        """Give all back; no write may follow."""
        await shielded(self._give_back())

    async def _give_back(self) -> None:
        self._by_place.clear()
        while self._by_log:
            log_id, project = self._by_log.popitem()
            review = self._projects.review(project)
            review.files.sessions.pop(self._session_id, None)
            review.listeners.pop(self._session_id, None)
            project.review.readers.pop(self._session_id, None)
            await self._projects.give_back(log_id)

    async def _open_logs(self, ids: Sequence[str]) -> None:
        if ids or self._directory is None:
            await self.of(self._workspace.root / "any")  # first: that it was moved is known by it
        for log_id in ids:
            async with self._one:
                project = self._by_log.get(log_id) or await self._projects.borrow_log(log_id)
                if project is not None:
                    self._by_log[log_id] = project
                    self._serve(project)

    async def _note(self, log_id: str) -> None:
        """Before the first edit of the session is in it."""
        if self._directory is not None:
            await run_shielded_in_thread(add_logs, self._directory, [log_id])
