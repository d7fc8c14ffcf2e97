"""What a journal says its last writer left undone, so that the session host can close it honestly."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from sould.agents.journal.records import Damage
from sould.agents.journal.turnusage import TurnUsage
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    CompactionBegin,
    CompactionEnd,
    DMailHeld,
    DMailTaken,
    FilesRestored,
    FilesRestoring,
    HookRequest,
    HookResponse,
    QuestionRequest,
    QuestionResponse,
    RequestClosed,
    StatusUpdate,
    StepBegin,
    SubagentEvent,
    TokenUsage,
    ToolCall,
    ToolCallPart,
    ToolCallRequest,
    ToolResult,
    TurnBegin,
    TurnEnd,
    WireMessage,
    WireRequest,
)
from sould.agents.wire.stream import piece

Handler: TypeAlias = Callable[[Any], None]
"""Notes what a message of one kind opens or closes."""


class Recovery(Struct, frozen=True):
    """What opening a journal found: damage repaired or passed over, and work the writer left open."""

    records: int = 0
    last_seq: int = 0
    metadata: Mapping[str, Any] | None = None
    torn_bytes: int = 0
    torn_path: Path | None = None
    damage: tuple[Damage, ...] = ()
    cut: int | None = None
    """Sequence of the message that was streaming; what was saved of it is now its record."""
    open_turn: TurnBegin | None = None
    open_step: int = 0
    """`n` of the step that was running in the open turn, 0 when none had begun."""
    open_usage: TokenUsage | None = None
    """What the last turn took, open or not."""
    open_calls: tuple[ToolCall, ...] = ()
    """The open turn's calls without a result, in order, arguments as far as known. They may or may not have run."""
    open_requests: tuple[WireRequest, ...] = ()
    open_compaction: CompactionBegin | None = None
    open_restore: FilesRestoring | None = None
    open_dmail: DMailHeld | None = None
    """It waits for the agent's next step; nothing is amiss with that."""

    @property
    def clean(self) -> bool:
        """Nothing was repaired and nothing was left open."""
        left = (
            self.torn_bytes or self.damage or self.cut or self.open_turn or self.open_requests
            or self.open_compaction or self.open_restore
        )  # fmt: skip
        return not left

    @property
    def notice(self) -> str:
        """One sentence for the user about what is missing, or "" when nothing is."""
        told: list[str] = []
        if self.torn_bytes:
            told.append(f"{self.torn_bytes} bytes of an unfinished record were set aside")
        if self.damage:
            places = ", ".join(str(damage.position) for damage in self.damage[:3])
            more = " and elsewhere" if len(self.damage) > 3 else ""
            told.append(f"damaged records at byte {places}{more} of the journal were ignored")
        if self.cut:
            told.append("the last message was cut off")
        said = "; ".join(told)
        return f"{said[0].upper()}{said[1:]}." if said else ""


class OpenWork:
    """Follows a stream and knows what is open at each point."""

    def __init__(self) -> None:
        self.turn: TurnBegin | None = None
        self.step = 0
        self.usage = TurnUsage()
        self.compaction: CompactionBegin | None = None
        self.restore: FilesRestoring | None = None
        self.dmail: DMailHeld | None = None
        self._calls: dict[str, tuple[ToolCall, list[str]]] = {}
        self._last_call = ""
        self._requests: dict[str, WireRequest] = {}
        self._handlers: dict[type[WireMessage], Handler] = {
            TurnBegin: self._begin_turn,
            TurnEnd: lambda _: self._begin_turn(None),
            StepBegin: self._begin_step,
            ToolCall: self._open_call,
            ToolCallPart: self._extend_call,
            ToolResult: self._close_call,
            **dict.fromkeys((StatusUpdate, SubagentEvent), self.usage.apply),
            **dict.fromkeys((CompactionBegin, CompactionEnd), self._compact),
            **dict.fromkeys((FilesRestoring, FilesRestored), self._restore),
            **dict.fromkeys((DMailHeld, DMailTaken), self._hold),
            **dict.fromkeys((ApprovalRequest, ToolCallRequest, QuestionRequest, HookRequest), self._ask),
            **dict.fromkeys((ApprovalResponse, QuestionResponse, HookResponse, RequestClosed), self._answer),
        }

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Calls without a result, each with all its arguments so far."""
        return tuple(_whole(call, pieces) for call, pieces in self._calls.values())

    @property
    def requests(self) -> tuple[WireRequest, ...]:
        """Requests without an answer."""
        return tuple(self._requests.values())

    def apply(self, message: WireMessage) -> None:
        """Take the next message."""
        handler = self._handlers.get(type(message))
        if handler:
            handler(message)

    def _begin_turn(self, turn: TurnBegin | None) -> None:
        self.turn = turn
        if turn is not None:
            self.usage.apply(turn)
        self.step = 0
        self._last_call = ""
        if self._calls:
            self._calls.clear()

    def _begin_step(self, step: StepBegin) -> None:
        self.step = step.n

    def _open_call(self, call: ToolCall) -> None:
        self._calls[call.id] = (call, [piece(call)])
        self._last_call = call.id

    def _extend_call(self, part: ToolCallPart) -> None:
        if opened := self._calls.get(part.tool_call_id or self._last_call):
            opened[1].append(piece(part))

    def _close_call(self, result: ToolResult) -> None:
        self._calls.pop(result.tool_call_id, None)
        self._requests.pop(result.tool_call_id, None)

    def _compact(self, message: CompactionBegin | CompactionEnd) -> None:
        self.compaction = message if isinstance(message, CompactionBegin) else None

    def _restore(self, message: FilesRestoring | FilesRestored) -> None:
        self.restore = message if isinstance(message, FilesRestoring) else None

    def _hold(self, message: DMailHeld | DMailTaken) -> None:
        self.dmail = message if isinstance(message, DMailHeld) else None

    def _ask(self, request: WireRequest) -> None:
        self._requests[request.id] = request

    def _answer(self, answer: ApprovalResponse | QuestionResponse | HookResponse | RequestClosed) -> None:
        self._requests.pop(answer.request_id, None)


def _whole(call: ToolCall, pieces: list[str]) -> ToolCall:
    return call.model_copy(update={"function": call.function.model_copy(update={"arguments": "".join(pieces)})})
