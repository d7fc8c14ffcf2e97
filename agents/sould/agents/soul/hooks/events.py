"""The events hooks are for, and what a client that wants to decide on one says. Imports nothing heavy."""

from typing import Final

from msgspec import Struct

EVENTS: Final = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "StopFailure", "SessionStart",
    "SessionEnd", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Notification",
)  # fmt: skip


class Subscription(Struct, frozen=True):
    """A client that wants to decide on an event; `id` is the client's name for it."""

    id: str
    event: str
    matcher: str = ""
    timeout: float = 30
