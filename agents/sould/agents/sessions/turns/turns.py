"""The turns of one session: one at a time, in the order they were asked for, each ended exactly once.

A turn belongs to the session, not to the client that asked (D12). Whatever happens in it, its `TurnEnd` is published
and on disk before the prompt is answered.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct, field

from sould.agents.base.errors import JournalFullError, SouldError, as_disk_full
from sould.agents.base.tasks import shared
from sould.agents.journal.log import SessionLog
from sould.agents.journal.turnusage import COUNTED, TurnUsage
from sould.agents.llm.pictures import with_fitting_pictures
from sould.agents.sessions.turns.operating import Operation, OperationCancelledError, OperationWork
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import new_turn_id
from sould.agents.toolapi.background import Rested
from sould.agents.wire.content import UserInput
from sould.agents.wire.messages import PromptQueued, StopReason, TurnBegin, TurnEnd, TurnError

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

INTERRUPTED = "sould was stopped in the middle of this turn; what was shown is kept. See how far it got, then continue."
NOT_BEGUN = "sould was stopped before this prompt was started. Send it again."


def not_begun(turn_id: str) -> TurnEnd:
    """The end of a prompt that waited when sould was stopped; no turn, so it is never published."""
    return TurnEnd(turn_id=turn_id, stop_reason="interrupted", error=TurnError(kind="interrupted", message=NOT_BEGUN))


def _future() -> "asyncio.Future[TurnEnd]":
    return asyncio.get_running_loop().create_future()


TurnEnded: TypeAlias = Callable[[], None]
"""Called when nothing of a prompt's turn runs any more, before the turn's end is published."""


RunTurn: TypeAlias = "Callable[[Prompt], Awaitable[Ending]]"
"""Does a turn's work, and says why it ended. Cancelling it ends the turn."""


class Prompt(Struct, eq=False):
    """One request for a turn. `resumes`: the turn was begun before the daemon stopped, so it has no `TurnBegin` of its own.

    `command`: a slash command, no part of the model's context.
    """

    user_input: UserInput
    client_id: str
    turn_id: str = field(default_factory=new_turn_id)
    command: bool = False
    resumes: bool = False
    cancelled: bool = False
    on_end: TurnEnded | None = None
    _settled: "asyncio.Future[TurnEnd]" = field(default_factory=_future)

    @classmethod
    def answered(cls, user_input: UserInput, client_id: str) -> "Prompt":
        """One that was no turn: what it asked for is done already."""
        prompt = cls(user_input, client_id, command=True)
        prompt.settle(TurnEnd(turn_id=prompt.turn_id))
        return prompt

    async def outcome(self) -> TurnEnd:
        """The turn's end, after it is on disk. Cancelling the wait does not cancel the turn."""
        return await shared(self._settled)

    def cancel(self) -> None:
        """Its turn ends as cancelled, also one that has not begun."""
        self.cancelled = True

    def edit(self, user_input: UserInput, *, command: bool) -> None:
        """It says something else; it has not begun."""
        self.user_input, self.command = user_input, command

    def settle(self, end: TurnEnd) -> None:
        """Answer whoever waits; the first end counts."""
        if not self._settled.done():
            self._settled.set_result(end)


