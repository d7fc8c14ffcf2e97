"""Taking up loops that the end of a daemon cut off: with the environment of a client of their project, or without one.

Without a client only those whose model's key is stored go on (D14); the others wait, because the environment of a
project is never kept. A loop that runs, or is about to, is never taken up twice.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from sould.agents.base.errors import SessionNotFoundError, SouldError, WorkspaceGoneError
from sould.agents.llm.given import is_given
from sould.agents.sessions.loops.request import is_about_loops
from sould.agents.sessions.loops.state import LoopState, LoopStore
from sould.agents.sessions.services import ModelAccess, Storage
from sould.agents.sessions.session import Session
from sould.agents.sessions.settings.state import load_state
from sould.agents.soul.session_request import SessionRequest

logger = logging.getLogger(__name__)

RESUME = "/loop resume"


OpenSession: TypeAlias = Callable[[str, SessionRequest], Awaitable[Session]]
"""Brings a stored session back."""


class LoopKeeper:
    """The loops of all sessions of a host, as far as they wait."""

    def __init__(
        self,
        storage: Storage,
        models: ModelAccess,
        sessions: Mapping[str, Session],
        open_session: OpenSession,
    ) -> None:
        """`sessions` are the live ones; `open_session` brings a stored one back."""
        self._store = storage.store
        self._models = models
        self._sessions = sessions
        self._open = open_session
        self._loops = LoopStore(storage.directory / "loops")
        self._taken_up: set[str] = set()
        self._cut_off: set[str] | None = None
        """Sessions whose loop the last daemon left running: later on none comes to wait."""

    def of_project(self, cwd: Path) -> tuple[LoopState, ...]:
        """Loops of a project that wait for its environment."""
        return tuple(loop for loop in self._waiting() if loop.cwd.resolve() == cwd.resolve())

    async def by_themselves(self, environment: Mapping[str, str]) -> tuple[LoopState, ...]:
        """Loops that wait and need no client: their model can be asked with a stored key."""
        stored = self._models.stored_keys()
        if not stored:
            return ()
        models = await self._models.providers.models(environment)
        found: list[LoopState] = []
        for loop in self._waiting():
            wanted = self._model_of(loop.session_id)
            model = next((model for model in models if model.key == wanted), models[0] if models else None)
            if model is not None and model.provider in stored:
                found.append(loop)
        return tuple(found)

    async def take_up(self, loop: LoopState, opening: SessionRequest) -> None:
        """Go on with a loop; one that cannot is said to wait or to be paused, and why is in the log."""
        session_id = loop.session_id
        if session_id in self._taken_up:
            return
        self._taken_up.add(session_id)
        try:
            session = await self._open(session_id, opening)
            if session.turns.resumed is not None:  # a turn that waited for approvals goes on before its loop does
                await session.turns.resumed.outcome()
                session = await self._open(session_id, opening)
            now = self._loops.load(session_id)
            if now is not None and now.status == "running" and not self._runs(session):
                session.turns.prompt(RESUME, "")
        except SouldError as error:
            logger.warning("the loop of session %s cannot go on: %s", session_id, error.message)
            if isinstance(error, WorkspaceGoneError):
                loop.settle("paused", error.message)
                self._loops.save(loop)
        finally:
            self._taken_up.discard(session_id)

    def forget(self, session_id: str) -> None:
        """The session is gone, and its loop with it."""
        self._loops.delete(session_id)

    def _waiting(self) -> tuple[LoopState, ...]:
        if self._cut_off is None:
            self._cut_off = {loop.session_id for loop in self._loops.list() if loop.status == "running"}
        found = [loop for session_id in self._cut_off if (loop := self._of_a_session(session_id)) is not None]
        return tuple(
            loop
            for loop in found
            if loop.status == "running"
            and not self._goes_on(loop.session_id)
            and not self._lacks_server(loop.session_id)
        )

    def _lacks_server(self, session_id: str) -> bool:
        """Its model is of a server that a client gave, and that client has not opened it again."""
        return session_id not in self._sessions and is_given(self._model_of(session_id) or "")

    def _of_a_session(self, session_id: str) -> LoopState | None:
        """A loop whose session was removed behind our back goes, too."""
        try:
            self._store.find(session_id)
        except SessionNotFoundError:
            self._loops.delete(session_id)
        return self._loops.load(session_id)

    def _goes_on(self, session_id: str) -> bool:
        live = self._sessions.get(session_id)
        return session_id in self._taken_up or (live is not None and self._runs(live))

    @staticmethod
    def _runs(session: Session) -> bool:
        return session.loops.running or any(is_about_loops(prompt.user_input) for prompt in session.turns.prompts)

    def _model_of(self, session_id: str) -> str | None:
        try:
            stored = self._store.find(session_id)
        except SouldError:
            return None
        return load_state(stored.directory).model
