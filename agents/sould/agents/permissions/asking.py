"""What whoever asks a person shares: whom they ask, by which rules, and how a request says who asks. Decides nothing."""

import secrets
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from sould.agents.permissions.rules import Rules
from sould.agents.permissions.visible import visible
from sould.agents.toolapi.base import ToolCallContext
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse

Ask = Callable[[ApprovalRequest], Awaitable[ApprovalResponse]]
RulesSource: TypeAlias = Callable[[], Rules]
"""The user's rules, as they are now."""


def request_of(call: ToolCallContext, *, sender: str, action: str, description: str) -> ApprovalRequest:
    """A request of a call's agent. Nothing of it is shown so far but these words."""
    source = call.source
    return ApprovalRequest(
        id=secrets.token_hex(8),
        source_kind="background_agent" if source is not None and source.background else "foreground_turn",
        source_id=call.turn_id or None,
        agent_id=source.agent_id if source is not None else None,
        subagent_type=source.kind if source is not None else None,
        subagent_chain=tuple(map(visible, source.lineage)) if source is not None else (),
        source_description=(source.description or None) if source is not None else None,
        tool_call_id=call.id,
        sender=visible(sender),
        action=visible(action),
        description=description,
    )
