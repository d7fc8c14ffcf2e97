"""The tool calls of one step, run beside and after each other, and answered in order (`stepcalls`).

`ToolRunner` turns model output into tool runs: nothing runs whose name or arguments are not exactly right, nothing runs
before its intent is on disk, and what changes or runs something keeps the model's order (`order`).
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from pydantic import JsonValue

from sould.agents.base.workspace import Workspace
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.changes import Findings, together
from sould.agents.files.projects.steps import AgentsAtWork
from sould.agents.files.review.hunk import AgentCall
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.outputs import CANCELLED, unseen
from sould.agents.permissions.policy import RepeatCall
from sould.agents.soul.call_changes import found_diffs, with_findings
from sould.agents.soul.call_scheduler import StepOrder
from sould.agents.soul.hooks.engine import Hooks, with_hooks
from sould.agents.soul.repeats import RepeatGuard
from sould.agents.soul.stepcalls import OpenCall, StepCalls, parse_arguments
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.base import CallReporter, ToolCallContext, tool_error
from sould.agents.toolapi.custom import CustomMessage, as_custom
from sould.agents.toolapi.toolset import CheckedCall, Toolset
from sould.agents.wire.messages import (
    CommandBegin,
    Custom,
    OutputSource,
    StopReason,
    ToolCallDetail,
    ToolKind,
    ToolOutput,
    ToolReturn,
    TurnError,
)

NOBODY_ANSWERED = "Not run: the turn was cancelled while this call waited for approval."
AFTER_REJECTION = "Not run: the user rejected another call of this step, which ends the turn."
CHANGES_FILES: Final[frozenset[ToolKind]] = frozenset({"edit", "delete", "move"})
REMINDER = (
    "You have now made this identical call several times in this turn. Repeating it will not change the result: "
    "try something else, or say what is in the way."
)


class _Reporter(CallReporter, Struct, frozen=True):
    """What a call tells goes into the session's stream, or is kept with the call."""

    log: SessionLog
    call: OpenCall
    turn: Turn
    capture: Capture | None
    title: str
    work: AgentsAtWork

    def stream(self, text: str) -> None:
        self.log.publish(ToolOutput(tool_call_id=self.call.id, text=text))

    def command_begins(self) -> None:
        if self.call.result is None:  # one in the background may start when its call has ended
            self.log.publish(CommandBegin(tool_call_id=self.call.id))

    def send(self, message: CustomMessage | Custom) -> None:
        self.log.publish(as_custom(message))

    def interrupt_note(self, text: str) -> None:
        self.call.note(text)

    def printed(self, text: str) -> None:
        self.call.keep_printed(text)

    def asking(self) -> AbstractAsyncContextManager[None]:
        return self.work.paused(self.call.id)

    async def effects(self) -> None:
        if self.capture is not None:
            agent_id = self.turn.source.agent_id if self.turn.source is not None else ""
            made_by = AgentCall(self.capture.found.session_id, self.turn.id, self.call.id, agent_id, self.call.model)
            await self.capture.begin(made_by, self.title)

    async def not_kept(self, paths: Sequence[Path]) -> Sequence[Path]:
        return await self.capture.not_kept(paths) if self.capture is not None else ()

    def reached(self, source: OutputSource) -> None:
        self.call.reach(source)

    def allowed_with(self, words: str) -> None:
        self.call.hear(words)


MALFORMED = "The arguments of {} are not a JSON object, so nothing was run. Send the complete call again."
CUT_BY_LIMIT = (
    "The limit on the length of your answers cut this call of {} off in the middle, so nothing was run. Do not send it again as "
    "it was: do it in parts, each in a call of its own that is much shorter, such as a beginning and then what is appended to it."
)


class _Prepared(Struct, frozen=True):
    """A call that may run. `after`: the call that has to end first, "" when none has."""

    checked: CheckedCall
    arguments: dict[str, Any]
    after: str


class _Step(Struct, frozen=True):
    """What the calls of a step share."""

    turn: Turn
    calls: StepCalls
    number: int
    repeats: RepeatGuard
    room: asyncio.Semaphore

    @property
    def ends_turn(self) -> bool:
        """A rejection ends the turn of the main agent; subagents always go on (D29)."""
        return self.turn.source is None and any(stops_turn(call.result) for call in self.calls.all)


class ToolsStop(Struct, frozen=True):
    """The tools of a step end the turn."""

    reason: StopReason
    error: TurnError | None = None


