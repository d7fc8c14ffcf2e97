"""All sessions of the daemon as a frontend sees them: begun, opened, listed and kept, whether they are in memory or not.

What a frontend gets of a live session is its `SessionPort`, never the session. The port holds nothing and knows no protocol.
"""

import asyncio
import time
from collections.abc import Container, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.errors import OptionError, SessionNotFoundError, SouldError
from sould.agents.base.gitplaces import branch_of
from sould.agents.files.projects.port import ProjectPort
from sould.agents.sessions.host import SessionHost
from sould.agents.sessions.importing import turns_of
from sould.agents.sessions.inbox import Inbox
from sould.agents.sessions.ownworktrees import OwnWorktrees
from sould.agents.sessions.pages import SessionPages
from sould.agents.sessions.port import SessionPort
from sould.agents.sessions.store.conversation import as_markdown
from sould.agents.sessions.store.imported.finding import Agent, Kept, kept_for, read_kept, title_of
from sould.agents.sessions.store.imported.shape import ImportedConversation
from sould.agents.sessions.store.info import JOURNAL
from sould.agents.sessions.store.store import (
    InfoPage,
    SessionInfo,
    SessionMatch,
    SessionStore,
    StoredSession,
    WeighedSession,
)
from sould.agents.soul.session_request import SessionRequest
from sould.agents.tools.editor.routing import EditorBackends

if TYPE_CHECKING:
    from sould.agents.sessions.editor_mcp import OtherAgents
    from sould.agents.sessions.findfiles import FileFinder
    from sould.agents.tools.languageservers.backend import RunningServer


class PruneRule(Struct, frozen=True):
    """Which sessions may go: last used more than `older_than` seconds ago and larger than so many bytes; None: any."""

    older_than: float | None = None
    larger_than: int | None = None


class NotPruned(Struct, frozen=True):
    """A session that the rule meets and that stays, with one sentence why."""

    session: WeighedSession
    reason: str


class Pruned(Struct, frozen=True):
    """What was removed, or would be, and what stayed; oldest first."""

    removed: tuple[WeighedSession, ...]
    left: tuple[NotPruned, ...]


