"""The shapes of what we send, for the type checker: dictionaries that become JSON as they are.

Names and fields are the official schema's; tests validate every line against it. No behaviour here.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Json: TypeAlias = dict[str, Any]
ToolStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]


class Location(TypedDict):
    """A place a call touches; `line` counts from 1."""

    path: str
    line: NotRequired[int]


class ToolFields(TypedDict, total=False):
    """A tool call or what changed of it; arrays replace. In a permission request it stands alone."""

    sessionUpdate: Literal["tool_call", "tool_call_update"]
    toolCallId: str
    title: str
    name: str
    kind: str
    status: ToolStatus
    content: list[Json]
    locations: list[Location]
    rawInput: Any
    rawOutput: Any
    _meta: Json


class SelectOption(TypedDict):
    """One value of a config option."""

    value: str
    name: str
    description: NotRequired[str]


class ConfigOption(TypedDict):
    """One session option."""

    id: str
    name: str
    category: str
    type: Literal["select"]
    currentValue: str
    options: list[SelectOption]
    description: NotRequired[str]


class Mode(TypedDict):
    """One mode."""

    id: str
    name: str
    description: NotRequired[str]


class SessionModes(TypedDict):
    """The mode option once more, for clients that know only modes."""

    currentModeId: str
    availableModes: list[Mode]


class SessionState(TypedDict):
    """What every way to open a session answers with."""

    sessionId: NotRequired[str]
    configOptions: list[ConfigOption]
    modes: NotRequired[SessionModes]
