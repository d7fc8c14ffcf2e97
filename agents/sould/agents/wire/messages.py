"""Every message a soul can say, as one union.

`WireMessage` lists the types of Wire 1.10 and, below them, `Extension`: messages of our own, which an adapter sends
only to clients that ask for them. The envelope `{type, payload}` is derived from the union and never listed twice.
Messages are data: no futures, tasks or back-references. Each docstring states the message's ordering contract.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeAlias, get_args

from pydantic import (
    AliasChoices,
    BaseModel,
    Field,
    JsonValue,
    SerializeAsAny,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from sould.agents.wire.content import (
    AudioPart,
    ContentPart,
    Extras,
    FunctionCall,
    ImagePart,
    TextPart,
    ThinkPart,
    UserInput,
    VideoPart,
)
from sould.agents.wire.extensions import CallPreview as CallPreview
from sould.agents.wire.extensions import (
    Choice,
    CommandBegin,
    ContextCleared,
    ContextNote,
    ContextReturned,
    ContextReverted,
    Custom,
    DirectoryAdded,
    DMailHeld,
    DMailTaken,
    FilesRestored,
    FilesRestoring,
    MediaLeftOut,
    Message,
    PlanUpdate,
    PromptQueued,
    RequestClosed,
    ServerState,
    SessionChanged,
    SubagentCreated,
    SystemPrompt,
    ToolCallDetail,
    ToolOutput,
)
from sould.agents.wire.extensions import GivenPrompt as GivenPrompt
from sould.agents.wire.extensions import Location as Location
from sould.agents.wire.extensions import RestoredFile as RestoredFile
from sould.agents.wire.extensions import ToolKind as ToolKind
from sould.agents.wire.requests import ApprovalKind as ApprovalKind
from sould.agents.wire.requests import (
    ApprovalRequest,
    ApprovalResponse,
    HookRequest,
    HookResponse,
    QuestionRequest,
    QuestionResponse,
    ToolCallRequest,
)
from sould.agents.wire.requests import HeldOutput as HeldOutput
from sould.agents.wire.requests import LastingScope as LastingScope
from sould.agents.wire.requests import Lasts as Lasts
from sould.agents.wire.requests import OutputSource as OutputSource
from sould.agents.wire.requests import QuestionItem as QuestionItem
from sould.agents.wire.requests import QuestionOption as QuestionOption
from sould.agents.wire.requests import ToolReturn as ToolReturn

PROTOCOL_VERSION = "1.10"
LEGACY_VERSION = "1.1"


# --- turn and step ------------------------------------------------------------------------------------------------


class TurnBegin(Message):
    """First message of a turn; everything up to the matching `TurnEnd` belongs to it. Turns never overlap.

    The other keys are ours: `client_id` is who asked, so that the asker's own echo can be recognised; `command` marks a
    slash command, whose input and reply people see and the model does not.
    """

    user_input: UserInput
    turn_id: str = ""
    client_id: str = ""
    command: bool = False


StopReason: TypeAlias = Literal[
    "finished",
    "cancelled",
    "max_steps_reached",
    "tool_rejected",
    "repeated_calls",
    "max_tokens",
    "refusal",
    "error",
    "interrupted",
]
"""Why a turn ended. `interrupted`: the daemon stopped in its middle; `error`: see `TurnEnd.error`."""


class TurnError(Message):
    """What went wrong, fit to be shown: `kind` is stable for programs, `message` is one sentence without secrets.

    kind: `no_model`, `auth` (the key was refused), `auth_required` (a sign-in ended), `rate_limited`, `no_credit`,
    `provider`, `connection`, `malformed`, `empty`, `context_too_long`, `capability`, `disk_full`, `internal`, `interrupted`.
    `retry_after` is seconds.
    """

    kind: str
    message: str
    status: int | None = None
    retry_after: float | None = None


class TokenUsage(Message):
    """Tokens of a model call, or of several, as the provider counted them."""

    input_other: int = 0
    output: int = 0
    input_cache_read: int = 0
    input_cache_creation: int = 0
    output_thought: int = 0
    """How many of `output` the model thought, where its server says so; ours."""

    @property
    def input(self) -> int:
        """All input tokens, cached or not."""
        return self.input_other + self.input_cache_read + self.input_cache_creation

    @property
    def total(self) -> int:
        """Input and output."""
        return self.input + self.output

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Those of both."""
        return TokenUsage(
            input_other=self.input_other + other.input_other,
            output=self.output + other.output,
            input_cache_read=self.input_cache_read + other.input_cache_read,
            input_cache_creation=self.input_cache_creation + other.input_cache_creation,
            output_thought=self.output_thought + other.output_thought,
        )


