"""All sessions of the daemon as a face sees them: begun, opened, listed and kept, whether they are in memory or not.

What a face gets of a live session is its `SessionPort`, never the session. The port holds nothing and knows no protocol.
"""

from collections.abc import Mapping
from pathlib import Path

from sould.agents.opening.opening import Opening
from sould.agents.sessions.host import SessionHost
from sould.agents.sessions.port import SessionPort
from sould.agents.store.store import Page, SessionStore, StoredSession


class HostPort:
    """The sessions of one daemon."""

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

    async def new(self, opening: Opening) -> SessionPort:
        """Begin a session.

        Raises:
            NoModelError: no model is configured or found in the opening's environment.
            WorkspaceGoneError: the directory does not exist.
        """
        return SessionPort(await self._host.new(opening))

    async def open(self, session_id: str, opening: Opening) -> SessionPort:
        """The live session, or the stored one brought back; what a crash left open is closed honestly (F61).

        Raises:
            SessionNotFoundError, SessionOpenElsewhereError, WorkspaceGoneError, NoModelError
        """
        return SessionPort(await self._host.open(session_id, opening))

    async def fork(self, session_id: str, opening: Opening) -> SessionPort:
        """A new session that begins with everything the other one has said and changed by now.

        Raises:
            As `new` and `open`; JournalFullError: the disk refuses.
        """
        return SessionPort(await self._host.fork(session_id, opening))

    async def detach(self, session_id: str, client_id: str) -> None:
        """A client vanished; the session stays as long as it has work or somebody looks (D12)."""
        await self._host.detach(session_id, client_id)

    async def close(self, session_id: str, client_id: str) -> None:
        """A client closes the session: it is detached; with nobody left, work is cancelled and memory freed."""
        await self._host.close(session_id, client_id)

    # --- stored ones, live or not -------------------------------------------------------------------------------------

    async def find(self, beginning: str) -> StoredSession:
        """The session with this id, or the only one whose id begins so.

        Raises:
            SessionNotFoundError: there is none, or there are several.
        """
        return self._store.begins_with(beginning)

    async def list(self, cwd: Path | None, cursor: str | None, limit: int = 50) -> Page:
        """Stored sessions that are not blank, newest first.

        Raises:
            OptionError: a cursor that is not ours.
        """
        return await self._host.list(cwd, cursor, limit)

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session a title; "" goes back to none.

        Raises:
            SessionNotFoundError: there is none.
        """
        await self._host.rename(session_id, title)

    async def delete(self, session_id: str) -> None:
        """End and remove a session; one that does not exist is already deleted."""
        await self._host.delete(session_id)