class Turns:
    """The queue and the running turn."""

    def __init__(self, log: SessionLog, rested: Rested) -> None:
        """`rested` is told when no turn runs or waits any more."""
        self._log = log
        self._usage = TurnUsage(log.recovery.open_usage)
        log.channel.listen(COUNTED, lambda record: self._usage.apply(record.message))
        self._rested = rested
        self._waiting: deque[Prompt] = deque()
        self._operations: deque[Operation[Any]] = deque()
        """The first one runs, or is next."""
        self._wake = asyncio.Event()
        self._task: asyncio.Task[Ending] | None = None
        self._stop_as: StopReason = "cancelled"
        self._closed = False
        self._handing_over = False
        self.current: Prompt | None = None

    @property
    def queue(self) -> tuple[Prompt, ...]:
        """Prompts that wait, next first."""
        return tuple(self._waiting)

    @property
    def operating(self) -> int:
        """How many operations run or wait."""
        return len(self._operations)

    @property
    def closing(self) -> bool:
        """`close` was called."""
        return self._closed

    def submit(self, prompt: Prompt) -> None:
        """Take a prompt. Synchronous, so that a cancel arriving right behind it finds it."""
        if self._closed:
            prompt.settle(not_begun(prompt.turn_id))
            return
        self._waiting.append(prompt)
        position = len(self._waiting) - (self.current is None)
        if position:
            self._publish_position(prompt, position)
        self._wake.set()

    async def between(self, client_id: str, work: OperationWork[ResultT]) -> ResultT:
        """Do what is no turn: behind the running one, before the prompts that wait.

        Raises:
            OperationCancelledError: the client cancelled, or the session ends; and what `work` raises.
        """
        if self._closed:
            raise OperationCancelledError
        operation = Operation(work, client_id)
        self._operations.append(operation)
        self._wake.set()
        return await operation.result()

    def supersede(self, prompt: Prompt) -> None:
        """End the running turn as cancelled, and take this prompt before all that wait."""
        self.submit(prompt)
        if self.current is not None and not self._closed:
            self.move(prompt.turn_id, 1)
            self.current.cancel()
            if self._task is not None:
                self._task.cancel()

    def cancel(self, client_id: str | None) -> None:
        """Cancel the running turn and the queued prompts of this client (of everybody for None); nothing to do is fine."""
        first = self._waiting[0] if self._waiting and self.current is None else None
        if first is not None:
            first.cancel()
        for prompt in [waiting for waiting in self._waiting if waiting is not first]:
            if client_id in (None, prompt.client_id):
                self._waiting.remove(prompt)
                self._publish_position(prompt, 0)
                prompt.settle(self._put_off(prompt))
        for operation in tuple(self._operations):
            if operation.running or client_id in (None, operation.client_id):
                operation.cancel()
        if self.current is not None:
            self.current.cancel()
        if self._task is not None:
            self._task.cancel()

    def _put_off(self, prompt: Prompt) -> TurnEnd:
        if self._stop_as == "interrupted":
            return not_begun(prompt.turn_id)
        return TurnEnd(turn_id=prompt.turn_id, stop_reason=self._stop_as)

    def remove(self, turn_id: str) -> bool:
        """Take a waiting prompt out; it ends as cancelled. False when it does not wait (any more)."""
        prompt = self._waits(turn_id)
        if prompt is None:
            return False
        self._waiting.remove(prompt)
        self._publish_position(prompt, 0)
        prompt.settle(TurnEnd(turn_id=prompt.turn_id, stop_reason="cancelled"))
        self._publish_positions()
        return True

    def edit(self, turn_id: str, user_input: UserInput, *, command: bool) -> bool:
        """Give a waiting prompt another text. False when it does not wait (any more)."""
        prompt = self._waits(turn_id)
        if prompt is None:
            return False
        prompt.edit(user_input, command=command)
        self._publish_position(prompt, self._waiting.index(prompt) + 1)
        return True

    def move(self, turn_id: str, position: int) -> bool:
        """Let a waiting prompt come at another place, 1 being next. False when it does not wait (any more)."""
        prompt = self._waits(turn_id)
        if prompt is None:
            return False
        self._waiting.remove(prompt)
        self._waiting.insert(max(0, position - 1), prompt)
        self._publish_positions()
        return True

    def _waits(self, turn_id: str) -> Prompt | None:
        """A prompt that nothing has begun to run: the first one of an idle session is as good as begun."""
        waiting = list(self._waiting)[0 if self.current is not None else 1 :]
        return next((prompt for prompt in waiting if prompt.turn_id == turn_id), None)

    async def serve(self, run: RunTurn) -> None:
        """Have `run` do the turns' work until `close`; owned by the session."""
        while not self._closed:
            await self._wake.wait()
            self._wake.clear()
            while self._operations or self._waiting:
                if self._operations:
                    await self._operations[0].run()
                    self._operations.popleft()
                else:
                    await self._take(self._waiting.popleft(), run)
            if not self._closed:
                self._rested()

    async def close(self, *, handing_over: bool = False) -> None:
        """End the running turn as interrupted, refuse the waiting ones, let `serve` return once the turn's end is on disk.

        `handing_over`: the next process answers the prompt of a turn that it goes on with.
        """
        self._closed = True
        self._handing_over = handing_over and self._log.channel.frozen
        self._stop_as = "interrupted"
        self.cancel(None)
        self._wake.set()

    async def _take(self, prompt: Prompt, run: RunTurn) -> None:
        self.current = prompt
        if not prompt.resumes:
            self._log.publish(
                TurnBegin(
                    user_input=await with_fitting_pictures(prompt.user_input),
                    turn_id=prompt.turn_id,
                    client_id=prompt.client_id,
                    command=prompt.command,
                )
            )
        self._publish_positions()
        ending = await self._run_cancellable(prompt, run)
        if prompt.on_end is not None:
            prompt.on_end()
        end = TurnEnd(
            turn_id=prompt.turn_id,
            stop_reason=ending.stop_reason,
            error=ending.error,
            failed=ending.failed,
            usage=self._usage.total,
        )
        self._log.publish(end)
        try:
            await self._log.commit()
        except JournalFullError as error:
            if end.error is None:
                end = end.model_copy(update={"stop_reason": "error", "error": _as_turn_error(error)})
        self.current = None
        if not self._handing_over:
            prompt.settle(end)

    async def _run_cancellable(self, prompt: Prompt, run: RunTurn) -> Ending:
        async with asyncio.TaskGroup() as turn:
            self._task = turn.create_task(self._guarded(prompt, run))
            if prompt.cancelled:
                self._task.cancel()
        task, self._task = self._task, None
        return Ending(self._stop_as) if task.cancelled() else task.result()

    async def _guarded(self, prompt: Prompt, run: RunTurn) -> Ending:
        try:
            await self._log.commit()
            return await run(prompt)
        except SouldError as error:
            return Ending("error", _as_turn_error(error))
        except (
            Exception
        ) as failure:  # the turn is a dispatch boundary: our bug ends it, not the session or its neighbours
            logger.exception("turn %s failed", prompt.turn_id)
            bug = TurnError(kind="internal", message="sould hit a bug in this turn; see `sould logs`.")
            full = as_disk_full(failure)
            return Ending("error", _as_turn_error(full) if full else bug)

    def _publish_positions(self) -> None:
        for position, waiting in enumerate(self._waiting, 1):
            self._publish_position(waiting, position)

    def _publish_position(self, prompt: Prompt, position: int) -> None:
        self._log.publish(
            PromptQueued(
                turn_id=prompt.turn_id, client_id=prompt.client_id, position=position, user_input=prompt.user_input
            )
        )


def _as_turn_error(error: SouldError) -> TurnError:
    return TurnError(kind=error.kind, message=error.message)
