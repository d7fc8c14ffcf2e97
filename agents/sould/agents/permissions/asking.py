"""What whoever asks a person shares: whom they ask, by which rules, and how a request says who asks. Decides nothing."""

import secrets
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pydantic import JsonValue

from sould.agents.base.yaml_text import as_lines
from sould.agents.permissions.rules import Rules
from sould.agents.permissions.visible import visible, visible_ends
from sould.agents.toolapi.base import ToolCallContext
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, QuestionItem, QuestionOption

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
        source_description=(visible(source.description) or None) if source is not None else None,
        tool_call_id=call.id,
        sender=visible(sender),
        action=visible(action),
        description=description,
    )


def call_words(wanted: str, arguments: dict[str, JsonValue]) -> str:
    """What a person is asked about a call of somebody else's tool: `wanted`, and the arguments a line each."""
    return f"{wanted} with\n{as_lines(arguments)}" if arguments else wanted


def shown_item(item: QuestionItem) -> QuestionItem:
    """A question as people are shown it; the text that a free answer begins with stays as it is."""
    update = {
        "question": shown_words(item.question),
        "header": shown_words(item.header),
        "body": "\n".join(visible_ends(line.rstrip()) for line in item.body.split("\n")),
        "options": tuple(
            QuestionOption(label=shown_words(each.label), description=shown_words(each.description))
            for each in item.options
        ),
    }
    return item.model_copy(update=update)


def shown_words(text: str) -> str:
    """Line by line, as commands are shown."""
    return "\n".join(visible(line.rstrip(" ")) for line in text.split("\n"))
