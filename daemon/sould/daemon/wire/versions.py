"""What each version of Wire has, and what of a message a client can read.

A client is sent only types that its version knows, and of them only Wire's own fields; what is ours (`Extension`, further
keys) only where it asks for it. `TurnEnd` is always sent: clients wait for it.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct
from pydantic.main import IncEx

from sould.agents.wire.messages import (
    EXTENSION_TYPES,
    PROTOCOL_VERSION,
    QuestionRequest,
    SubagentEvent,
    WireMessage,
    dump,
    type_name,
)

Json: TypeAlias = dict[str, Any]
Version: TypeAlias = tuple[int, int]
OLDEST: Final[Version] = (1, 1)
UNINTRODUCED: Final[Version] = (1, 2)
"""What clients read that say neither who they are nor what they can do: they stop at the first event that they do not know."""
NEWEST: Final[Version] = tuple(map(int, PROTOCOL_VERSION.split(".")))  # pyright: ignore[reportAssignmentType] -- two numbers
_PARENT_RENAMED: Final[Version] = (1, 6)
"""From this version on `task_tool_call_id` of `SubagentEvent` is `parent_tool_call_id`."""


OURS_IN_PARTS: Final[IncEx] = {"origin"}
_INPUT: Final[IncEx] = {"user_input": {"__all__": OURS_IN_PARTS}}
_DISPLAY: Final[IncEx] = {"__all__": {"is_new", "secret"}}


class WireType(NamedTuple):
    """A type of Wire: the version that brought it, its fields, and what within them is ours, as `exclude` of pydantic has it."""

    since: Version
    fields: tuple[str, ...]
    ours: IncEx | None = None


TYPES: Final[Mapping[str, WireType]] = {
    "TurnBegin": WireType(OLDEST, ("user_input",), _INPUT),
    "TurnEnd": WireType(OLDEST, ()),
    "StepBegin": WireType(OLDEST, ("n",)),
    "StepInterrupted": WireType(OLDEST, ()),
    "CompactionBegin": WireType(OLDEST, ()),
    "CompactionEnd": WireType(OLDEST, ()),
    "StatusUpdate": WireType(
        OLDEST,
        (
            *("context_usage", "context_tokens", "max_context_tokens", "token_usage", "message_id"),
            *("plan_mode", "mcp_status"),
        ),
        {"token_usage": {"output_thought"}},
    ),
    "ToolCall": WireType(OLDEST, ("type", "id", "function", "extras")),
    "ToolCallPart": WireType(OLDEST, ("arguments_part",)),
    "ToolResult": WireType(
        OLDEST,
        ("tool_call_id", "return_value"),
        {"return_value": {"output": {"__all__": OURS_IN_PARTS}, "display": _DISPLAY}},
    ),
    "ApprovalRequest": WireType(
        OLDEST,
        (
            *("id", "tool_call_id", "sender", "action", "description", "source_kind", "source_id", "agent_id"),
            *("subagent_type", "source_description", "display"),
        ),
        {"display": _DISPLAY},
    ),
    "ApprovalResponse": WireType(OLDEST, ("request_id", "response", "feedback")),
    "ToolCallRequest": WireType(OLDEST, ("id", "name", "arguments")),
    "SubagentEvent": WireType(OLDEST, ("parent_tool_call_id", "agent_id", "subagent_type", "event")),
    "QuestionRequest": WireType((1, 4), ("id", "tool_call_id", "questions"), {"questions": {"__all__": {"default"}}}),
    "SteerInput": WireType((1, 5), ("user_input",), _INPUT),
    "PlanDisplay": WireType((1, 7), ("content", "file_path")),
    "HookTriggered": WireType((1, 7), ("event", "target", "hook_count")),
    "HookResolved": WireType((1, 7), ("event", "target", "action", "reason", "duration_ms")),
    "HookRequest": WireType((1, 7), ("id", "subscription_id", "event", "target", "input_data")),
    "BtwBegin": WireType((1, 9), ("id", "question")),
    "BtwEnd": WireType((1, 9), ("id", "response", "error")),
    "StepRetry": WireType((1, 10), ("n", "next_attempt", "max_attempts", "wait_s", "error_type", "status_code")),
    # in no version's documentation; 1.10 has them
    "MCPLoadingBegin": WireType((1, 10), ()),
    "MCPLoadingEnd": WireType((1, 10), ()),
    "Notification": WireType(
        (1, 10),
        (
            *("id", "category", "type", "source_kind", "source_id", "title", "body", "severity", "created_at"),
            "payload",
        ),
    ),
}
"""All but `ContentPart`, which every version has and whose fields are the part's own, without `OURS_IN_PARTS`."""
UNREAD: Final[Mapping[str, frozenset[str]]] = {"kimi-agent-sdk": frozenset({"PlanDisplay"})}
"""What clients do not read that say a version which has it, by the beginning of their names. Tried with the SDK 0.1.8."""


class WireReader(Struct, frozen=True):
    """What one client reads."""

    version: Version = OLDEST
    questions: bool = False
    extensions: bool = False
    """It asked for messages and fields of ours."""
    unread: frozenset[str] = frozenset()

    def envelope(self, message: WireMessage) -> Json | None:
        """`{type, payload}` of what the client reads of a message; None: nothing."""
        name = type_name(message)
        if self.extensions:
            return dump(message)
        if name == "ContentPart":
            return {"type": name, "payload": message.model_dump(mode="json", exclude=OURS_IN_PARTS)}
        if name in EXTENSION_TYPES or not self._reads(name, message):
            return None
        kind = TYPES[name]
        payload = message.model_dump(mode="json", include=set(kind.fields), exclude=kind.ours)
        if isinstance(message, SubagentEvent):
            event = self.envelope(message.event)  # pyright: ignore[reportArgumentType] -- a message, which `parse` has checked
            if event is None:
                return None
            payload["event"] = event
            if self.version < _PARENT_RENAMED:
                payload["task_tool_call_id"] = message.parent_tool_call_id
        return {"type": name, "payload": payload}

    def _reads(self, name: str, message: WireMessage) -> bool:
        if isinstance(message, QuestionRequest) and not self.questions:
            return False
        return self.version >= TYPES[name].since and name not in self.unread


def version_of(text: str) -> Version:
    """A version as a client says it, no newer than ours; the oldest for what is none."""
    major, _, minor = text.partition(".")
    if not major.isdecimal() or not minor.isdecimal():
        return OLDEST
    return max(OLDEST, min(NEWEST, (int(major), int(minor))))


def unread_by(name: str) -> frozenset[str]:
    """What a client of this name does not read, whatever version it says."""
    return next((types for beginning, types in UNREAD.items() if name.startswith(beginning)), frozenset[str]())
