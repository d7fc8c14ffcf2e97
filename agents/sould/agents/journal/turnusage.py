"""How many tokens a turn took, as the servers of its models counted them. It counts, and limits nothing."""

from typing import Final

from sould.agents.wire.messages import StatusUpdate, SubagentEvent, TokenUsage, TurnBegin, WireMessage

COUNTED: Final[tuple[type[WireMessage], ...]] = (TurnBegin, StatusUpdate, SubagentEvent)
"""The messages that it follows."""


class TurnUsage:
    """Of one session. What a subagent in the background takes belongs to the turn that runs meanwhile."""

    def __init__(self, total: TokenUsage | None = None) -> None:
        self.total = total
        """Since the last turn began; None: nobody has counted anything."""

    def apply(self, message: WireMessage) -> None:
        """Take the next message of the session that is one of `COUNTED`."""
        if isinstance(message, TurnBegin):
            self.total = None
        while isinstance(message, SubagentEvent):
            message = message.event  # pyright: ignore[reportAssignmentType] -- a message, which `parse` has checked
        if isinstance(message, StatusUpdate) and message.token_usage is not None:
            self.total = message.token_usage if self.total is None else self.total + message.token_usage
