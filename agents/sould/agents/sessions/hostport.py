"""All sessions of the daemon as a frontend sees them: begun, opened, listed and kept, whether they are in memory or not.

What a frontend gets of a live session is its `SessionPort`, never the session. The port holds nothing and knows no protocol.
"""

import asyncio
import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sould.agents.base.errors import OptionError
from sould.agents.files.projects.port import ProjectPort
from sould.agents.sessions.host import SessionHost
from sould.agents.sessions.port import SessionPort
from sould.agents.sessions.services import HostServices
from sould.agents.sessions.store.imported.finding import Agent, read_kept, title_of, turns_of
from sould.agents.sessions.store.imported.shape import ImportedConversation
from sould.agents.sessions.store.kimilayout import note_latest
from sould.agents.soul.session_request import SessionRequest

if TYPE_CHECKING:
    from sould.agents.sessions.editor_mcp import OtherAgents
    from sould.agents.sessions.findfiles import FileFinder


class HostPort:
    """The sessions of one daemon, and its projects. Parts that frontends use as they are, are public."""

    def __init__(self, host: SessionHost, services: HostServices) -> None:
        self._host = host
        self._services = services
        self._finder: FileFinder | None = None
        self.stored = host.stored
        """All sessions that are kept, live or not."""
        self.inbox = host.inbox
        """What waits for a person, in live sessions and stored ones."""
        self.worktrees = host.worktrees
        """Git worktrees that sessions have of their own."""
        self.editors = services.editors
        """Who can serve editor tools; an editor's client joins and leaves here."""
        self.languages = services.languages
        """The daemon's own language servers."""

    @property
    def sessions(self) -> Mapping[str, SessionPort]:
        """The live sessions by id, as they are now."""
        return {key: SessionPort(session) for key, session in self._host.sessions.items()}

    def live(self, session_id: str) -> SessionPort | None:
        """The session if it is in memory."""
        session = self._host.sessions.get(session_id)
        return SessionPort(session) if session is not None else None

    async def require_model(self, opening: SessionRequest) -> None:
        """For clients that have their user sign in first: a session opens without a model, too.

        Raises:
            NoModelError: no model is configured or found in the opening's environment, or there is no key for it.
        """
        await self._host.require_model(opening)

    async def new(self, opening: SessionRequest) -> SessionPort:
        """Begin a session.

        Raises:
            WorkspaceGoneError: the directory does not exist.
            WorktreeError: it is to have a worktree of its own, and cannot.
        """
        return SessionPort(await self._host.new(opening))

    async def open(self, session_id: str, opening: SessionRequest) -> SessionPort:
        """The live session, or the stored one brought back; what a crash left open is closed honestly.

        Raises:
            SessionNotFoundError, SessionOpenElsewhereError, WorkspaceGoneError
        """
        return SessionPort(await self._host.open(session_id, opening))

    async def open_for_kimi(
        self, share: Path, opening: SessionRequest, session_id: str, *, latest: bool
    ) -> SessionPort:
        """The session that a command line of kimi-cli's means; "" and not `latest`: a new one. One that there is not begins.

        `share` is kimi's own directory, where new ones are kept and old ones are found.

        Raises:
            As `new` and `open`; OptionError: there is no latest one, or there can be none with this id.
        """
        opening = replace(opening, cwd=Path(os.path.abspath(opening.cwd)))
        async with self._host.sessions.lock(session_id):
            await self.stored.take_in(share, opening.cwd, session_id)
            if latest:
                page = await self.stored.list(opening.cwd, None, 1)
                if not page.items:
                    raise OptionError(
                        f"There is no session in {opening.cwd} to continue; start one without --continue."
                    )
                session_id = page.items[0].id
            stored = self.stored.get(session_id)
            if stored is None:
                return SessionPort(await self._host.new(opening, session_id=session_id, share=share))
        if opening.cwd == stored.info.cwd or opening.cwd.resolve() == stored.info.directory:
            return SessionPort(await self._host.open(session_id, opening))
        raise OptionError(f"There is a session {session_id} in {stored.info.cwd}; choose another id here.")

    async def note_latest(self, share: Path, session: SessionPort) -> None:
        """Let kimi-cli know that this session was used last in its directory; `share`: see `open_for_kimi`."""
        await asyncio.to_thread(note_latest, share, session.info.cwd, session.id)

    async def fork(self, session_id: str, opening: SessionRequest) -> SessionPort:
        """A new session that begins with everything the other one has said and changed by now.

        Raises:
            As `new` and `open`; JournalFullError: the disk refuses.
        """
        return SessionPort(await self._host.fork(session_id, opening))

    async def import_session(
        self, opening: SessionRequest, path: Path, agent: Agent | None
    ) -> tuple[SessionPort, ImportedConversation]:
        """A new session that begins with a conversation of another agent, and what was read of that.

        Raises:
            As `new`; OptionError: the file holds none.
        """
        found = await asyncio.to_thread(read_kept, path, agent)
        session = await self._host.new(opening)
        for message in turns_of(found):
            session.log.publish(message)
        await session.log.commit()
        turns = sum(each.who == "user" for each in found.said)
        session.parts.entry.import_from(turns, found.began)
        self.stored.rename(session.id, f"{title_of(found)} (from {found.agent})".strip())
        return SessionPort(session), found

    async def detach(self, session_id: str, client_id: str) -> None:
        """A client vanished; the session stays as long as it has work or somebody looks (D12)."""
        await self._host.detach(session_id, client_id)

    async def close(self, session_id: str, client_id: str) -> None:
        """A client closes the session: it is detached; with nobody left, work is cancelled and memory freed."""
        await self._host.close(session_id, client_id)

    @property
    def other_agents(self) -> "OtherAgents":
        """Editor tools for agents that are not ours, in any project."""
        from sould.agents.sessions.editor_mcp import OtherAgents  # noqa: PLC0415 -- hardly any daemon has one

        return OtherAgents(self._services, self._host.sessions)

    @property
    def finder(self) -> "FileFinder":
        """Who finds files by their names, in any directory."""
        if self._finder is None:
            from sould.agents.sessions.findfiles import FileFinder  # noqa: PLC0415 -- only panels ask

            self._finder = FileFinder(self._services)
        return self._finder

    # --- projects, with sessions or without ---------------------------------------------------------------------------

    async def project_root(self, path: Path, home: Path) -> Path:
        """The root of the project that a file or a directory belongs to: see `ProjectPort.root_of`."""
        return await asyncio.to_thread(ProjectPort.root_of, self._services.files.projects, path, home)

    @property
    def pending_hunks(self) -> Mapping[Path, int]:
        """How many hunks are to be reviewed in each project that is open."""
        return {review.root: review.count for review in self._services.files.projects.open_reviews}

    def project(self, root: Path, home: Path, client_id: str) -> AbstractAsyncContextManager[ProjectPort]:
        """A project for a client, as long as the block lasts. Raises as `ProjectPort.opened`."""
        return ProjectPort.opened(self._services.files.projects, root, home, client_id)
