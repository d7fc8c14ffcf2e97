"""The agents that one agent may start: made or resumed, given a task, and heard until they have answered.

Whatever happens to a subagent is a result for the agent that started it; only cancellation passes through. Its events
are in the parent's stream, its edits in the edit log under the parent's turn.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Mapping, Sequence

from msgspec import Struct

from sould.agents.base.clock import at_most
from sould.agents.base.errors import SouldError
from sould.agents.base.tasks import shielded
from sould.agents.journal.channel import Record
from sould.agents.journal.log import SessionLog
from sould.agents.llm.provider import ChatMessage
from sould.agents.soul.dmail.dmail import DenwaRenji
from sould.agents.soul.loop import AgentLoop, Ending
from sould.agents.soul.spec import AgentSpec
from sould.agents.soul.subagents.market import AgentRecord, LaborMarket, SubagentError, SubagentStart, can_go_on
from sould.agents.soul.turn import Turn, new_turn_id
from sould.agents.toolapi.base import AgentSource, ToolCallContext
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import (
    Choice,
    ContextCleared,
    ContextNote,
    ContextReverted,
    MediaLeftOut,
    PromptQueued,
    ServerState,
    SessionChanged,
    StopReason,
    SubagentEvent,
    SystemPrompt,
    ToolCall,
    ToolCallPart,
    TurnBegin,
    TurnEnd,
    TurnError,
    WireMessage,
)
from sould.agents.wire.stream import continuation, is_delta, joined, length, piece

# A subagent's events in the stream of the agent that started it, as `SubagentEvent`.
# Text is joined for a moment, so that a stream of single words is not a stream of records in two journals; the order
# of what is shown is that of the subagent's own journal.


MOST_JOINED = 4096
"""Characters that wait at most, and"""
LONGEST_WAIT = 0.25
"""seconds."""
_OWN = (
    SystemPrompt,
    Choice,
    ContextNote,
    ServerState,
    MediaLeftOut,
    ContextCleared,
    ContextReverted,
    PromptQueued,
    SessionChanged,
)


class Forwarding:
    """Begins when made; `close` when the subagent's turn is over."""

    def __init__(self, child: SessionLog, parent: SessionLog, call_id: str, agent_id: str, kind: str) -> None:
        self._parent = parent
        self._call_id = call_id
        self._agent_id = agent_id
        self._kind = kind
        self._first: WireMessage | None = None
        self._begun = False
        """Something of `_first` has been sent."""
        self._pieces: list[str] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._subscription = child.channel.subscribe(self._take, merged=False, on_cut=lambda _: None)

    def close(self) -> None:
        """Send what waits, and stop."""
        self._end()
        self._subscription.close()

    def _take(self, record: Record) -> bool:
        message = record.message
        if self._first is not None and self._joins(self._first, message):
            self._pieces.append(piece(message))
            self._size += length(message)
            if self._size >= MOST_JOINED:
                self._flush()
            elif self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(LONGEST_WAIT, self._flush)
            return True
        self._end()
        if isinstance(message, _OWN):
            return True
        if is_delta(message) and not isinstance(message, ToolCallPart):
            self._first, self._begun, self._pieces, self._size = message, False, [piece(message)], length(message)
            self._timer = asyncio.get_running_loop().call_later(LONGEST_WAIT, self._flush)
        else:
            self._send(message)
        return True

    @staticmethod
    def _joins(first: WireMessage, message: WireMessage) -> bool:
        if isinstance(first, ToolCall):
            return isinstance(message, ToolCallPart) and message.tool_call_id in (None, first.id)
        return type(message) is type(first) and is_delta(message)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._first is not None and (self._pieces or not self._begun):
            whole = (continuation if self._begun else joined)(self._first, self._pieces)
            self._begun, self._pieces, self._size = True, [], 0
            self._send(whole)

    def _end(self) -> None:
        self._flush()
        self._first = None

    def _send(self, message: WireMessage) -> None:
        self._parent.publish(
            SubagentEvent(
                parent_tool_call_id=self._call_id, agent_id=self._agent_id, subagent_type=self._kind, event=message
            )
        )


logger = logging.getLogger(__name__)

