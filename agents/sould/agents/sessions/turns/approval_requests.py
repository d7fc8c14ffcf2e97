"""Putting approval requests to whoever is attached, and making their decisions durable before anything runs.

A request waits without limit, also over a restart of the daemon (D16): what was asked before is offered again under its
old id when the action is still exactly the same, and otherwise expires, which is never a denial.
"""

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct, field

from sould.agents.journal.log import SessionLog
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, RequestClosed, WireMessage, WireRequest

EXPIRED = "This request waited while what it was about changed, so it expired. Look again and propose the action again."


class ApprovalRequester(Struct):
    """The `ask` of a session's `Approval`."""

    log: SessionLog
    _offered_before: dict[str, ApprovalRequest] = field(default_factory=dict[str, ApprovalRequest])
    _allowed_before: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Of calls that asked more than once: what was allowed before their last question, by call and digest."""

    def restore(self, pending: Iterable[WireRequest], said: Iterable[WireMessage]) -> None:
        """Requests that were pending when the daemon stopped, and all that was said in the session until then."""
        approvals = (request for request in pending if isinstance(request, ApprovalRequest))
        self._offered_before = {request.tool_call_id: request for request in approvals}
        self._allowed_before = set(_allowed(said)) if self._offered_before else set()

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
            self._allowed_before.remove((request.tool_call_id, request.digest))
            return ApprovalResponse(request_id=before.id, response="approve")
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


def _allowed(said: Iterable[WireMessage]) -> Iterator[tuple[str, str]]:
    """By call and digest."""
    asked: dict[str, ApprovalRequest] = {}
    for message in said:
        if isinstance(message, ApprovalRequest):
            asked[message.id] = message
        elif isinstance(message, ApprovalResponse) and message.response != "reject" and message.request_id in asked:
            request = asked[message.request_id]
            yield request.tool_call_id, request.digest
