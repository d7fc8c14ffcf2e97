"""Whether the turn under way stands still for answers that outlive the daemon, so that its end interrupts nothing (D16)."""

from msgspec import Struct

from sould.agents.journal.channel import Cursor
from sould.agents.journal.log import SessionLog
from sould.agents.journal.recovery import OpenWork
from sould.agents.permissions.questions import Questions
from sould.agents.sessions.turns import interrupted_commands
from sould.agents.sessions.turns.approval_requests import ApprovalRequester
from sould.agents.soul.call_scheduler import not_begun
from sould.agents.soul.unfinished import unfinished
from sould.agents.wire.messages import ApprovalRequest, QuestionRequest, ToolCallDetail


class Standstill(Struct):
    """Of one session. Asked again and again, it reads the journal once for each time that nothing more was published."""

    log: SessionLog
    asker: ApprovalRequester
    questions: Questions
    _position: Cursor | None = None
    _found: bool | None = None

    def reached(self) -> bool:
        """All that goes on waits for approvals and answers, and nothing was published since this was asked last."""
        if not any(isinstance(request, ApprovalRequest | QuestionRequest) for request in self.log.channel.pending):
            return False
        if (position := self.log.channel.position) != self._position:
            self._position, self._found = position, None
            return False
        if self._found is None:
            self._found = self._only_waits()
        return self._found

    def _only_waits(self) -> bool:
        records = list(self.log.replay())
        messages = [record.message for record in records]
        work = OpenWork()
        for message in messages:
            work.apply(message)
        left = unfinished(messages, (*self.log.channel.pending, *self.asker.unasked, *self.questions.unasked))
        after = {each.tool_call_id: each.after for each in messages if isinstance(each, ToolCallDetail)}
        open_calls = [call.id for call in work.calls]
        stands = left.calls | not_begun(open_calls, after, left.calls)
        return bool(open_calls) and stands.issuperset(open_calls) and not interrupted_commands.running(records)
