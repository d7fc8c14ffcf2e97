"""`/afk`: the user said that they are away. Until they are back, whatever would wait for them is dismissed at once.

Dismissed is never allowed: a question ends without an answer, an approval is refused with the reason. Nothing is
remembered: a session that is opened anew has its user back.
"""

from typing import Final

from sould.agents.journal.channel import Channel, Record
from sould.agents.sessions.settings.modes import Modes
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    HookRequest,
    QuestionRequest,
    QuestionResponse,
    ToolCallRequest,
    WireMessage,
)

REFUSED: Final = "The user is away, so nobody can allow this. Go on without it, and say at the end what is left to do."
BY: Final = "/afk"
GONE: Final = (
    "You are away: full access for this session, questions are dismissed, and what would still ask is refused. "
    "`/afk off` ends this."
)


class AwayMode:
    """What happens to the requests of a session while its user is away. Sees every one before any client does."""

    def __init__(self, channel: Channel, modes: Modes) -> None:
        self._channel = channel
        self._modes = modes
        channel.listen((QuestionRequest, ApprovalRequest), self._take)

    def dismiss_pending(self) -> None:
        """The user has just gone: what waits for them waits no longer."""
        for request in self._channel.pending:
            self._dismiss(request)

    def _take(self, record: Record) -> None:
        if self._modes.away:
            self._dismiss(record.message)

    def _dismiss(self, message: WireMessage) -> None:
        match message:
            case QuestionRequest():
                self._channel.resolve(QuestionResponse(request_id=message.id), BY)
            case ApprovalRequest():
                refusal = ApprovalResponse(request_id=message.id, response="reject", feedback=REFUSED)
                self._channel.resolve(refusal, BY)
            case HookRequest() | ToolCallRequest() | _:
                return  # programs answer these
