"""What whoever asks a person shares: whom they ask, by which rules, and what a request says and shows. Decides nothing."""

import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from pydantic import JsonValue

from sould.agents.base.yaml_text import as_lines
from sould.agents.permissions.policy import (
    Action,
    CallExternal,
    EditFile,
    FetchPage,
    ReadFile,
    RepeatCall,
    RunCommand,
    Verdict,
)
from sould.agents.permissions.rules import Rules
from sould.agents.permissions.scopes import button, difference, session_words, told
from sould.agents.permissions.visible import (
    LONG,
    foreign_characters,
    has_hidden_characters,
    shortened,
    visible,
    visible_ends,
)
from sould.agents.toolapi.base import ToolCallContext
from sould.agents.wire.display import DiffBlock, DisplayBlock, ShellBlock
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


def call_words(wanted: str, arguments: Mapping[str, JsonValue]) -> str:
    """What a person is asked about a call of somebody else's tool: `wanted`, and the arguments a line each."""
    return f"{wanted} with\n{as_lines(dict(arguments))}" if arguments else wanted


def action_name(action: Action) -> str:
    """Wire's name for the kind of action."""
    match action:
        case ReadFile():
            return "read file"
        case EditFile(path=path):
            return "edit file" if path.inside else "edit file outside of working directory"
        case RunCommand():
            return "run command"
        case CallExternal(name=name):
            return f"mcp:{name}"
        case FetchPage():
            return "fetch"
        case RepeatCall():
            return "repeat call"


def digest(action: Action, display: tuple[DisplayBlock, ...] = ()) -> str:
    """sha256 of the canonical action with everything that was shown of it."""
    canonical = {
        "kind": type(action).__name__,
        "action": _fields(action),
        "display": [_whole(block) for block in display],
    }
    return hashlib.sha256(json.dumps(canonical, sort_keys=True).encode()).hexdigest()


def _whole(block: DisplayBlock) -> dict[str, Any]:
    """What JSON leaves out of a secret's difference is bound, too."""
    return (
        {**block.model_dump(), **dict(block)} if isinstance(block, DiffBlock) and block.secret else block.model_dump()
    )


def _fields(action: Action) -> dict[str, Any]:
    match action:
        case ReadFile(path=path):
            return {"path": str(path.path)}
        case EditFile(path=path, operation=operation):
            return {"path": str(path.path), "operation": operation}
        case RunCommand(line=line, cwd=cwd):
            return {"line": line, "cwd": str(cwd)}
        case FetchPage(host=host, url=url):
            return {"host": host, "url": url}
        case CallExternal(name=name, arguments=arguments) | RepeatCall(name=name, arguments=arguments):
            return {"name": name, "arguments": dict(arguments)}


def question_of(
    call: ToolCallContext,
    action: Action,
    verdict: Verdict,
    sender: str,
    description: str,
    display: tuple[DisplayBlock, ...],
) -> ApprovalRequest:
    """The request that asks a person about an action, in words that may safely be shown."""
    offer = verdict.scope_offer if is_short(action) else None
    display = (*display, *filter(None, map(difference, verdict.changes)))
    notes = [
        shortened(visible(description)),
        visible(verdict.reason),
        *map(told, verdict.changes),
        *_warnings(action, display),
    ]
    request = request_of(
        call, sender=sender, action=action_name(action), description="\n".join(note for note in notes if note)
    )
    update = {
        "display": tuple(_shown(block) for block in display),
        "digest": digest(action, display),
        "scope": session_words(offer) if offer is not None else "",
        "scope_button": button(offer) if offer is not None else "",
        "changed": offer is not None and bool(verdict.changes),
    }
    return request.model_copy(update=update)


def is_short(action: Action) -> bool:
    """All of it is shown, so that an answer may hold for longer."""
    return not isinstance(action, RunCommand) or len(action.line) <= LONG


def _warnings(action: Action, display: tuple[DisplayBlock, ...]) -> list[str]:
    warnings: list[str] = []
    if isinstance(action, RunCommand):
        warnings.append(foreign_characters(action.line))
    elif isinstance(action, EditFile | ReadFile):
        warnings.append(foreign_characters(str(action.path.path)))
    elif isinstance(action, FetchPage):
        warnings.append(foreign_characters(action.host))
    if any(
        has_hidden_characters(block.new_text) and not has_hidden_characters(block.old_text)
        for block in display
        if isinstance(block, DiffBlock)
    ):
        warnings.append("The new text contains characters that cannot be seen or change the direction of reading.")
    return warnings


def _shown(block: DisplayBlock) -> DisplayBlock:
    """Commands are marked up; a diff stays as it is, because editors compare and apply it."""
    if isinstance(block, ShellBlock):
        return block.model_copy(update={"command": visible(block.command)})
    return block


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
