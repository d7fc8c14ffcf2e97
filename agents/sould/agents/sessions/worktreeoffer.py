"""A second session in a project whose first one is at work is told so, and that it may work in a worktree of its own (D42).

Once for each session that is at work, and to people only. It never makes one.
"""

import asyncio
import os
from pathlib import Path

from msgspec import Struct

from sould.agents.base.errors import SessionNotFoundError
from sould.agents.base.gitplaces import is_work_tree
from sould.agents.files.edits.ownership import ALONE, never_projects
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.services import SessionServices
from sould.agents.sessions.settings.seen_notices import ToldOnce
from sould.agents.sessions.store.info import SessionInfo
from sould.agents.wire.notice import notice

_BODY = (
    "Both change the same files, and see what the other has changed. To work apart: /worktree goes on in a git worktree of its "
    "own, where nothing of this one arrives before you bring it over."
)


class WorktreeOffer(Struct, frozen=True):
    """To one session."""

    services: SessionServices
    log: SessionLog

    async def make(self) -> None:
        """Say it, where it holds."""
        if not self.services.permission.presence.present:
            return
        found = await asyncio.to_thread(self._first_at_work)
        if found is not None:
            name = found.title or found.id
            self.log.publish(notice("worktree", f"“{name}” is at work in this project, too", _BODY))

    def _first_at_work(self) -> SessionInfo | None:
        """Another session of which a turn runs in the same repository, and of which nobody was told. Blocks."""
        others = sorted(self.services.host.files.projects.at_work - {self.services.session_id})
        root = self._root(self.services.workplace.opening.cwd) if others else ALONE
        if not is_work_tree(root):
            return None
        store, told = self.services.host.storage.store, ToldOnce(self.services.host.storage.directory / "told.json")
        for session_id in others:
            try:
                info = store.find(session_id).info
            except SessionNotFoundError:
                continue
            if self._root(info.cwd) == root:
                return info if told.is_news("worktree", root, session_id) else None
        return None

    def _root(self, directory: Path) -> Path:
        never = never_projects(self.services.workplace.environment.home)
        real = Path(os.path.realpath(directory))
        try:
            return self.services.host.files.projects.place_of(real / "any", (real,), never).root
        except OSError:
            return ALONE
