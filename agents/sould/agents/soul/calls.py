"""The tool calls of one step: opened while the model streams, run beside and after each other, answered in order.

`StepCalls` keeps the promise that every `ToolCall` gets exactly one `ToolResult`, whatever happens. `ToolRunner` turns
model output into tool runs: nothing runs whose name or arguments are not exactly right, nothing runs before its
intent is on disk, and what changes or runs something keeps the model's order (`order`).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct, field
from pydantic import JsonValue

from sould.agents.hooks.engine import Hooks
from sould.agents.hooks.toolhooks import with_hooks
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.policy import RepeatCall
from sould.agents.projects.capture import Capture
from sould.agents.projects.changes import Findings, together
from sould.agents.projects.founddiffs import found_diffs
from sould.agents.projects.steps import AgentsAtWork
from sould.agents.review.hunk import AgentCall
from sould.agents.sessionlog.log import SessionLog
from sould.agents.soul.callwatcher import UNWATCHED, CallWatcher, parse_arguments
from sould.agents.soul.findings import with_findings
from sould.agents.soul.order import StepOrder
from sould.agents.soul.repeats import RepeatGuard
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.base import CallReporter, ToolCallContext, tool_error
from sould.agents.toolapi.custom import CustomMessage, as_custom
from sould.agents.toolapi.toolset import CheckedCall, Toolset
from sould.agents.wire.messages import (
    CallPreview,
    CommandBegin,
    Custom,
    FunctionCall,
    StopReason,
    ToolCall,
    ToolCallDetail,
    ToolCallPart,
    ToolKind,
    ToolOutput,
    ToolResult,
    ToolReturn,
    TurnError,
    WireMessage,
)
from sould.agents.workspace import Workspace

INTERRUPTED = "Interrupted before it finished; it may or may not have run."
CUT_OFF = "Interrupted before it finished: ended, with everything it had started."
NOBODY_ANSWERED = "Not run: the turn was cancelled while this call waited for approval."
NEVER_RAN = "Not run: the answer was cut before the call was complete."
NOT_BEGUN = "Not run: the turn was interrupted before this call began."
AFTER_REJECTION = "Not run: the user rejected another call of this step, which ends the turn."
CHANGES_FILES: Final[frozenset[ToolKind]] = frozenset({"edit", "delete", "move"})
REMINDER = (
    "You have now made this identical call several times in this turn. Repeating it will not change the result: "
    "try something else, or say what is in the way."
)


class OpenCall(Struct):
    """One call of the step. `id` is ours; `server_id` is what the model's server called it."""

    id: str
    server_id: str
    name: str
    fragments: list[str] = field(default_factory=list[str])
    begun: bool = False
    """It was its turn; before that nothing of it has run."""
    result: ToolReturn | None = None
    interrupt_note: str = ""
    """What the tool wants the model to know should the call be cut off."""
    printed: str | None = None
    """What its program had printed when the call was cut off; None: none ran, as far as is known."""
    model: str = ""
    """The model that made it; "" when nobody knows any more."""

    @property
    def arguments(self) -> str:
        """All fragments so far."""
        return "".join(self.fragments)

    def begin(self) -> None:
        """It is its turn."""
        self.begun = True

    def settle(self, result: ToolReturn) -> None:
        """It has its result."""
        self.result = result

    def note(self, text: str) -> None:
        """What its result is to say should it be cut off."""
        self.interrupt_note = text

    def keep_printed(self, text: str) -> None:
        """What its program had printed when it was cut off."""
        self.printed = text


Publish: TypeAlias = Callable[[WireMessage], object]
"""Shows a message and keeps it."""


class StepCalls:
    """The calls of one step, in the model's order, and which of them still owe a result."""

    def __init__(self, publish: Publish, watcher: CallWatcher = UNWATCHED) -> None:
        self._publish = publish
        self._watcher = watcher
        self._whole = 0
        """So many were said to be whole."""
        self._calls: list[OpenCall] = []
        self._answered = 0
        self.any_shown = False
        self._complete = False
        """The model finished its answer, so the arguments are whole."""

    @classmethod
    def restored(
        cls,
        publish: Callable[[WireMessage], object],
        pending: Sequence[ToolCall],
        results: Mapping[str, ToolReturn],
        watcher: CallWatcher = UNWATCHED,
    ) -> "StepCalls":
        """Calls that were announced before the daemon stopped and have not run, but those that have `results` already."""
        calls = cls(publish, watcher)
        for call in pending:
            made = [call.function.arguments or ""]
            calls._calls.append(OpenCall(call.id, call.id, call.function.name, made, result=results.get(call.id)))
        return calls

    def shown(self) -> None:
        """Something of the answer went out, so that it cannot be asked for again."""
        self.any_shown = True

    def completed(self) -> None:
        """The model finished its answer."""
        self._complete = True
        self._say_whole()

    def _say_whole(self) -> None:
        whole, self._whole = self._calls[self._whole :], len(self._calls)
        for call in whole:
            self._watcher.whole(call)

    def over(self, call: OpenCall) -> None:
        """The call has its result."""
        self._watcher.over(call)

    @property
    def all(self) -> Sequence[OpenCall]:
        """Every call, answered or not."""
        return self._calls

    def open(self, delta: ToolCall, call_id: str, preview: CallPreview | None = None, model: str = "") -> None:
        """`model` begins a call; it is shown under `call_id`, which no other call of the session has, as `preview`."""
        call = OpenCall(call_id, delta.id, delta.function.name, model=model)
        if delta.function.arguments:
            call.fragments.append(delta.function.arguments)
        self._say_whole()
        self._calls.append(call)
        self.shown()
        function = FunctionCall(name=call.name, arguments=delta.function.arguments)
        self._publish(ToolCall(id=call.id, function=function, extras=delta.extras, preview=preview))

    def extend(self, delta: ToolCallPart) -> None:
        """A fragment of arguments, of the last call or of the one the server names."""
        call = self._named(delta.tool_call_id)
        if call is None or not delta.arguments_part:
            return
        call.fragments.append(delta.arguments_part)
        behind = call is not self._calls[-1]
        self._publish(ToolCallPart(arguments_part=delta.arguments_part, tool_call_id=call.id if behind else None))

    def _named(self, server_id: str | None) -> OpenCall | None:
        if server_id is None:
            return self._calls[-1] if self._calls else None
        return next((call for call in reversed(self._calls) if call.server_id == server_id), None)

    def publish_ready(self) -> None:
        """Publish results in the order of the calls, as far as they are known."""
        while self._answered < len(self._calls):
            call = self._calls[self._answered]
            if call.result is None:
                return
            self._publish(ToolResult(tool_call_id=call.id, return_value=call.result))
            self._answered += 1

    def close(self) -> None:
        """Give every call that owes a result an honest one: real where it finished, else that it was interrupted."""
        for call in self._calls[self._answered :]:
            if call.result is None:
                call.settle(tool_error(self._why(call), brief="Interrupted", output=call.printed or ""))
        self.publish_ready()

    def _why(self, call: OpenCall) -> str:
        if not self._complete:
            return NEVER_RAN
        if not call.begun:
            return NOT_BEGUN
        return f"{INTERRUPTED if call.printed is None else CUT_OFF} {call.interrupt_note}".strip()


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
            made_by = AgentCall(self.capture.session_id, self.turn.id, self.call.id, agent_id, self.call.model)
            await self.capture.begin(made_by, self.title)

    async def not_kept(self, paths: Sequence[Path]) -> Sequence[Path]:
        return await self.capture.not_kept(paths) if self.capture is not None else ()


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