class TurnEnd(Message):
    """Last message of a turn, always sent, before the prompt is answered.

    The keys are ours: Wire's payload is empty.
    """

    turn_id: str = ""
    stop_reason: StopReason = "finished"
    error: TurnError | None = None
    failed: bool = False
    """The prompt was a command that did not do what it says; what it said tells why."""
    usage: TokenUsage | None = None
    """What the servers of its models counted, subagents' included; None: they counted nothing."""


class StepBegin(Message):
    """A model call starts; `n` counts from 1 within the turn. Ended by the next `StepBegin` or by `TurnEnd`."""

    n: int


class StepInterrupted(Message):
    """The current step will not go on: it failed or was cancelled. Its visible text stays; its open tool calls get results first."""


class StepRetry(Message):
    """The model call is tried again after `wait_s` seconds; nothing of the failed attempt was shown."""

    n: int
    next_attempt: int
    max_attempts: int
    wait_s: float
    error_type: str
    status_code: int | None = None


class SteerInput(Message):
    """Text the user added while the turn ran: after the last `ToolResult`, before the next `StepBegin`."""

    user_input: UserInput


# --- what the model says and does -------------------------------------------------------------------------------------


class ToolCall(Message):
    """The model opens a call; fragments of its arguments follow as `ToolCallPart`. `id` is unique in the session.

    Ours: `preview`, which is null for a tool that is not there.
    """

    type: Literal["function"] = "function"
    id: str
    function: FunctionCall
    extras: Extras = None
    preview: CallPreview | None = None


class ToolCallPart(Message):
    """A fragment of the arguments of the last `ToolCall`.

    Ours: of `tool_call_id`, when servers interleave calls.
    """

    arguments_part: str | None = None
    tool_call_id: str | None = None


class ToolResult(Message):
    """Exactly one for each `ToolCall`, in the order of the calls within a step, before the next `StepBegin` or `TurnEnd`."""

    tool_call_id: str
    return_value: ToolReturn


# --- compaction, with keys of our own (D26) ---------------------------------------------------------------------------


class CompactionBegin(Message):
    """Compaction starts; no step runs until `CompactionEnd`. Between steps or turns only."""

    compaction_id: str = ""


class CompactionEnd(Message):
    """The context now is `summary`, the earlier messages at the positions `also_kept`, and the last `kept` messages.

    Positions count from 0 in the context as it was. `note` says in a sentence what was kept. All keys are ours (D26).
    `failed`: the context is as before; `cancelled`: because somebody wanted it so.
    """

    compaction_id: str = ""
    summary: str = ""
    kept: int = 0
    also_kept: tuple[int, ...] = ()
    tokens_before: int = 0
    tokens_after: int = 0
    strategy: str = ""
    note: str = ""
    failed: bool = False
    cancelled: bool = False
    error: str = ""


# --- status -------------------------------------------------------------------------------------------------------------


class McpServerStatus(Message):
    """One MCP server's state."""

    name: str
    status: Literal["pending", "connecting", "connected", "failed", "unauthorized"]
    tools: tuple[str, ...] = ()


class McpStatus(Message):
    """State of all MCP servers of a session."""

    loading: bool
    connected: int
    total: int
    tools: int
    servers: tuple[McpServerStatus, ...] = ()


class StatusUpdate(Message):
    """Numbers for a status line, at any time; null means unchanged. `context_usage` is 0..1.

    `cost` (ours) is the whole session's, in `currency`.
    """

    context_usage: float | None = None
    context_tokens: int | None = None
    max_context_tokens: int | None = None
    token_usage: TokenUsage | None = None
    message_id: str | None = None
    plan_mode: bool | None = None
    mcp_status: McpStatus | None = None
    cost: float | None = None
    currency: str | None = None


class MCPLoadingBegin(Message):
    """MCP servers start to connect."""


class MCPLoadingEnd(Message):
    """All MCP servers are connected or failed."""


class Notification(Message):
    """Something to tell the user, at any time; never part of the model's context by itself. `severity`: info, warning, error."""

    id: str
    category: str = "system"
    type: str = "notice"
    source_kind: str = ""
    source_id: str = ""
    title: str
    body: str = ""
    severity: str = "info"
    created_at: float = 0.0
    payload: dict[str, JsonValue] = Field(default_factory=dict)


class PlanDisplay(Message):
    """A plan document to show."""

    content: str
    file_path: str


class BtwBegin(Message):
    """A side question was asked; answered by `BtwEnd` with the same `id`.

    `client_id` (ours): of the client that asked it.
    """

    id: str
    question: str
    client_id: str = ""


class BtwEnd(Message):
    """The side question's answer, or why there is none."""

    id: str
    response: str | None = None
    error: str | None = None


class HookTriggered(Message):
    """Hooks run; `HookResolved` follows."""

    event: str
    target: str
    hook_count: int


