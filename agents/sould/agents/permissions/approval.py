"""Approvals: the one door between a tool and its effects."""

from collections.abc import Awaitable, Callable

from sould.agents.permissions.policy import Action, Mode
from sould.agents.tools.base import ToolCallContext
from sould.agents.wire.display import DisplayBlock
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, ToolReturn

Ask = Callable[[ApprovalRequest], Awaitable[ApprovalResponse]]


class Approval:
    """Decides, asks, remembers. Injectable into tools."""

    mode: Mode

    async def request(
        self,
        call: ToolCallContext,
        action: Action,
        *,
        sender: str,
        description: str,
        display: tuple[DisplayBlock, ...] = (),
    ) -> ToolReturn | None:
        """None: go ahead with exactly this action. A `ToolReturn`: it was refused; return it as the tool's result.

        Waits without limit for an answer (D16); cancellation is the task's.
        """
        raise NotImplementedError
