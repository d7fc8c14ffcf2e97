"""All sessions that are kept, live or not: found, listed, read, named, archived and removed."""

import asyncio
import contextlib
import time
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from sould.agents.base.errors import OptionError, SessionNotFoundError, SouldError
from sould.agents.base.gitplaces import branch_of
from sould.agents.journal.log import SessionLog
from sould.agents.journal.pages import Page, find_page, find_plan, stored_records
from sould.agents.sessions.inbox import Inbox
from sould.agents.sessions.livesessions import LiveSessions
from sould.agents.sessions.loopkeeper import LoopKeeper
from sould.agents.sessions.store.conversation import as_markdown
from sould.agents.sessions.store.info import JOURNAL, WeighedSession
from sould.agents.sessions.store.store import (
    Archived,
    InfoPage,
    Origins,
    SessionInfo,
    SessionMatch,
    SessionStore,
    StoredSession,
)
from sould.agents.wire.stream import Cursor, Record


class SessionPages:
    """The conversation of a session in pages, whether it is in memory or not. Opens nothing and needs no lock. Made for one request.

    A page is read from the journal: that of a session which nobody has in memory needs no model, no client and no second of
    anybody's time. What is said while a page is read is behind it, never in its middle.
    """

    def __init__(self, stored: StoredSession, log: SessionLog | None) -> None:
        """`log`: of a session that is in memory."""
        self.info: SessionInfo = stored.info
        self._path = stored.directory / JOURNAL
        self._log = log

    @property
    def live(self) -> bool:
        """The session is in memory."""
        return self._log is not None

    async def find(self, before: int | None, limit: int) -> Page:
        """The page of at least `limit` messages that ends at `before`, which a page after it said, or now.

        Raises:
            OptionError: no page ends there.
            SessionNotFoundError: the session was deleted.
        """
        try:
            return await asyncio.to_thread(find_page, self._path, before, limit)
        except OSError as error:
            raise SessionNotFoundError(
                f"The session's journal {self._path} cannot be read: {error.strerror}."
            ) from error

    async def plan(self, page: Page) -> tuple[Record, ...]:
        """What told the plan that was in force when a page began."""
        try:
            return await asyncio.to_thread(find_plan, self._path, page.start)
        except OSError:
            return ()

    def records(self, page: Page, since: Cursor | None = None) -> Iterator[Record]:
        """From the beginning of a page on, or from `since`, which lies in it or behind, to now.

        Of a session in memory: exhausted, it has caught up, as `SessionLog.replay` has.
        """
        if self._log is not None:
            return self._log.replay(since, page.start)
        return (each for each in stored_records(self._path, page.start) if since is None or Cursor(each.seq) >= since)

    def position(self, last: Record | None) -> Cursor:
        """Where somebody stands who was shown everything, of which `last` was the last."""
        if self._log is not None:
            return self._log.channel.position
        return Cursor(last.seq + 1 if last is not None else 1)


class ListedSession(Struct, frozen=True):
    """One as lists show it: with what git has checked out in its directory ("": not known), and whether it is in memory."""

    info: SessionInfo
    branch: str
    live: bool


class Pruned(Struct, frozen=True):
    """What was removed, or would be, and what stayed, with one sentence why; oldest first."""

    removed: tuple[WeighedSession, ...]
    left: tuple[tuple[WeighedSession, str], ...]


