"""The sessions in memory, and how one leaves it: whoever opens, closes or deletes a session holds its lock meanwhile."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from weakref import WeakValueDictionary

from sould.agents.base.errors import SessionOpenElsewhereError
from sould.agents.base.workspace import TextFiles
from sould.agents.sessions.session import Session

OPEN = "The session is open; close it first."


class LiveSessions(Mapping[str, Session]):
    """Of one daemon, by id, as they are now."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __getitem__(self, session_id: str) -> Session:
        return self._sessions[session_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sessions)

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, session: Session) -> None:
        """It is in memory from now on."""
        self._sessions[session.id] = session

    def remove(self, session_id: str) -> None:
        """It has ended."""
        self._sessions.pop(session_id, None)

    def lock(self, session_id: str) -> asyncio.Lock:
        """One for each id, of live sessions and stored ones; one that nobody holds costs nothing."""
        return self._locks.setdefault(session_id, asyncio.Lock())

    def client_files(self, directory: Path) -> Mapping[str, TextFiles]:
        """What clients of sessions there, above or below read and write through, by client, the newest last.

        They are editors that cannot say what they have open (D44).
        """
        found: dict[str, TextFiles] = {}
        for session in self._sessions.values():
            cwd = session.info.directory
            if cwd.is_relative_to(directory) or directory.is_relative_to(cwd):
                found |= session.client_files
        return found

    async def unload(self, session: Session, *, for_good: bool = False) -> None:
        """End it, whatever it does. Whoever calls this holds its lock."""
        await session.aclose(for_good=for_good)
        await session.closed.wait()

    async def unload_unused(self, session: Session) -> None:
        """End it if nobody uses it any more."""
        async with self.lock(session.id):
            if session.unused and not session.closed.is_set():
                await self.unload(session)

    async def let_go(self, session_id: str) -> None:
        """End it, which takes a moment, unless somebody looks at it or something of it runs. Whoever calls this holds its lock.

        Raises:
            SessionOpenElsewhereError: it is in use.
        """
        live = self._sessions.get(session_id)
        if live is not None and not live.closed.is_set():
            if not live.unused:
                raise SessionOpenElsewhereError(OPEN)
            await self.unload(live)
