"""The conversation of a session in pages, whether the session is in memory or not. Opens nothing and needs no lock.

A page is read from the journal: that of a session which nobody has in memory needs no model, no client and no second of
anybody's time. What is said while a page is read is behind it, never in its middle.
"""

import asyncio
from collections.abc import Iterator

from sould.agents.base.errors import SessionNotFoundError
from sould.agents.journal.log import JOURNAL, SessionLog
from sould.agents.journal.pages import Page, find_page, find_plan, stored_records
from sould.agents.sessions.store.store import SessionInfo, StoredSession
from sould.agents.wire.stream import Cursor, Record


class SessionPages:
    """One session's. Made for one request."""

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