class HookResolved(Message):
    """What the hooks decided. With `allow` a reason says how one of them failed."""

    event: str
    target: str
    action: Literal["allow", "block"]
    reason: str = ""
    duration_ms: int = 0


# --- the union ------------------------------------------------------------------------------------------------------------------


class SubagentEvent(Message):
    """An event of a subagent, in the parent's stream between the parent's `ToolCall` and its `ToolResult`."""

    parent_tool_call_id: str = Field(validation_alias=AliasChoices("parent_tool_call_id", "task_tool_call_id"))
    agent_id: str | None = None
    subagent_type: str | None = None
    event: SerializeAsAny[BaseModel]

    @field_validator("event", mode="before")
    @classmethod
    def _parse_event(cls, value: Any) -> Any:
        return parse(value) if isinstance(value, dict) else value  # pyright: ignore[reportUnknownArgumentType] -- raw input


Content: TypeAlias = TextPart | ThinkPart | ImagePart | AudioPart | VideoPart

WireEvent: TypeAlias = (
    TurnBegin | TurnEnd | StepBegin | StepInterrupted | StepRetry | SteerInput
    | ToolCall | ToolCallPart | ToolResult
    | StatusUpdate | CompactionBegin | CompactionEnd | MCPLoadingBegin | MCPLoadingEnd | Notification
    | PlanDisplay | BtwBegin | BtwEnd | HookTriggered | HookResolved
    | ApprovalResponse | SubagentEvent
)  # fmt: skip

WireRequest: TypeAlias = ApprovalRequest | ToolCallRequest | QuestionRequest | HookRequest

Extension: TypeAlias = (
    ToolCallDetail | CommandBegin | ToolOutput | Custom | RequestClosed | PromptQueued | PlanUpdate | SessionChanged
    | SubagentCreated | DirectoryAdded | SystemPrompt | Choice | ContextNote | ContextCleared | ContextReverted | ContextReturned
    | ServerState | MediaLeftOut | FilesRestoring | FilesRestored | DMailHeld | DMailTaken | QuestionResponse | HookResponse
)  # fmt: skip

WireMessage: TypeAlias = Content | WireEvent | WireRequest | Extension

Response: TypeAlias = ApprovalResponse | ToolResult | QuestionResponse | HookResponse
"""What a client answers to a request."""

# --- envelope -----------------------------------------------------------------------------------------------------------------

_CONTENT = get_args(Content)
_KINDS: dict[str, Any] = {
    "ContentPart": ContentPart,
    **{kind.__name__: kind for kind in get_args(WireEvent | WireRequest | Extension)},
    "ApprovalRequestResolved": ApprovalResponse,
}
"""By the envelope's `type`; the last is a legacy name."""


@cache
def _parser(name: str) -> Callable[[Any], WireMessage] | None:
    """A bare validator, because reading a session back is made of them; built when a message of its type first comes."""
    kind = _KINDS.get(name)
    return TypeAdapter[WireMessage](kind).validator.validate_python if kind is not None else None


MESSAGE_TYPES = tuple(_KINDS)
EXTENSION_TYPES = frozenset(kind.__name__ for kind in get_args(Extension))


class UnknownMessageError(ValueError):
    """An envelope whose type this version does not know, or whose payload does not fit its type."""


def type_name(message: WireMessage) -> str:
    """The envelope's `type`: the class name, or `ContentPart` for content."""
    return "ContentPart" if isinstance(message, _CONTENT) else type(message).__name__


def dump(message: WireMessage) -> dict[str, Any]:
    """The envelope `{type, payload}`, ready for JSON. None is written as null, as Wire clients expect."""
    payload = message.model_dump(mode="json")
    if isinstance(message, SubagentEvent):
        payload["event"] = dump(message.event)  # pyright: ignore[reportArgumentType] -- validated by `parse` on the way in
    return {"type": type_name(message), "payload": payload}


def parse(envelope: Any) -> WireMessage:
    """The message in an envelope; legacy names are accepted.

    Raises:
        UnknownMessageError: not an envelope, an unknown type, or a payload that does not fit.
    """
    if not isinstance(envelope, dict) or not isinstance(envelope.get("type"), str):  # pyright: ignore[reportUnknownMemberType] -- raw input
        raise UnknownMessageError("a Wire message is an object with `type` and `payload`")
    return parse_payload(envelope["type"], envelope.get("payload"))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] -- raw input


def parse_payload(name: str, payload: Any) -> WireMessage:
    """The message of a type, legacy names included, from its payload.

    Raises:
        UnknownMessageError: an unknown type, or a payload that does not fit.
    """
    parser = _parser(name)
    if parser is None:
        raise UnknownMessageError(f"unknown Wire message type {name!r}")
    try:
        return parser(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UnknownMessageError(f"{name}.{where}: {first['msg']}") from error
