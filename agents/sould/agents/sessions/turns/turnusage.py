"""How many tokens a turn took, as the servers of its models counted them. It counts, and limits nothing."""

from collections.abc import Iterable

from sould.agents.journal.channel import Channel, Record
from sould.agents.wire.messages import StatusUpdate, SubagentEvent, TokenUsage, TurnBegin, WireMessage


class TurnUsage:
    """Of one session. What a subagent in the background takes belongs to the turn that runs meanwhile."""

    def __init__(self, channel: Channel) -> None:
        self.total: TokenUsage | None = None
        """Since the running turn began; None: nobody has counted anything."""
        channel.listen((StatusUpdate, SubagentEvent), lambda record: self._add(record.message))

    def begin(self, records: Iterable[Record] = ()) -> None:
        """A turn begins, or goes on that was begun in these records of the session."""
        self.total = None
        for record in records:
            if isinstance(record.message, TurnBegin):
                self.total = None
            else:
                self._add(record.message)

    def _add(self, message: WireMessage) -> None:
        while isinstance(message, SubagentEvent):
            message = message.event  # pyright: ignore[reportAssignmentType] -- a message, which `parse` has checked
        if isinstance(message, StatusUpdate) and message.token_usage is not None:
            self.total = message.token_usage if self.total is None else self.total + message.token_usage
