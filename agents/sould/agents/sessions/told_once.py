"""What the user is told once for each project: instructions the model was not given, tools that are gone, worktrees."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.base.config import Hook
from sould.agents.base.errors import SessionNotFoundError
from sould.agents.base.gitplaces import is_work_tree
from sould.agents.files.edits.ownership import ALONE, never_projects
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.services import SessionServices
from sould.agents.sessions.settings.seen_notices import ToldOnce
from sould.agents.sessions.store.info import SessionInfo
from sould.agents.soul.projectinstructions import LeftOut, Waits, project_instructions
from sould.agents.soul.spec import AgentSpec
from sould.agents.toolapi.loading import RETIRED_TOOLS
from sould.agents.wire.notice import notice

_OFFER = (
    "Both change the same files, and see what the other has changed. To work apart: /worktree goes on in a git worktree of its "
    "own, where nothing of this one arrives before you bring it over."
)
_NOW: Final = "UserPromptSubmit"
"""The event before which this is said."""
MOST_NAMED: Final = 10
"""Files in one notice."""
TITLE: Final = "Not all instructions of this project were given to the model"
_BODY: Final = (
    "sould reads AGENTS.md: from the top of the project down to where the session works, "
    "and of folders whose files it works with."
)


class UnreadInstructions(Struct, frozen=True):
    """Tells the user of one session, which works in `cwd`. `told`: what sessions of this project said before."""

    log: SessionLog
    told: ToldOnce
    cwd: Path
    waits: Waits

    @classmethod
    def of(cls, services: SessionServices, log: SessionLog) -> "UnreadInstructions":
        """Of this session."""
        told = ToldOnce(services.host.storage.directory / "told.json")
        return cls(log, told, services.workplace.opening.cwd, services.workplace.waits)

    async def tell_of_project(self) -> None:
        """Of those that the system prompt is made of."""
        await self.tell((await asyncio.to_thread(project_instructions, self.cwd, self.waits)).left_out)

    async def tell(self, left_out: Sequence[LeftOut]) -> None:
        """Say what was not said before."""
        news = await asyncio.to_thread(self._news, left_out) if left_out else ()
        if news:
            body = "\n".join((*_lines(news), _BODY))
            self.log.publish(notice("instructions", TITLE, body, severity="warning"))

    def _news(self, left_out: Sequence[LeftOut]) -> Sequence[LeftOut]:
        """Blocks."""
        return [each for each in left_out if self.told.is_news(f"instructions {each.name}", self.cwd, each.why)]


def _lines(left_out: Sequence[LeftOut]) -> Iterator[str]:
    yield from (f"- `{each.name}`: {each.why}." for each in left_out[:MOST_NAMED])
    if len(left_out) > MOST_NAMED:
        yield f"- and {len(left_out) - MOST_NAMED} more"


class RetiredTools(Struct, frozen=True):
    """Tells the user of one session."""

    services: SessionServices
    log: SessionLog

    async def tell(self, spec: AgentSpec) -> None:
        """Of the session's agent and its hooks, what was not said before."""
        lines = tuple(_retired_lines(spec, self.services.hooks.commands(_NOW)))
        if body := "\n".join(await asyncio.to_thread(self._news, lines) if lines else ()):
            self.log.publish(notice("agent", "A tool that is named is not there any more", body, severity="warning"))

    def _news(self, lines: Sequence[str]) -> Sequence[str]:
        """Blocks."""
        told, cwd = ToldOnce(self.services.host.storage.directory / "told.json"), self.services.workplace.opening.cwd
        return [line for line in lines if told.is_news(f"retired {line}", cwd, line)]


def _retired_lines(spec: AgentSpec, hooks: Iterable[Hook]) -> Iterator[str]:
    matchers = [each.matcher for each in hooks]
    for path, instead in RETIRED_TOOLS.items():
        name = path.rpartition(":")[2]
        if spec.retired():
            yield f"- `{spec.document.path}` names {name}, which is ignored: {instead}."
        for matcher in matchers:
            if name in matcher:
                yield f"- The matcher `{matcher}` of a hook names {name}, which is never called: {instead}."


class WorktreeOffer(Struct, frozen=True):
    """To one session."""

    services: SessionServices
    log: SessionLog

    async def make(self) -> None:
        """Say it, where it holds."""
        if not self.services.permission.presence():
            return
        found = await asyncio.to_thread(self._first_at_work)
        if found is not None:
            name = found.title or found.id
            self.log.publish(notice("worktree", f"“{name}” is at work in this project, too", _OFFER))

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