class ToolRunner(Struct):
    """Runs the calls of a step against the session's tools."""

    log: SessionLog
    toolset: Toolset
    approval: Approval
    workspace: Workspace
    cwd: str
    hooks: Hooks | None = None
    capture: Capture | None = None
    """Sees what a call does to files besides its tool's own writes."""
    work: AgentsAtWork = field(default_factory=AgentsAtWork)
    """What the session's agents do that files must not change under."""
    read_only: bool = False
    """The agent's calls change nothing, whatever the mode."""

    def step_begins(self, turn: Turn, step: int) -> None:
        """The model is about to be asked."""
        self.work.begin(step_name(turn, step))

    async def step_ends(self, turn: Turn, step: int, calls: StepCalls) -> None:
        """Nothing of the step goes on any more, whatever became of it."""
        await self.work.end(step_name(turn, step), *(call.id for call in calls.all))

    async def run(self, turn: Turn, calls: StepCalls, step: int, repeats: RepeatGuard) -> ToolsStop | None:
        """Run all calls, at most `parallel` at once; publish results in order. None: the turn goes on.

        Calls with effects run one by one, in the model's order; one that fails does not keep those behind it. Cancelling
        kills the tools; what had finished is published with its real result.
        """
        calls.completed()
        await self.toolset.arrived([call.name for call in calls.all if call.result is None])
        repeats.begin_step()
        order = StepOrder((self.workspace.root, *self.workspace.additional))
        prepared = [self._prepare(call, order) for call in calls.all]
        self.work.begin(*(call.id for call, ready in zip(calls.all, prepared, strict=True) if _changes_files(ready)))
        await self.work.end(step_name(turn, step))
        await self.log.commit()
        shared = _Step(turn, calls, step, repeats, asyncio.Semaphore(turn.limits.parallel_tools))
        tasks: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            for call, ready in zip(calls.all, prepared, strict=True):
                before = tasks.get(ready.after) if ready is not None else None
                tasks[call.id] = group.create_task(self._run(call, ready, before, shared))
        return _verdict(shared, prepared)

    def _prepare(self, call: OpenCall, order: StepOrder) -> _Prepared | None:
        """Parse the arguments and announce the call; None when it must not run, with the reason as its result."""
        if call.result is not None:
            return None
        arguments = parse_arguments(call.arguments)
        if arguments is None or (call.cut and not call.arguments):
            said, brief = MALFORMED, "Malformed arguments"
            if call.cut:
                said, brief = CUT_BY_LIMIT, "Cut off by the output limit"
            call.settle(tool_error(said.format(call.name), brief=brief, output=call.arguments[:500]))
            return None
        checked = self.toolset.check(call.name, arguments)
        if isinstance(checked, ToolReturn):
            if call.held is None:
                call.settle(checked)
            return None
        after = order.add(call.id, checked)
        if call.held is not None:
            return None
        self.log.publish(
            ToolCallDetail(
                tool_call_id=call.id,
                name=checked.name,
                title=checked.view.title,
                kind=checked.kind,
                locations=checked.view.locations,
                arguments=arguments,
                display=checked.view.display,
                cwd=self.cwd,
                after=after,
            )
        )
        return _Prepared(checked, arguments, after)

    async def _run(
        self, call: OpenCall, ready: _Prepared | None, before: "asyncio.Task[None] | None", step: _Step
    ) -> None:
        if before is not None:
            await asyncio.wait([before])  # it waits outside the room, so that it takes no place from one that can run
        if ready is not None or call.held is not None:
            async with step.room:
                call.settle(await self._in_turn(call, ready, step))
                await self.work.end(call.id)
        step.calls.over(call)
        step.calls.publish_ready()

    async def _in_turn(self, call: OpenCall, ready: _Prepared | None, step: _Step) -> ToolReturn:
        """Run the call, unless the user has ended the turn meanwhile. `ready` None: it ran before, and its output is held."""
        context = self._context(call, ready, step)
        if ready is None:
            return await self._reviewed(call, context)
        if step.ends_turn:
            return _not_run(AFTER_REJECTION)
        call.begin()
        try:
            result = await self._guarded(call, ready, step, context)
        except asyncio.CancelledError:
            if call.id in self.approval.unanswered:
                call.settle(tool_error(NOBODY_ANSWERED, brief="Not run"))
            raise
        call.hold(result)
        return await self._reviewed(call, context)

    async def _reviewed(self, call: OpenCall, context: ToolCallContext) -> ToolReturn:
        """What the model may have of what came back: the user may want to see it first, and withhold it."""
        assert call.held is not None
        try:
            return await self.approval.outputs.review(context, call.name, call.held)
        except asyncio.CancelledError:
            call.settle(unseen(CANCELLED))
            raise

    def _context(self, call: OpenCall, ready: _Prepared | None, step: _Step) -> ToolCallContext:
        title = ready.checked.view.title if ready is not None else call.name
        return ToolCallContext(
            call.id,
            step.number,
            _Reporter(self.log, call, step.turn, self.capture, title, self.work),
            step.turn.id,
            step.turn.source,
            self.log.context.checkpoint,
            read_only=self.read_only,
            model=call.model,
        )

    async def _guarded(self, call: OpenCall, ready: _Prepared, step: _Step, context: ToolCallContext) -> ToolReturn:
        advice = step.repeats.advise(call.name, call.arguments)
        if advice == "stop":
            return tool_error(
                "Not run: this identical call was made too many times in this turn.", brief="Repeated call"
            )
        refused = await self._ask_about_repeat(call, ready, context) if advice == "ask" else None
        result = refused or await self._allowed(call, ready, context)
        # by hash: a film's text would take seconds to write out
        step.repeats.note_result(call.name, call.arguments, f"{hash(result.output)} {result.message}")
        if advice == "remind":
            result = result.model_copy(update={"message": f"{result.message}\n{REMINDER}".strip()})
        return result

    async def _ask_about_repeat(self, call: OpenCall, ready: _Prepared, context: ToolCallContext) -> ToolReturn | None:
        """Whether the user lets the model make its call once more; None: yes."""
        return await self.approval.request(
            context,
            RepeatCall(call.name, ready.arguments),
            sender=call.name,
            description=f"Call {call.name} again, with the same arguments",
        )

    async def _allowed(self, call: OpenCall, ready: _Prepared, context: ToolCallContext) -> ToolReturn:
        """Run the call, unless only what changes nothing may run and this may change something."""
        if (self.read_only or self.approval.mode == "plan") and self.toolset.unasked_changes(call.name):
            return tool_error(
                f"Not run: in plan mode and for read-only agents, only read-only tools run, and {call.name} is not "
                "declared as one. Do without it.",
                brief="Refused: only read-only tools run",
            )
        return await self._watched(call, ready, context)

    async def _watched(self, call: OpenCall, ready: _Prepared, context: ToolCallContext) -> ToolReturn:
        """Run the call with its hooks; what programs did to files meanwhile is kept as the call's."""
        capture, found = self.capture, list[Findings]()

        async def run() -> ToolReturn:
            if self.toolset.is_foreign(call.name):
                await context.effects()
            searches = ready.checked.kind == "search"
            with capture.giving_way() if capture is not None and searches else nullcontext():
                return await self.toolset.call(ready.checked, context)

        try:
            result = await with_hooks(
                self.hooks, call.name, ready.arguments, call.id, run, lambda: self._seen(context, found)
            )
        except BaseException:
            if capture is not None:
                await capture.abandon(call.id)
            raise
        if capture is None:
            return result
        findings = together((*found, await capture.finish(call.id)))
        if findings.note:
            context.stream(f"\n[{findings.note}]\n")  # also to who watches the output in a terminal
        diffs = (
            await asyncio.to_thread(found_diffs, findings.changes, capture.projects.store) if findings.changes else ()
        )
        return with_findings(result, findings, diffs)

    @asynccontextmanager
    async def _seen(self, context: ToolCallContext, found: list[Findings]) -> AsyncGenerator[None, None]:
        """What programs do to files in here is the call's. While a command of the call runs on, that is so anyway."""
        if self.capture is None or self.capture.watches(context.id):
            yield
            return
        await context.effects()
        try:
            yield
        finally:
            found.append(await self.capture.finish(context.id))