class StoredSessions:
    """Of one daemon. What a session says or is named while it is in memory is taken from there."""

    def __init__(self, store: SessionStore, live: LiveSessions, loops: LoopKeeper, inbox: Inbox) -> None:
        self._store = store
        self._live = live
        self._loops = loops
        self._inbox = inbox

    def find(self, beginning: str) -> StoredSession:
        """The session with this id, or the only one whose id begins so.

        Raises:
            SessionNotFoundError: there is none, or there are several.
        """
        return self._store.begins_with(beginning)

    def get(self, session_id: str) -> StoredSession | None:
        """The session with exactly this id, if there is one."""
        try:
            return self._store.find(session_id)
        except SessionNotFoundError:
            return None

    async def take_in(self, share: Path, cwd: Path, wanted: str) -> None:
        """See `SessionStore.take_in`."""
        await asyncio.to_thread(self._store.take_in, share, cwd, wanted)

    async def list(
        self,
        cwd: Path | None,
        cursor: str | None,
        limit: int = 50,
        *,
        archived: Archived = "exclude",
        origins: Origins = "any",
    ) -> InfoPage:
        """Those that are not blank, newest first.

        Raises:
            OptionError: a cursor that is not ours.
        """
        return await asyncio.to_thread(
            self._store.list, cwd, cursor, limit, used=True, archived=archived, origins=origins
        )

    async def with_branches(self, infos: Iterable[SessionInfo]) -> tuple[ListedSession, ...]:
        """The rows of a list, with the branches."""
        infos = tuple(infos)
        directories = {info.cwd for info in infos}
        found = await asyncio.to_thread(lambda: {each: branch_of(each) for each in directories})
        return tuple(self.row(info, found[info.cwd]) for info in infos)

    def row(self, info: SessionInfo, branch: str = "") -> ListedSession:
        """One row."""
        return ListedSession(info, branch, live=info.id in self._live)

    async def search(
        self,
        query: str,
        cwd: Path | None = None,
        limit: int = 20,
        *,
        archived: bool = False,
        origins: Origins = "any",
    ) -> tuple[SessionMatch, ...]:
        """Those that have every word of `query` in their title or in what user and agent said, newest first.

        `cwd`: only that directory's; `archived`: also those.

        Raises:
            OptionError: the query has no word.
        """
        return await asyncio.to_thread(self._store.search, query, cwd, limit, archived=archived, origins=origins)

    async def markdown(self, session_id: str) -> str:
        """The conversation of a session, for people to read.

        Raises:
            SessionNotFoundError: there is none.
        """
        stored, live = self._store.find(session_id), self._live.get(session_id)
        if live is not None:
            await live.log.commit()
        return await asyncio.to_thread(as_markdown, stored.directory / JOURNAL, heading=True)

    def pages(self, session_id: str) -> SessionPages:
        """The conversation of a session, to be read in pages.

        Raises:
            SessionNotFoundError: there is none.
        """
        live = self._live.get(session_id)
        return SessionPages(self._store.find(session_id), live.log if live is not None else None)

    def rename(self, session_id: str, title: str) -> SessionInfo:
        """Give a session a title, kept as it can be shown; "" goes back to none.

        Raises:
            SessionNotFoundError: there is none.
        """
        live = self._live.get(session_id)
        if live is None:
            return self._store.rename(session_id, title)
        live.parts.entry.rename(title)
        return live.parts.entry.info

    def archive(self, session_id: str, *, archived: bool = True) -> SessionInfo:
        """Take a session out of lists and search, or back into them; the next prompt in it does that, too.

        Raises:
            SessionNotFoundError: there is none.
            JournalFullError: the disk refuses.
        """
        return self._store.archive(session_id, archived=archived)

    async def delete(self, session_id: str) -> None:
        """End and remove a session; one that does not exist is already deleted."""
        async with self._live.lock(session_id):
            live = self._live.get(session_id)
            if live is not None:
                await self._live.unload(live)
            with contextlib.suppress(SessionNotFoundError):
                self._store.delete(session_id)
            self._forget(session_id)

    async def delete_unused(self, session_id: str) -> None:
        """Remove a session that is nowhere open; a large one may take its time, and holds up nobody.

        Raises:
            SessionNotFoundError: there is none.
            SessionOpenElsewhereError: it is in memory, or another process writes to it.
        """
        async with self._live.lock(session_id):
            await self._live.let_go(session_id)
            await asyncio.to_thread(self._store.delete, session_id)
            self._forget(session_id)

    async def require_unused(self, session_id: str) -> None:
        """Raises what `delete_unused` would."""
        async with self._live.lock(session_id):
            await self._live.let_go(session_id)
            self._store.require_unused(session_id)

    def _forget(self, session_id: str) -> None:
        self._loops.forget(session_id)
        self._inbox.forget(session_id)

    async def prune(
        self,
        *,
        older_than: float | None = None,
        larger_than: int | None = None,
        only: Container[str] | None = None,
        dry_run: bool = False,
    ) -> Pruned:
        """Remove the sessions that are old and large enough; never one that is open, here or elsewhere.

        `older_than`: last used so many seconds ago; `larger_than`: bytes; None: any. `only`: of these ids; `dry_run`: nothing
        is removed.

        Raises:
            OptionError: it is said neither how old nor how large.
        """
        if older_than is None and larger_than is None:
            raise OptionError("Choose sessions: how old or how large.")
        before = None if older_than is None else time.time() - older_than
        over = -1 if larger_than is None else larger_than
        weighed = await asyncio.to_thread(self._store.weigh, before, over)
        removed: list[WeighedSession] = []
        left: list[tuple[WeighedSession, str]] = []
        for each in weighed:
            if only is not None and each.info.id not in only:
                continue
            try:
                await (self.require_unused if dry_run else self.delete_unused)(each.info.id)
            except SessionNotFoundError:
                continue  # somebody else was faster
            except SouldError as error:
                left.append((each, error.message))
            else:
                removed.append(each)
        return Pruned(tuple(removed), tuple(left))