_PROBLEMS: dict[StopReason, str] = {
    "max_steps_reached": "it reached its step limit",
    "repeated_calls": "it kept making the same call",
    "max_tokens": "its answer was cut off at the model's limit",
    "refusal": "its model refused",
    "cancelled": "it was cancelled",
}


def new_agent_id() -> str:
    """An id that no agent has."""
    return f"agent_{secrets.token_hex(6)}"


class Job(Struct, frozen=True):
    """What a subagent is to do. `resume`: the id of one that goes on, with all it remembers.

    `agent_id`: that of a new one, made by `new_agent_id`; "" leaves it to the crew.
    """

    prompt: str
    kind: str
    description: str = ""
    model: str = ""
    resume: str = ""
    agent_id: str = ""
    timeout: float | None = None
    background: bool = False


class SubagentOutcome(Struct, frozen=True):
    """What came of it. `problem` is "" when it finished; `text` then is its answer, else what it had said."""

    agent_id: str
    kind: str
    text: str
    problem: str = ""


class _Worker(Struct, frozen=True):
    start: SubagentStart
    log: SessionLog
    loop: AgentLoop


class Crew(Struct):
    """Injectable, one per agent. `depth` 0 is the main agent; `lineage` are the kinds from it down to this one."""

    market: LaborMarket
    log: SessionLog
    spec: AgentSpec
    phone: DenwaRenji
    """This agent's, through which those it starts can reach it."""
    depth: int = 0
    lineage: tuple[str, ...] = ()

    @property
    def agent_id(self) -> str:
        """The agent's; "" for the main one."""
        return self.phone.agent_id

    def work_by(self, spec: AgentSpec) -> None:
        """Its agent follows another spec from now on."""
        self.spec = spec

    @property
    def kinds(self) -> Mapping[str, str]:
        """The fixed kinds it may start, and what each is for."""
        entries = self.spec.fields.subagents.items()
        return {name: entry.description or self.market.purpose(entry.path) for name, entry in entries}

    async def work(self, job: Job, call: ToolCallContext) -> SubagentOutcome:
        """Give one subagent its job and wait for the answer; one that had it when the last daemon stopped goes on.

        Raises:
            SubagentError: it could not begin.
        """
        try:
            start, resumed = self._birth(job, self.market.take_up(call.id))
            self.market.enter(start.id, self.agent_id)
        except SubagentError:
            raise
        except SouldError as error:
            raise SubagentError(error.message) from error
        try:
            worker = await self._open(start, resumed=resumed)
            call.on_interrupt_note(can_go_on(start.id))
            try:
                forwarding = Forwarding(worker.log, self.log, call.id, start.id, start.record.kind)
                try:
                    with self._family(start, call.checkpoint):
                        return await self._with_hooks(worker, job, call)
                finally:
                    forwarding.close()
            finally:
                await shielded(worker.log.aclose())
        finally:
            self.market.leave(start.id)

    def _family(self, start: SubagentStart, born: int) -> contextlib.AbstractContextManager[None]:
        about = ": ".join(filter(None, (start.record.kind, start.source.description)))
        return self.phone.child(self.phone.mailbox.find(start.id), born, about)

    def begun(self, call_id: str) -> int:
        """How many subagents the last daemon had started for a call that is now run again."""
        unfinished = self.market.unfinished
        return len(unfinished.workers[call_id]) if unfinished.going_on(call_id) else 0

    def _birth(self, job: Job, going_on: str) -> tuple[SubagentStart, bool]:
        agent_id = going_on or job.resume
        if agent_id:
            _, record = self.market.find(agent_id)
        else:
            record = AgentRecord(
                kind=job.kind,
                description=job.description,
                model=job.model,
                depth=self.depth + 1,
                lineage=(*self.lineage, job.kind),
            )
            agent_id = job.agent_id or new_agent_id()
        deepest = self.market.config.now.subagents.max_depth
        if record.depth > deepest:
            raise SubagentError(f"Subagents nest at most {deepest} levels deep; do this yourself.")
        if record.kind in record.lineage[:-1]:
            chain = " -> ".join(record.lineage)
            raise SubagentError(f"A subagent cannot start one of its own kind, directly or through others: {chain}.")
        spec = self.market.spec_of(record.kind, self.spec, self.agent_id)
        if job.model:
            record = record.model_copy(update={"model": job.model})
        told = record.description or job.description
        source = AgentSource(agent_id, record.kind, told, background=job.background, lineage=record.lineage)
        return SubagentStart(agent_id, record, spec, source, goes_on=bool(going_on)), bool(going_on or job.resume)

    async def _open(self, start: SubagentStart, *, resumed: bool) -> _Worker:
        market = self.market
        try:
            directory = market.find(start.id)[0] if resumed else market.settle(start.id, start.record)
            log = await market.builder.open_log(directory, new=not resumed)
            market.opened(start.id, log)
        except SouldError as error:
            raise SubagentError(error.message) from error
        except OSError as error:
            raise SubagentError(f"The subagent's journal cannot be created: {error.strerror}.") from error
        try:
            return _Worker(start, log, await market.builder.build(start, log, market))
        except BaseException as error:
            await shielded(log.aclose())
            if isinstance(error, SouldError):
                raise SubagentError(error.message) from error
            raise

    async def _with_hooks(self, worker: _Worker, job: Job, call: ToolCallContext) -> SubagentOutcome:
        start = worker.start
        kind = start.record.kind
        facts = {"agent_name": kind, "agent_id": start.id, "subagent_type": kind}
        if start.goes_on:
            return await self._to_its_end(worker, job, call, facts)
        decision = await self.market.hooks.fire("SubagentStart", kind, {**facts, "prompt": job.prompt})
        if decision.blocked:
            raise SubagentError(f"A hook blocked this subagent: {decision.reason}")
        return await self._to_its_end(worker, job, call, facts)

    async def _to_its_end(
        self, worker: _Worker, job: Job, call: ToolCallContext, facts: dict[str, str]
    ) -> SubagentOutcome:
        outcome = await self._turn(worker, job, call)
        await self.market.hooks.fire("SubagentStop", worker.start.record.kind, {**facts, "response": outcome.text})
        return outcome

    async def _turn(self, worker: _Worker, job: Job, call: ToolCallContext) -> SubagentOutcome:
        log, begun = worker.log, worker.log.recovery.open_turn if worker.start.goes_on else None
        turn = Turn(
            begun.turn_id if begun is not None else call.turn_id or new_turn_id(),
            limits=self.market.config.now.loop_control,
            source=worker.start.source,
        )
        if worker.start.goes_on and not worker.loop.takes_up:
            raise SubagentError(f"It was cut off when the daemon stopped. {can_go_on(worker.start.id)}")
        limit = job.timeout or self.market.config.now.background.agent_task_timeout_s
        if begun is None:
            log.publish(TurnBegin(user_input=job.prompt, turn_id=turn.id))
        ending = Ending("cancelled")
        try:
            async with at_most(limit):
                ending = await self._guarded(worker, turn)
        except TimeoutError:
            why = f"it did not finish within {limit:g} seconds"
            ending = Ending("interrupted", TurnError(kind="timeout", message=f"The subagent was stopped: {why}."))
        finally:
            log.publish(TurnEnd(turn_id=turn.id, stop_reason=ending.stop_reason, error=ending.error))
        problem = ending.error.message if ending.error is not None else _PROBLEMS.get(ending.stop_reason, "")
        return SubagentOutcome(worker.start.id, worker.start.record.kind, final_answer(log.context.messages), problem)

    async def _guarded(self, worker: _Worker, turn: Turn) -> Ending:
        try:
            return await worker.loop.turn(turn)
        except SouldError as error:
            return Ending("error", TurnError(kind=error.kind, message=error.message))
        except Exception:  # a turn is a dispatch boundary: a bug of ours ends the subagent, not its parent
            logger.exception("subagent %s failed", worker.start.id)
            return Ending("error", TurnError(kind="internal", message="sould hit a bug in the subagent."))


def final_answer(messages: Sequence[ChatMessage]) -> str:
    """What the agent said after its last tool call."""
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant":
        return ""
    return "".join(part.text for part in last.content if isinstance(part, TextPart)).strip()
