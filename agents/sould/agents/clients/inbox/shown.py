"""The inbox as clients are shown it: requests in the shapes of `shapes`. Pure."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from sould.agents.base.text import iso_time, subagent_of
from sould.agents.clients.inbox.shapes import (
    AskedCommand,
    AskedEdit,
    AskedOption,
    AskedQuestion,
    EndedItem,
    InboxItem,
    InboxSession,
    OfferedScope,
)
from sould.agents.permissions.outputs import output_text
from sould.agents.permissions.scopes import offered
from sould.agents.permissions.visible import both_ends, diff_lines
from sould.agents.sessions.inbox import Ended, Waiting
from sould.agents.wire.display import BriefBlock, DiffBlock, DisplayBlock, ShellBlock
from sould.agents.wire.messages import ApprovalRequest, QuestionItem, QuestionRequest

MOST_LINES: Final = 200
"""Of a request in a list, unless a command waits."""
MOST_TEXT: Final = 256 * 1024
"""Characters of the files' texts in one list."""


def shown_item(waiting: Waiting, project: str) -> InboxItem:
    """A request, whole. `project`: the root of its session's."""
    info = waiting.session
    session = InboxSession(info.id, info.title, str(info.cwd), project, waiting.is_open)
    if isinstance(waiting.request, ApprovalRequest):
        return _approval(waiting.request, session, iso_time(waiting.since))
    return _question(waiting.request, session, iso_time(waiting.since))


def shortened(items: tuple[InboxItem, ...]) -> tuple[InboxItem, ...]:
    """The same as a list shows them: long texts are left out, and said to be."""
    room = MOST_TEXT
    found: list[InboxItem] = []
    for item in items:
        edits: list[AskedEdit] = []
        for edit in item.edits:
            room -= len(edit.before) + len(edit.after)
            edits.append(edit if room >= 0 else replace(edit, before="", after="", cut=True))
        most = None if item.commands else MOST_LINES  # what would be run is never shown in parts
        lines = both_ends(item.lines, most)
        more = max(0, len(item.lines) - MOST_LINES) if most else 0
        found.append(replace(item, edits=tuple(edits), lines=lines, more=more))
    return tuple(found)


def shown_end(ended: Ended) -> EndedItem:
    """What became of a request."""
    return EndedItem(ended.id, ended.session_id, ended.how, ended.by, iso_time(ended.at), ended.words)


def request_lines(request: ApprovalRequest | QuestionRequest) -> tuple[str, list[str]]:
    """A request as text: its title, one line, and what else is to be seen before it is answered."""
    if isinstance(request, ApprovalRequest):
        title, *more = request.description.split("\n")
        if request.held is not None:
            return title, [*more, *output_text(request.held.result).split("\n")]
        return title or request.action, [*more, *(line for block in request.display for line in _lines(block))]
    title = request.questions[0].question if request.questions else "a question"
    first, *rest = title.split("\n")
    return first, [*rest, *(line for item in request.questions for line in item.body.splitlines())]


def asker(request: ApprovalRequest | QuestionRequest) -> str:
    """The subagent that asks, in words; "" for the agent itself."""
    kind = request.subagent_type if isinstance(request, ApprovalRequest) else None
    return f"the {subagent_of(kind, request.subagent_chain)}" if kind and isinstance(request, ApprovalRequest) else ""


def _approval(request: ApprovalRequest, session: InboxSession, since: str) -> InboxItem:
    title, lines = request_lines(request)
    return InboxItem(
        request.id,
        "approval",
        session,
        since,
        title,
        tuple(lines),
        asker=asker(request),
        tool_call_id=request.tool_call_id,
        action=request.action,
        commands=tuple(
            AskedCommand(block.command, session.cwd, block.language)
            for block in request.display
            if isinstance(block, ShellBlock)
        ),
        edits=tuple(_edit(block) for block in request.display if isinstance(block, DiffBlock)),
        scopes=tuple(OfferedScope(each.scope, each.label, each.remembers) for each in offered(request)),
    )


def _edit(block: DiffBlock) -> AskedEdit:
    return AskedEdit(
        block.path,
        block.old_text,
        block.new_text,
        block.old_start,
        block.new_start,
        block.is_summary,
        block.is_new,
    )


def _question(request: QuestionRequest, session: InboxSession, since: str) -> InboxItem:
    title, lines = request_lines(request)
    return InboxItem(
        request.id,
        "form" if request.form is not None else "question",
        session,
        since,
        title,
        tuple(lines),
        tool_call_id=request.tool_call_id,
        questions=tuple(map(_asked, request.questions)),
        form=request.form.model_dump(mode="json") if request.form is not None else {},
    )


def _asked(item: QuestionItem) -> AskedQuestion:
    options = tuple(AskedOption(option.label, option.description) for option in item.options)
    return AskedQuestion(
        item.question, item.header, item.body, options, item.multi_select, item.other_label, item.default
    )


def _lines(block: DisplayBlock) -> Iterator[str]:
    match block:
        case ShellBlock():
            yield from (f"$ {line}" for line in block.command.split("\n"))
        case DiffBlock():
            yield from diff_lines(block.path, block.old_text, block.new_text)
        case BriefBlock():
            yield block.text
        case _:
            return
