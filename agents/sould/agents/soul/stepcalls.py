"""The tool calls of one step: opened while the model streams, answered in the model's order.

It keeps the promise that every `ToolCall` gets exactly one `ToolResult`, whatever happens. Nothing here runs a call.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, cast

import orjson
from msgspec import Struct, field

from sould.agents.permissions.outputs import CANCELLED, unseen
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.base import tool_error, with_words
from sould.agents.wire.messages import (
    CallPreview,
    FunctionCall,
    HeldOutput,
    OutputSource,
    ToolCall,
    ToolCallPart,
    ToolResult,
    ToolReturn,
    WireMessage,
)

INTERRUPTED = "Interrupted before it finished; it may or may not have run."
CUT_OFF = "Interrupted before it finished: ended, with everything it had started."
NEVER_RAN = "Not run: the answer was cut before the call was complete."
NOT_BEGUN = "Not run: the turn was interrupted before this call began."


class WatchedCall(Protocol):
    """One call."""

    id: str
    name: str
    model: str
    result: ToolReturn | None

    @property
    def arguments(self) -> str:
        """As far as the model wrote them."""
        ...


class CallWatcher:
    """Of one step: subclass it and override what is heard."""

    __slots__ = ()

    def whole(self, call: WatchedCall) -> None:
        """The model has written all of its arguments."""

    def over(self, call: WatchedCall) -> None:
        """It has its result, or will never run."""

    def close(self, calls: Sequence[WatchedCall]) -> None:
        """Nothing of the step goes on any more; these were its calls."""


UNWATCHED: Final = CallWatcher()


class WatchingCalls:
    """Makes what watches the calls of an agent's steps: subclass it. As it is, nobody does."""

    __slots__ = ()

    def of(self, turn: Turn) -> CallWatcher:
        """For a step of this turn that begins."""
        return UNWATCHED


def parse_arguments(text: str) -> dict[str, Any] | None:
    """The arguments as an object; empty text is an empty object, anything else that is not an object is None."""
    if not text.strip():
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


class OpenCall(Struct):
    """One call of the step. `id` is ours; `server_id` is what the model's server called it."""

    id: str
    server_id: str
    name: str
    fragments: list[str] = field(default_factory=list[str])
    begun: bool = False
    """It was its turn; before that nothing of it has run."""
    cut: bool = False
    """The limit on the model's output ended it."""
    result: ToolReturn | None = None
    interrupt_note: str = ""
    """What the tool wants the model to know should the call be cut off."""
    printed: str | None = None
    """What its program had printed when the call was cut off; None: none ran, as far as is known."""
    model: str = ""
    """The model that made it; "" when nobody knows any more."""
    sources: list[OutputSource] = field(default_factory=list[OutputSource])
    """Where its output comes from, as far as rules know such places."""
    words: list[str] = field(default_factory=list[str])
    """What the user said as they allowed it."""
    held: HeldOutput | None = None
    """What it came to, before its model knows; from the start of one whose user was asked about that by a daemon before."""

    @property
    def arguments(self) -> str:
        """All fragments so far."""
        return "".join(self.fragments)

    def cut_off(self) -> None:
        """The limit on the model's output ended it."""
        self.cut = True

    def begin(self) -> None:
        """It is its turn."""
        self.begun = True

    def settle(self, result: ToolReturn) -> None:
        """It has its result."""
        self.result = with_words(result, "\n".join(self.words)) if self.words else result

    def note(self, text: str) -> None:
        """What its result is to say should it be cut off."""
        self.interrupt_note = text

    def hold(self, result: ToolReturn) -> None:
        """It ran, and came to this."""
        self.held = HeldOutput(result=result, sources=tuple(self.sources), words=tuple(self.words))

    def reach(self, source: OutputSource) -> None:
        """Its output comes from there."""
        if source not in self.sources:
            self.sources.append(source)

    def hear(self, words: str) -> None:
        """The user said so as they allowed it."""
        self.words.append(words)

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
        self.all: list[OpenCall] = []
        """Every call, answered or not."""
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
        held: Mapping[str, HeldOutput],
        watcher: CallWatcher = UNWATCHED,
    ) -> "StepCalls":
        """Calls that were announced before the daemon stopped and have not run, but those with `results`, or `held` ones."""
        calls = cls(publish, watcher)
        for call in pending:
            made = [call.function.arguments or ""]
            result, waits = results.get(call.id), held.get(call.id)
            words = list(waits.words) if waits is not None else []
            calls.all.append(
                OpenCall(call.id, call.id, call.function.name, made, result=result, held=waits, words=words)
            )
        return calls

    def shown(self) -> None:
        """Something of the answer went out, so that it cannot be asked for again."""
        self.any_shown = True

    def reached_limit(self) -> None:
        """The answer was as long as the model may answer: its last call may be cut."""
        if self.all:
            self.all[-1].cut_off()

    def completed(self) -> None:
        """The model finished its answer."""
        self._complete = True
        self._say_whole()

    def _say_whole(self) -> None:
        whole, self._whole = self.all[self._whole :], len(self.all)
        for call in whole:
            self._watcher.whole(call)

    def over(self, call: OpenCall) -> None:
        """The call has its result."""
        self._watcher.over(call)

    def open(self, delta: ToolCall, call_id: str, preview: CallPreview | None = None, model: str = "") -> None:
        """`model` begins a call; it is shown under `call_id`, which no other call of the session has, as `preview`."""
        call = OpenCall(call_id, delta.id, delta.function.name, model=model)
        if delta.function.arguments:
            call.fragments.append(delta.function.arguments)
        self._say_whole()
        self.all.append(call)
        self.shown()
        function = FunctionCall(name=call.name, arguments=delta.function.arguments)
        self._publish(ToolCall(id=call.id, function=function, extras=delta.extras, preview=preview))

    def extend(self, delta: ToolCallPart) -> None:
        """A fragment of arguments, of the last call or of the one the server names."""
        call = self._named(delta.tool_call_id)
        if call is None or not delta.arguments_part:
            return
        call.fragments.append(delta.arguments_part)
        behind = call is not self.all[-1]
        self._publish(ToolCallPart(arguments_part=delta.arguments_part, tool_call_id=call.id if behind else None))

    def _named(self, server_id: str | None) -> OpenCall | None:
        if server_id is None:
            return self.all[-1] if self.all else None
        return next((call for call in reversed(self.all) if call.server_id == server_id), None)

    def publish_ready(self) -> None:
        """Publish results in the order of the calls, as far as they are known."""
        while self._answered < len(self.all):
            call = self.all[self._answered]
            if call.result is None:
                return
            self._publish(ToolResult(tool_call_id=call.id, return_value=call.result))
            self._answered += 1

    def close(self) -> None:
        """Give every call that owes a result an honest one: real where it finished, else that it was interrupted."""
        for call in self.all[self._answered :]:
            if call.result is None and call.held is not None:
                call.settle(unseen(CANCELLED))
            elif call.result is None:
                call.settle(tool_error(self._why(call), brief="Interrupted", output=call.printed or ""))
        self.publish_ready()

    def _why(self, call: OpenCall) -> str:
        if not self._complete:
            return NEVER_RAN
        if not call.begun:
            return NOT_BEGUN
        return f"{INTERRUPTED if call.printed is None else CUT_OFF} {call.interrupt_note}".strip()
