"""The agent loop: a turn is steps; a step is one model call, then its tools.

Everything a turn does is published as Wire messages; the model's context is folded from those messages, so what the
user saw is what the model remembers. Retries, compaction, approvals and hooks wrap the model or the tools; none of
them is a branch here. The loop never touches a file, a socket or a client.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sould.agents.compaction.compactor import Compactor
from sould.agents.config import LoopControl
from sould.agents.llm.provider import ProviderError
from sould.agents.sessionlog.log import SessionLog
from sould.agents.soul.answer import ModelCaller
from sould.agents.soul.calls import StepCalls, ToolRunner
from sould.agents.soul.repeats import RepeatGuard
from sould.agents.wire.content import UserInput
from sould.agents.wire.messages import (
    SteerInput,
    StepBegin,
    StepInterrupted,
    StopReason,
    ToolCall,
    ToolReturn,
    TurnError,
)

BeforeStep: TypeAlias = Callable[[], Awaitable[None]]
AfterStep: TypeAlias = "Callable[[StepCalls, Ending | None], Awaitable[Ending | None]]"


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a turn ended."""

    stop_reason: StopReason
    error: TurnError | None = None


_BY_FINISH: dict[str | None, StopReason] = {"length": "max_tokens", "content_filter": "refusal", "refusal": "refusal"}


@dataclass(slots=True)
class Soul:
    """One agent of one session. Not re-entrant: one turn at a time, which the session sees to."""

    log: SessionLog
    model: ModelCaller
    tools: ToolRunner
    compactor: Compactor
    limits: Callable[[], LoopControl]
    before_step: tuple[BeforeStep, ...] = ()
    """Run in order before every model call, after compaction: what tells the model something publishes it here."""
    allowed: Callable[[], Awaitable[bool]] | None = None
    """Asked before every step that asks the model; False ends the turn, as a cancel by the user does."""
    before_stop: Callable[[], Awaitable[bool]] | None = None
    """Asked when the model is done: True lets it go on, after it was told something."""
    after_step: tuple[AfterStep, ...] = ()
    """Run in order after a step's results, each with what would end the turn; what they return does."""
    steering: deque[UserInput] = field(default_factory=deque[UserInput])
    pending: Sequence[ToolCall] = ()
    """Calls of a turn in which some waited for approval when the daemon stopped: the next turn runs them first,"""
    cut_off: Mapping[str, ToolReturn] = field(default_factory=dict[str, ToolReturn])
    """but those that may have run: they have these results, by the call's id."""
    _steps: int = 0
    """Of the running turn, so far."""

    async def turn(self, turn_id: str) -> Ending:
        """Run steps until the model is done, the user stops it, or a limit is reached. A flow runs a turn in several parts.

        Cancellation is the task's: open calls get an honest result and the step is marked interrupted before it propagates.
        """
        self._steps = self._steps if turn_id == self.tools.turn_id else 0
        self.tools.turn_id = turn_id
        limits = self.limits()
        repeats = RepeatGuard(limits)
        for _ in range(limits.max_steps_per_turn):
            if self.allowed is not None and not self.pending and not await self.allowed():
                return Ending("cancelled")
            self._steps += 1
            try:
                ending = await self._step(self._steps, repeats)
            except ProviderError as error:
                return Ending("error", turn_error(error))
            steered = self._deliver_steering()
            if ending is None or (steered and ending.stop_reason in ("finished", "tool_rejected")):
                continue  # what the user says beside a rejection is its feedback (D29)
            if ending.stop_reason == "finished" and await self._goes_on():
                continue
            return ending
        return Ending("max_steps_reached")

    async def _goes_on(self) -> bool:
        """A hook gives the model more to do, or the user did while hooks were asked."""
        return (self.before_stop is not None and await self.before_stop()) or self._deliver_steering()

    async def _step(self, n: int, repeats: RepeatGuard) -> Ending | None:
        calls = StepCalls.restored(self.log.publish, self.pending, self.cut_off)
        self.pending = ()
        ending: Ending | None = None
        try:
            if not calls.all:
                await self.compactor.compact_if_needed()
                for prepare in self.before_step:
                    await prepare()
                self.log.publish(StepBegin(n=n))
                finish = await self._ask(n, calls)
                ending = None if calls.all else Ending(_BY_FINISH.get(finish, "finished"))
            if calls.all:
                stop = await self.tools.run(calls, n, repeats)
                ending = Ending(stop.reason, stop.error) if stop else None
        except BaseException:
            calls.close()
            self.log.publish(StepInterrupted())
            raise
        for follow in self.after_step:
            ending = await follow(calls, ending)
        if calls.all:
            await self.log.commit()
        return ending

    async def _ask(self, n: int, calls: StepCalls) -> str | None:
        try:
            return await self.model.ask(n, calls)
        except ProviderError as error:
            if error.kind != "context_too_long" or calls.any_shown or not await self.compactor.compact(must=True):
                raise
            return await self.model.ask(n, calls)

    def _deliver_steering(self) -> bool:
        delivered = bool(self.steering)
        while self.steering:
            self.log.publish(SteerInput(user_input=self.steering.popleft()))
        return delivered


def turn_error(error: ProviderError) -> TurnError:
    """The provider's failure, as the user is told."""
    return TurnError(kind=error.kind, message=error.message, status=error.status, retry_after=error.retry_after)
