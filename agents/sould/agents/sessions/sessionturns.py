"""What clients ask of a session's turns: prompts, steering, cancelling, and going back between turns.

Nothing here runs a turn or waits for a client.
"""

from typing import TypeVar

from msgspec import Struct

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.commands.router import PromptRouter
from sould.agents.sessions.operations.travel import (
    NothingToGoTo,
    Returned,
    Timeline,
    TimeTravel,
    TookKeptBack,
    TravelResult,
    WentBack,
    travelled,
)
from sould.agents.sessions.turns.approval_requests import Standstill
from sould.agents.sessions.turns.operating import OperationWork
from sould.agents.sessions.turns.sidequestions import SideQuestions
from sould.agents.sessions.turns.turns import Prompt, Turns
from sould.agents.soul.soul import Soul
from sould.agents.wire.content import UserInput
from sould.agents.wire.notice import notice

ResultT = TypeVar("ResultT")
TravelT = TypeVar("TravelT", bound=TravelResult)


class SessionTurns(Struct, frozen=True, eq=False):
    """Of one session."""

    _router: PromptRouter
    _turns: Turns
    _standstill: Standstill
    _side_questions: SideQuestions
    _soul: Soul
    _config: LiveConfig

    @property
    def running(self) -> bool:
        """A turn runs."""
        return self._turns.current is not None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """What is asked now: the running turn's prompt, and those that wait."""
        return (*((self._turns.current,) if self._turns.current else ()), *self._turns.queue)

    @property
    def resumed(self) -> Prompt | None:
        """The turn that was begun before the daemon stopped and now goes on."""
        return next((prompt for prompt in self.prompts if prompt.resumes), None)

    @property
    def busy(self) -> int:
        """How many turns and operations run or wait."""
        return len(self.prompts) + self._turns.operating

    @property
    def to_finish(self) -> int:
        """How many of those would be interrupted if the daemon ended now: a turn that only waits for a person goes on (D16).

        What is queued behind that one cannot begin either.
        """
        return 0 if self.running and not self._turns.operating and self._standstill.reached() else self.busy

    def prompt(self, user_input: UserInput, client_id: str) -> Prompt:
        """Ask for a turn; it is queued behind a running one. Synchronous, so that a cancel right behind finds it.

        What cannot wait is no turn, and is answered at once.
        """
        if (taken := self._router.take(user_input, client_id)) is not None:
            return taken
        prompt = Prompt(user_input, client_id, command=self._router.is_command(user_input))
        self._turns.submit(prompt)
        return prompt

    def steer(self, user_input: UserInput) -> bool:
        """Give the running turn more input, delivered before its next step. False when nothing runs."""
        if not self.running:
            return False
        self._soul.steer(user_input)
        return True

    def not_taken(self, user_input: UserInput) -> str:
        """Which media of a prompt the model does not take, as a clause; "" where it takes all of it."""
        return self._soul.not_taken(user_input)

    def cancel(self, client_id: str | None) -> None:
        """Cancel the running turn, whoever asked for it, and what waits of this client (of everybody for None) (D12)."""
        self._turns.cancel(client_id)
        self._side_questions.cancel(client_id)

    async def between(self, client_id: str, work: OperationWork[ResultT]) -> ResultT:
        """Do what is no turn while none runs; see `Turns.between`."""

        async def looked() -> ResultT:
            self._config.look()
            return await work()

        return await self._turns.between(client_id, looked)


class SessionTravel(Struct, frozen=True, eq=False):
    """Going back in one session and returning, as operations that wait for the running turn. All clients are told.

    They come before the prompts that wait. All raise OperationCancelledError when the client cancels before they have
    begun, or the session ends, and JournalFullError when the disk refuses.
    """

    _turns: SessionTurns
    _travel: TimeTravel
    _log: SessionLog

    def timeline(self) -> Timeline:
        """The places to go back to, as things are now."""
        return self._travel.timeline()

    async def rewind(self, checkpoint: int, client_id: str) -> WentBack | NothingToGoTo:
        """Context and files as they were at a checkpoint."""
        return await self._between(client_id, lambda: self._travel.rewind(checkpoint))

    async def undo(self, client_id: str, *, kept: bool = False) -> WentBack | TookKeptBack | NothingToGoTo:
        """To before the last turn, or to before a clearing since which there was none; `kept`: see `TimeTravel.undo`."""
        return await self._between(client_id, lambda: self._travel.undo(kept=kept))

    async def redo(self, client_id: str) -> Returned | NothingToGoTo:
        """To where the last undo or rewind left from, as long as nobody went on from there."""
        return await self._between(client_id, self._travel.redo)

    async def _between(self, client_id: str, work: OperationWork[TravelT]) -> TravelT:
        async def travel() -> TravelT:
            done = await work()
            if not isinstance(done, NothingToGoTo):
                self._log.publish(notice("history", *travelled(done)))
                await self._log.commit()
            return done

        return await self._turns.between(client_id, travel)