class HostPort:
    """The sessions of one daemon, in two groups: the live ones, and all that are stored, live or not; and the projects."""

    def __init__(self, host: SessionHost, store: SessionStore) -> None:
        self._host = host
        self._store = store

    # --- live ones --------------------------------------------------------------------------------------------------

    @property
    def sessions(self) -> Mapping[str, SessionPort]:
        """The live sessions by id, as they are now."""
        return {key: SessionPort(session) for key, session in self._host.sessions.items()}

    def live(self, session_id: str) -> SessionPort | None:
        """The session if it is in memory."""
        session = self._host.live(session_id)
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

    async def fork(self, session_id: str, opening: SessionRequest) -> SessionPort:
        """A new session that begins with everything the other one has said and changed by now.

        Raises:
            As `new` and `open`; JournalFullError: the disk refuses.
        """
        return SessionPort(await self._host.fork(session_id, opening))

    async def kept_elsewhere(self, opening: SessionRequest) -> tuple[Kept, ...]:
        """What other agents keep of conversations about the opening's directory."""
        return await asyncio.to_thread(kept_for, opening.cwd, opening.environment)

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
        session.entry.continue_from(replace(session.entry.info, turns=turns))
        await self._host.rename(session.id, f"{title_of(found)} (from {found.agent})".strip())
        return SessionPort(session), found

    async def detach(self, session_id: str, client_id: str) -> None:
        """A client vanished; the session stays as long as it has work or somebody looks (D12)."""
        await self._host.detach(session_id, client_id)

    async def close(self, session_id: str, client_id: str) -> None:
        """A client closes the session: it is detached; with nobody left, work is cancelled and memory freed."""
        await self._host.close(session_id, client_id)

    @property
    def inbox(self) -> Inbox:
        """What waits for a person, in live sessions and stored ones."""
        return self._host.inbox

    @property
    def editors(self) -> EditorBackends:
        """Who can serve editor tools; an editor's client joins and leaves here."""
        return self._host.editors

    @property
    def language_servers(self) -> "tuple[RunningServer, ...]":
        """Those that run now, for projects that are trusted."""
        return self._host.language_servers

    @property
    def other_agents(self) -> "OtherAgents":
        """Editor tools for agents that are not ours, in any project."""
        return self._host.other_agents

    @property
    def worktrees(self) -> OwnWorktrees:
        """Git worktrees that sessions have of their own."""
        return self._host.worktrees

    @property
    def finder(self) -> "FileFinder":
        """Who finds files by their names, in any directory."""
        return self._host.finder

    # --- projects, with sessions or without ---------------------------------------------------------------------------

    async def project_root(self, path: Path, home: Path) -> Path:
        """The root of the project that a file or a directory belongs to: see `ProjectPort.root_of`."""
        return await asyncio.to_thread(ProjectPort.root_of, self._host.projects, path, home)

    @property
    def pending_hunks(self) -> Mapping[Path, int]:
        """How many hunks are to be reviewed in each project that is open."""
        return {review.root: review.count for review in self._host.projects.open_reviews}

    def project(self, root: Path, home: Path, client_id: str) -> AbstractAsyncContextManager[ProjectPort]:
        """A project for a client, as long as the block lasts. Raises as `ProjectPort.opened`."""
        return ProjectPort.opened(self._host.projects, root, home, client_id)

    # --- stored ones, live or not -------------------------------------------------------------------------------------

    async def find(self, beginning: str) -> StoredSession:
        """The session with this id, or the only one whose id begins so.

        Raises:
            SessionNotFoundError: there is none, or there are several.
        """
        return self._store.begins_with(beginning)

    async def list(self, cwd: Path | None, cursor: str | None, limit: int = 50, *, archived: bool = False) -> InfoPage:
        """Stored sessions that are not blank, newest first; `archived`: also those.

        Raises:
            OptionError: a cursor that is not ours.
        """
        return await self._host.list(cwd, cursor, limit, archived=archived)

    async def branches(self, directories: Iterable[Path]) -> Mapping[Path, str]:
        """What git has checked out in each of these directories; only those where that is known."""
        found = await asyncio.to_thread(lambda: {each: branch_of(each) for each in set(directories)})
        return {directory: branch for directory, branch in found.items() if branch}

    async def search(
        self, query: str, cwd: Path | None = None, limit: int = 20, *, archived: bool = False
    ) -> tuple[SessionMatch, ...]:
        """Sessions that have every word of `query` in their title or in what user and agent said, newest first.

        `cwd`: only that directory's; `archived`: also those.

        Raises:
            OptionError: the query has no word.
        """
        return await asyncio.to_thread(self._store.search, query, cwd, limit, archived=archived)

    async def markdown(self, session_id: str) -> str:
        """The conversation of a session, live or stored, for people to read.

        Raises:
            SessionNotFoundError: there is none.
        """
        stored, live = self._store.find(session_id), self._host.live(session_id)
        if live is not None:
            await live.log.commit()
        return await asyncio.to_thread(as_markdown, stored.directory / JOURNAL, heading=True)

    def pages(self, session_id: str) -> SessionPages:
        """The conversation of a session, live or stored, to be read in pages.

        Raises:
            SessionNotFoundError: there is none.
        """
        live = self._host.live(session_id)
        return SessionPages(self._store.find(session_id), live.log if live is not None else None)

    async def rename(self, session_id: str, title: str) -> SessionInfo:
        """Give a session a title, kept as it can be shown; "" goes back to none.

        Raises:
            SessionNotFoundError: there is none.
        """
        return await self._host.rename(session_id, title)

    async def archive(self, session_id: str, *, archived: bool = True) -> SessionInfo:
        """Take a session out of lists and search, or back into them; the next prompt in it does that, too.

        Raises:
            SessionNotFoundError: there is none.
            JournalFullError: the disk refuses.
        """
        return await self._host.archive(session_id, archived=archived)

    async def delete(self, session_id: str) -> None:
        """End and remove a session; one that does not exist is already deleted."""
        await self._host.delete(session_id)

    async def prune(self, rule: PruneRule, *, only: Container[str] | None = None, dry_run: bool = False) -> Pruned:
        """Remove the sessions that are old and large enough; never one that is open, here or elsewhere.

        `only`: of these ids; `dry_run`: nothing is removed.

        Raises:
            OptionError: the rule says neither how old nor how large.
        """
        if rule.older_than is None and rule.larger_than is None:
            raise OptionError("Choose sessions: how old or how large.")
        before = None if rule.older_than is None else time.time() - rule.older_than
        over = -1 if rule.larger_than is None else rule.larger_than
        weighed = await asyncio.to_thread(self._store.weigh, before, over)
        removed: list[WeighedSession] = []
        left: list[NotPruned] = []
        for each in weighed:
            if only is not None and each.info.id not in only:
                continue
            try:
                await (self._host.require_unused if dry_run else self._host.delete_unused)(each.info.id)
            except SessionNotFoundError:
                continue  # somebody else was faster
            except SouldError as error:
                left.append(NotPruned(each, error.message))
            else:
                removed.append(each)
        return Pruned(tuple(removed), tuple(left))
