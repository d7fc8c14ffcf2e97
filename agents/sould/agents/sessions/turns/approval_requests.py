"""Putting approval requests to whoever is attached, and making their decisions durable before anything runs.

A request waits without limit, also over a restart of the daemon (D16): what was asked before is offered again under its
old id when the action is still exactly the same, and otherwise expires, which is never a denial.
"""

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct, field

from sould.agents.journal.channel import Cursor
from sould.agents.journal.log import SessionLog
from sould.agents.journal.recovery import OpenWork
from sould.agents.permissions.questions import Questions
from sould.agents.sessions.turns import interrupted_commands
from sould.agents.soul.call_scheduler import not_begun
from sould.agents.soul.unfinished import unfinished
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    QuestionRequest,
    RequestClosed,
    ToolCallDetail,
    WireMessage,
    WireRequest,
)

EXPIRED = "This request waited while what it was about changed, so it expired. Look again and propose the action again."


class ApprovalRequester(Struct):
    """The `ask` of a session's `Approval`."""

    log: SessionLog
    _offered_before: dict[str, ApprovalRequest] = field(default_factory=dict[str, ApprovalRequest])
    _allowed_before: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Of calls that asked more than once: what was allowed before their last question, by call and digest, and with which words."""

    def restore(self, pending: Iterable[WireRequest], said: Iterable[WireMessage]) -> None:
        """Requests that were pending when the daemon stopped, and all that was said in the session until then."""
        approvals = (request for request in pending if isinstance(request, ApprovalRequest))
        self._offered_before = {request.tool_call_id: request for request in approvals}
        self._allowed_before = dict(_allowed(said)) if self._offered_before else {}

    @property
    def unasked(self) -> tuple[ApprovalRequest, ...]:
        """Those of them that were not offered again so far."""
        return tuple(self._offered_before.values())

    def expire(self, request_ids: Collection[str]) -> None:
        """These will not be offered again: whoever asked has ended."""
        for request in self.unasked:
            if request.id in request_ids:
                del self._offered_before[request.tool_call_id]
                self.log.publish(RequestClosed(request_id=request.id, reason="expired"))

    def forget(self) -> None:
        """Leave what was not offered again to the next daemon."""
        self._offered_before.clear()

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse:
        """Ask, wait for the first answer, and return it once it is on disk."""
        before = self._offered_before.get(request.tool_call_id)
        if before is not None and (request.tool_call_id, request.digest) in self._allowed_before:
            words = self._allowed_before.pop((request.tool_call_id, request.digest))
            return ApprovalResponse(request_id=before.id, response="approve", feedback=words)
        self._offered_before.pop(request.tool_call_id, None)
        if before is not None and before.digest != request.digest:
            self.log.publish(RequestClosed(request_id=before.id, reason="expired"))
            return ApprovalResponse(request_id=before.id, response="reject", feedback=EXPIRED)
        if before is not None:
            request = request.model_copy(update={"id": before.id})
        response = await self.log.channel.request(request)
        await self.log.commit()
        assert isinstance(response, ApprovalResponse)
        return response


def _allowed(said: Iterable[WireMessage]) -> Iterator[tuple[tuple[str, str], str]]:
    """The user's words, by call and digest."""
    asked: dict[str, ApprovalRequest] = {}
    for message in said:
        if isinstance(message, ApprovalRequest):
            asked[message.id] = message
        elif isinstance(message, ApprovalResponse) and message.response != "reject" and message.request_id in asked:
            request = asked[message.request_id]
            yield (request.tool_call_id, request.digest), message.feedback


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