class Stop(Struct, frozen=True):
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

    async def run(self, turn: Turn, calls: StepCalls, step: int, repeats: RepeatGuard) -> Stop | None:
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
        if arguments is None:
            said = (
                f"The arguments of {call.name} are not a JSON object, so nothing was run. Send the complete call again."
            )
            call.settle(tool_error(said, brief="Malformed arguments", output=call.arguments[:500]))
            return None
        checked = self.toolset.check(call.name, arguments)
        if isinstance(checked, ToolReturn):
            call.settle(checked)
            return None
        after = order.add(call.id, checked)
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
        if ready is not None:
            async with step.room:
                call.settle(await self._in_turn(call, ready, step))
                await self.work.end(call.id)
        step.calls.over(call)
        step.calls.publish_ready()

    async def _in_turn(self, call: OpenCall, ready: _Prepared, step: _Step) -> ToolReturn:
        """Run the call, unless the user has ended the turn meanwhile."""
        if step.ends_turn:
            return _not_run(AFTER_REJECTION)
        call.begin()
        try:
            return await self._guarded(call, ready, step)
        except asyncio.CancelledError:
            if call.id in self.approval.unanswered:
                call.settle(tool_error(NOBODY_ANSWERED, brief="Not run"))
            raise

    async def _guarded(self, call: OpenCall, ready: _Prepared, step: _Step) -> ToolReturn:
        repeats, turn = step.repeats, step.turn
        context = ToolCallContext(
            call.id,
            step.number,
            _Reporter(self.log, call, turn, self.capture, ready.checked.view.title, self.work),
            turn.id,
            turn.source,
            self.log.context.checkpoint,
            read_only=self.read_only,
            model=call.model,
        )
        advice = repeats.advise(call.name, call.arguments)
        if advice == "stop":
            return tool_error(
                "Not run: this identical call was made too many times in this turn.", brief="Repeated call"
            )
        if advice == "ask":
            refused = await self.approval.request(
                context,
                RepeatCall(call.name, ready.arguments),
                sender=call.name,
                description=f"The model keeps making the same {call.name} call. Continue?",
                display=(),
            )
            if refused is not None:
                return refused
        if (self.read_only or self.approval.mode == "plan") and self.toolset.unasked_changes(call.name):
            return tool_error(
                f"Not run: in plan mode and for read-only agents, only read-only tools run, and {call.name} is not "
                "declared as one. Do without it.",
                brief="Refused: only read-only tools run",
            )
        result = await self._watched(call, ready, context)
        # by hash: a film's text would take seconds to write out
        outcome = f"{hash(result.output)} {result.message}"
        repeats.note_result(call.name, call.arguments, outcome)
        if advice == "remind":
            result = result.model_copy(update={"message": f"{result.message}\n{REMINDER}".strip()})
        return result

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
                await capture.finish(call.id)
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


def _verdict(step: _Step, prepared: Sequence[_Prepared | None]) -> Stop | None:
    if step.ends_turn:
        return Stop("tool_rejected")
    if any(step.repeats.exhausted(call.name, call.arguments) for call in step.calls.all):
        return Stop("repeated_calls")
    if step.repeats.note_step(all_invalid=all(ready is None for ready in prepared)):
        message = "The model sent only invalid tool calls five times in a row; the turn was stopped."
        return Stop("error", TurnError(kind="malformed", message=message))
    return None


def stops_turn(result: ToolReturn | None) -> bool:
    """A rejection without feedback ends the turn (D29)."""
    extras = result.extras if result is not None else None
    return bool(extras and extras.get("rejected") and not extras.get("feedback"))


def _not_run(why: str) -> ToolReturn:
    """The result of a call that the user's rejection of another one kept from running: rejected like that one."""
    extras: dict[str, JsonValue] = {"rejected": True, "feedback": ""}
    return tool_error(why, brief="Not run").model_copy(update={"extras": extras})
