"""What the methods of Wire are answered with. Values only; docs/schemas is made of these."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType


class Server(Struct, frozen=True):
    """Who answers."""

    name: str
    version: str


class SlashCommand(Struct, frozen=True):
    """A command that a prompt may begin with, without its slash."""

    name: str
    description: str
    aliases: tuple[str, ...]


class RejectedTool(Struct, frozen=True):
    """A tool of the client that is not offered to the model, and why."""

    name: str
    reason: str


class ExternalTools(Struct, frozen=True):
    """What became of the client's tools."""

    accepted: tuple[str, ...]
    rejected: tuple[RejectedTool, ...]


class Hooks(Struct, frozen=True):
    """The events that hooks can be for, and how many hooks there are for each, whoever's they are."""

    supported_events: tuple[str, ...]
    configured: dict[str, int]


class ServerCapabilities(Struct, frozen=True):
    """What the server can do."""

    supports_question: bool


class OwnSession(Struct, frozen=True):
    """Only sould has this: the session that the connection is for, and its directory."""

    session_id: str
    cwd: str


class Initialized(Struct, frozen=True):
    """Of `initialize`. `external_tools` is absent where the client named none."""

    protocol_version: str
    server: Server
    slash_commands: tuple[SlashCommand, ...]
    hooks: Hooks
    capabilities: ServerCapabilities
    sould: OwnSession
    external_tools: ExternalTools | UnsetType = UNSET


class Prompted(Struct, frozen=True):
    """Of `prompt`, when its turn has ended. `steps`: how many there were, if they were too many."""

    status: Literal["finished", "cancelled", "max_steps_reached"]
    steps: int | UnsetType = UNSET


class Steered(Struct, frozen=True):
    """Of `steer`."""

    status: Literal["steered"] = "steered"


class PlanModeSet(Struct, frozen=True):
    """Of `set_plan_mode`."""

    plan_mode: bool
    status: Literal["ok"] = "ok"


class Replayed(Struct, frozen=True):
    """Of `replay`: how many were sent. `next` answers a `limit`: what `since` is to be next time; null: that was all."""

    status: Literal["finished", "cancelled"]
    events: int
    requests: int
    next: int | UnsetType | None = UNSET


class Cancelled(Struct, frozen=True):
    """Of `cancel`."""


class Failed(Struct, frozen=True):
    """The `error` of an answer. `data` is for programs; null: there is none."""

    code: Literal[-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003, -32004]
    message: str
    data: dict[str, Any] | None
