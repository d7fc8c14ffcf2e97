"""The projects that a session writes to or has edits in: borrowed when it first needs them, given back when it ends.

Which logs hold edits of the session is on disk before the first such edit is.
"""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from sould.agents.patience import run_shielded_in_thread, shielded
from sould.agents.projects.editlog import Intent
from sould.agents.projects.project import Project
from sould.agents.projects.projects import Place, Projects
from sould.agents.projects.sessionlogs import add_logs, logs_of, old_edits, set_aside
from sould.agents.workspace import Workspace


class BorrowedProjects:
    """Of the session that works in `workspace` and keeps its things in `directory`; None: of the user, without a session."""

    def __init__(
        self, projects: Projects, workspace: Workspace, directory: Path | None, never: frozenset[Path]
    ) -> None:
        """`never`: directories that are no projects."""
        self._projects = projects
        self._workspace = workspace
        self._directory = directory
        self._never = never
        self._by_log: dict[str, Project] = {}
        self._by_place: dict[Place, Project] = {}
        self._one = asyncio.Lock()

    def __iter__(self) -> Iterator[Project]:
        """Those that are borrowed by now."""
        return iter(tuple(self._by_log.values()))

    @property
    def watched(self) -> Sequence[Path]:
        """The directories the session works in that may be projects."""
        return [each for each in self._directories() if each not in self._never]

    @property
    def unwatched(self) -> Sequence[Path]:
        """The others."""
        return [each for each in self._directories() if each in self._never]

    async def open(self, session_id: str) -> None:
        """Borrow those with edits of the session, for the user the project's; take over its own log of earlier versions."""
        ids = await asyncio.to_thread(logs_of, self._directory) if self._directory is not None else []
        await self._open_logs(ids)
        if self._directory is not None:
            await self.take_over(session_id, self._directory)

    async def inherit(self, heir: str, source: str, directory: Path) -> None:
        """The session `heir`, this one, goes on where the session `source` is, which keeps its things in `directory`."""
        await self.take_over(source, directory)
        ids = await asyncio.to_thread(logs_of, directory)
        await self._open_logs(ids)
        for log_id in ids:
            project = self._by_log.get(log_id)
            if project is not None:
                await self._note(log_id)
                await project.inherit(heir, source)

    async def of(self, path: Path) -> Project:
        """The one a file belongs to, by its resolved path. Raises OSError, SouldError."""
        place = await asyncio.to_thread(self._projects.place_of, path, self._directories(), self._never)
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
            return project

    async def take_over(self, session_id: str, directory: Path) -> None:
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
            log_id, _ = self._by_log.popitem()
            await self._projects.give_back(log_id)

    async def _open_logs(self, ids: Sequence[str]) -> None:
        if ids or self._directory is None:
            await self.of(self._workspace.root / "any")  # first: that it was moved is known by it
        for log_id in ids:
            async with self._one:
                project = self._by_log.get(log_id) or await self._projects.borrow_log(log_id)
                if project is not None:
                    self._by_log[log_id] = project

    async def _note(self, log_id: str) -> None:
        """Before the first edit of the session is in it."""
        if self._directory is not None:
            await run_shielded_in_thread(add_logs, self._directory, [log_id])

    def _directories(self) -> tuple[Path, ...]:
        return (self._workspace.root, *self._workspace.additional)
