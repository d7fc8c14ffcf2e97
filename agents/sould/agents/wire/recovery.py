"""What a journal says its last writer left undone, so that the session host can close it honestly (F61)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    StepBegin,
    ToolCall,
    ToolCallPart,
    ToolCallRequest,
    ToolResult,
    TurnBegin,
    TurnEnd,
    WireMessage,
    WireRequest,
)
from sould.agents.wire.records import Damage
from sould.agents.wire.stream import piece


@dataclass(frozen=True, slots=True)
class Recovery:
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
            told.append(f"damaged records at byte {places}{more} of the journal were passed over")
        if self.cut:
            told.append("the last message was cut off")
        return f"The session was recovered: {'; '.join(told)}." if told else ""


_CONCERNED = frozenset(
    (
        *(TurnBegin, TurnEnd, StepBegin, ToolCall, ToolCallPart, ToolResult, CompactionBegin, CompactionEnd),
        *(FilesRestoring, FilesRestored, DMailHeld, DMailTaken),
        *(ApprovalRequest, ToolCallRequest, QuestionRequest, HookRequest),
        *(ApprovalResponse, QuestionResponse, HookResponse, RequestClosed),
    )
)


@dataclass(slots=True)
class OpenWork:
    """Follows a stream and knows what is open at each point."""

    turn: TurnBegin | None = None
    step: int = 0
    compaction: CompactionBegin | None = None
    restore: FilesRestoring | None = None
    dmail: DMailHeld | None = None
    _calls: dict[str, tuple[ToolCall, list[str]]] = field(default_factory=dict[str, tuple[ToolCall, list[str]]])
    _last_call: str = ""
    _requests: dict[str, WireRequest] = field(default_factory=dict[str, WireRequest])

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
        if type(message) in _CONCERNED:
            self._apply(message)

    def _apply(self, message: WireMessage) -> None:
        match message:
            case StepBegin(n=n):
                self.step = n
            case ToolCall(id=call_id):
                self._calls[call_id] = (message, [piece(message)])
                self._last_call = call_id
            case ToolCallPart():
                if opened := self._calls.get(message.tool_call_id or self._last_call):
                    opened[1].append(piece(message))
            case ToolResult(tool_call_id=call_id):
                self._calls.pop(call_id, None)
                self._requests.pop(call_id, None)
            case TurnBegin():
                self._begin_turn(message)
            case TurnEnd():
                self._begin_turn(None)
            case CompactionBegin():
                self.compaction = message
            case CompactionEnd():
                self.compaction = None
            case FilesRestoring():
                self.restore = message
            case FilesRestored():
                self.restore = None
            case DMailHeld():
                self.dmail = message
            case DMailTaken():
                self.dmail = None
            case ApprovalRequest() | ToolCallRequest() | QuestionRequest() | HookRequest():
                self._requests[message.id] = message
            case ApprovalResponse() | QuestionResponse() | HookResponse() | RequestClosed():
                self._requests.pop(message.request_id, None)
            case _:
                pass

    def _begin_turn(self, turn: TurnBegin | None) -> None:
        self.turn = turn
        self.step = 0
        self._calls.clear()
        self._last_call = ""


def _whole(call: ToolCall, pieces: list[str]) -> ToolCall:
    return call.model_copy(update={"function": call.function.model_copy(update={"arguments": "".join(pieces)})})
