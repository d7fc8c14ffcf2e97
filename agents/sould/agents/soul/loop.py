"""The agent loop: a turn is steps; a step is one model call, then its tools.

Everything a turn does is published as Wire messages; the model's context is folded from those messages, so what the
user saw is what the model remembers. Retries, compaction, approvals and hooks wrap the model or the tools; none of
them is a branch here. The loop never touches a file, a socket or a client.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from sould.agents.journal.log import SessionLog
from sould.agents.llm.pictures import with_fitting_pictures
from sould.agents.llm.provider import ProviderError
from sould.agents.soul.compaction.compactor import Compactor
from sould.agents.soul.model_call import ModelCaller
from sould.agents.soul.repairs import Repairs
from sould.agents.soul.repeats import RepeatGuard
from sould.agents.soul.stepcalls import StepCalls, WatchingCalls
from sould.agents.soul.tool_runner import ToolRunner
from sould.agents.soul.turn import Turn
from sould.agents.wire.content import UserInput
from sould.agents.wire.messages import (
    HeldOutput,
    SteerInput,
    StepBegin,
    StepInterrupted,
    StopReason,
    ToolCall,
    ToolReturn,
    TurnError,
)


class Ending(Struct, frozen=True):
    """Why a turn ended."""

    stop_reason: StopReason
    error: TurnError | None = None
    failed: bool = False
    """See `TurnEnd`."""


class StepExtension:
    """What takes part in the steps of a turn: subclass it and override what is wanted; nothing else of it does anything."""

    __slots__ = ()

    async def allows_step(self, turn: Turn) -> bool:
        """Asked before every step that asks the model; False ends the turn, as a cancel by the user does."""
        return True

    async def before_step(self, turn: Turn) -> None:
        """Before every model call, after compaction: what tells the model something publishes it here."""

    async def after_step(self, turn: Turn, calls: StepCalls, ending: Ending | None) -> Ending | None:
        """After a step's results, with what would end the turn; what is returned does."""
        return ending

    async def before_stop(self, turn: Turn) -> bool:
        """Asked when the model is done; True lets it go on, after it was told something."""
        return False


_BY_FINISH: dict[str | None, StopReason] = {"length": "max_tokens", "content_filter": "refusal", "refusal": "refusal"}


class AgentLoop(Struct):
    """One agent of one session. Not re-entrant: one turn at a time, which the session sees to."""

    log: SessionLog
    model: ModelCaller
    tools: ToolRunner
    compactor: Compactor
    repairs: Repairs
    extensions: tuple[StepExtension, ...] = ()
    """They take part in every step, in this order."""
    watching: WatchingCalls = field(default_factory=WatchingCalls)
    """Makes what watches the calls of each step."""
    steering: deque[UserInput] = field(default_factory=deque[UserInput])
    _pending: Sequence[ToolCall] = ()
    _cut_off: Mapping[str, ToolReturn] = field(default_factory=dict[str, ToolReturn])
    _held: Mapping[str, HeldOutput] = field(default_factory=dict[str, HeldOutput])
    _turn_id: str = ""
    _steps: int = 0
    """Of the turn `_turn_id`, so far: its parts count on."""

    def take_up(
        self, pending: Sequence[ToolCall], cut_off: Mapping[str, ToolReturn], held: Mapping[str, HeldOutput]
    ) -> None:
        """Let the next turn first run the calls of one in which some waited for approval when the daemon stopped.

        By the calls' ids: `cut_off`, the results of those that may have run, and `held`, what others came to, of which the
        user was to be asked.
        """
        self._pending, self._cut_off, self._held = pending, cut_off, held

    @property
    def takes_up(self) -> bool:
        """The next turn begins with calls that waited."""
        return bool(self._pending)

    async def turn(self, turn: Turn, extensions: tuple[StepExtension, ...] = ()) -> Ending:
        """Run steps until the model is done, the user stops it, or a limit is reached. A flow runs a turn in several parts.

        `extensions` take part in this turn, behind the agent's own. Cancellation is the task's: open calls get an honest
        result and the step is marked interrupted before it propagates.
        """
        self._steps = self._steps if turn.id == self._turn_id else 0
        self._turn_id = turn.id
        taking_part = (*self.extensions, *extensions)
        repeats = RepeatGuard(turn.limits)
        for _ in range(turn.limits.max_steps_per_turn):
            if not self._pending and not await _allowed(turn, taking_part):
                return Ending("cancelled")
            self._steps += 1
            try:
                ending = await self._step(turn, taking_part, repeats)
            except ProviderError as error:
                return Ending("error", turn_error(error))
            steered = await self._deliver_steering()
            if ending is None or (steered and ending.stop_reason in ("finished", "tool_rejected")):
                continue  # what the user says beside a rejection is its feedback (D29)
            if ending.stop_reason == "finished" and (
                await _goes_on(turn, taking_part) or await self._deliver_steering()
            ):
                continue  # a hook gives the model more to do, or the user did while hooks were asked
            return ending
        return Ending("max_steps_reached")

    async def _step(self, turn: Turn, taking_part: tuple[StepExtension, ...], repeats: RepeatGuard) -> Ending | None:
        watcher = self.watching.of(turn)
        n, publish = self._steps, self.log.publish
        calls = StepCalls.restored(publish, self._pending, self._cut_off, self._held, watcher)
        self._pending = ()
        ending: Ending | None = None
        try:
            if not calls.all:
                await self.compactor.compact_if_needed(unattended=turn.unattended)
                self.tools.step_begins(turn, n)
                for extension in taking_part:
                    await extension.before_step(turn)
                self.log.publish(StepBegin(n=n))
                finish = await self._ask(turn, n, calls)
                ending = None if calls.all else Ending(_BY_FINISH.get(finish, "finished"))
            if calls.all:
                stop = await self.tools.run(turn, calls, n, repeats)
                ending = Ending(stop.reason, stop.error) if stop else None
        except BaseException:
            calls.close()
            self.log.publish(StepInterrupted())
            raise
        finally:
            watcher.close(calls.all)
            await self.tools.step_ends(turn, n, calls)
        for extension in taking_part:
            ending = await extension.after_step(turn, calls, ending)
        if calls.all:
            await self.log.commit()
        return ending

    async def _ask(self, turn: Turn, n: int, calls: StepCalls) -> str | None:
        repairs = self.repairs.step(turn.id)
        while True:
            try:
                finish = await self.model.ask(n, calls, decides=turn.decides)
            except ProviderError as error:
                if not await repairs.mend(error, calls):
                    raise
            else:
                repairs.passed()
                return finish

    async def _deliver_steering(self) -> bool:
        delivered = bool(self.steering)
        while self.steering:
            given = await with_fitting_pictures(self.steering[0])
            self.steering.popleft()
            self.log.publish(SteerInput(user_input=given))
        return delivered


async def _allowed(turn: Turn, extensions: tuple[StepExtension, ...]) -> bool:
    for extension in extensions:
        if not await extension.allows_step(turn):
            return False
    return True


async def _goes_on(turn: Turn, extensions: tuple[StepExtension, ...]) -> bool:
    for extension in extensions:
        if await extension.before_stop(turn):
            return True
    return False


def turn_error(error: ProviderError) -> TurnError:
    """The provider's failure, as the user is told."""
    return TurnError(kind=error.kind, message=error.message, status=error.status, retry_after=error.retry_after)
