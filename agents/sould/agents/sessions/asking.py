"""Putting approval requests to whoever is attached, and making their decisions durable before anything runs.

A request waits without limit, also over a restart of the daemon (D16): what was asked before is offered again under its
old id when the action is still exactly the same, and otherwise expires, which is never a denial.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sould.agents.wire.log import SessionLog
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, RequestClosed

EXPIRED = "This request waited while what it was about changed, so it expired. Look again and propose the action anew."


@dataclass(slots=True)
class Asker:
    """The `ask` of a session's `Approval`."""

    log: SessionLog
    _offered_before: dict[str, ApprovalRequest] = field(default_factory=dict[str, ApprovalRequest])

    def restore(self, pending: Iterable[ApprovalRequest]) -> None:
        """Requests that were pending when the daemon stopped."""
        self._offered_before = {request.tool_call_id: request for request in pending}

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse:
        """Ask, wait for the first answer, and return it once it is on disk."""
        before = self._offered_before.pop(request.tool_call_id, None)
        if before is not None and before.digest != request.digest:
            self.log.publish(RequestClosed(request_id=before.id, reason="expired"))
            return ApprovalResponse(request_id=before.id, response="reject", feedback=EXPIRED)
        if before is not None:
            request = request.model_copy(update={"id": before.id})
        response = await self.log.channel.request(request)
        await self.log.commit()
        assert isinstance(response, ApprovalResponse)
        return response