def step_name(turn: Turn, step: int) -> str:
    """What a step is called among all that the session's agents do."""
    return f"{turn.id} {turn.source.agent_id if turn.source is not None else ''} {step}"


def _changes_files(ready: _Prepared | None) -> bool:
    """By its tool: what commands and programs do to files is found afterwards."""
    return ready is not None and ready.checked.kind in CHANGES_FILES


def _verdict(step: _Step, prepared: Sequence[_Prepared | None]) -> ToolsStop | None:
    if step.ends_turn:
        return ToolsStop("tool_rejected")
    if any(step.repeats.exhausted(call.name, call.arguments) for call in step.calls.all):
        return ToolsStop("repeated_calls")
    if step.repeats.note_step(all_invalid=all(ready is None for ready in prepared)):
        message = "The model sent only invalid tool calls five times in a row; the turn was stopped."
        return ToolsStop("error", TurnError(kind="malformed", message=message))
    return None


def stops_turn(result: ToolReturn | None) -> bool:
    """A rejection without feedback ends the turn (D29)."""
    extras = result.extras if result is not None else None
    return bool(extras and extras.get("rejected") and not extras.get("feedback"))


def _not_run(why: str) -> ToolReturn:
    """The result of a call that the user's rejection of another one kept from running: rejected like that one."""
    extras: dict[str, JsonValue] = {"rejected": True, "feedback": ""}
    return tool_error(why, brief="Not run").model_copy(update={"extras": extras})
