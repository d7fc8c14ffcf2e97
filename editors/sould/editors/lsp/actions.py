"""Code actions: decisions about the hunks of a range, and what an agent can be asked about it."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lsprotocol import types

from sould.agents.files.reviewing.listing import ReviewedHunk
from sould.editors.lsp.client import LspClient
from sould.editors.lsp.hunks import called, hunks_of, named, touched
from sould.editors.lsp.protocol import server, written

MOST_HUNKS: Final = 5
"""In a range that are offered one by one."""
MOST_QUESTIONS: Final = 3
"""Of agents that are offered to be answered."""
QUICK: Final = "quickfix"
REWRITE: Final = "refactor.rewrite"


@server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
async def show(client: LspClient, params: types.CodeActionParams) -> list[types.CodeAction] | list[types.Command]:
    """Those of a range. An editor that knows only commands gets these."""
    hunks = await hunks_of(client, params.text_document.uri)
    only = params.context.only
    waiting = await client.sessions.pending() if params.range.start != params.range.end else []
    questions = [each for each in waiting if each["kind"] == "question"]
    offered = (
        *_reviewing(params, hunks, shows_base=client.can.shows_content),
        *_asking(params),
        *_answering(params, questions),
    )
    actions = [each for each in offered if only is None or any(_is_of(each.kind or "", kind) for kind in only)]
    if client.can.action_kinds:
        return actions
    return [each.command for each in actions if each.command is not None]


def _is_of(kind: str, wanted: str) -> bool:
    return kind == wanted or kind.startswith(wanted + ".") or not wanted


def _reviewing(
    params: types.CodeActionParams, hunks: Sequence[ReviewedHunk], *, shows_base: bool
) -> Iterator[types.CodeAction]:
    uri = params.text_document.uri
    places = {hunk.id: called(hunk, place, len(hunks)) for place, hunk in enumerate(hunks, 1)}
    here = touched(hunks, params.range)
    for hunk in here[:MOST_HUNKS]:
        what, argument = places[hunk.id], named(uri, hunk)
        if hunk.state == "rejecting":
            yield _action(f"Take the reject of {what} back", "sould.undo", argument)
            continue
        yield _action(f"Keep {what}", "sould.keep", argument, preferred=len(here) == 1)
        yield _action(f"Reject {what}", "sould.reject", argument)
        yield _action(f"Ask why: {what}", "sould.why", {"uri": uri, "id": hunk.id})
    if here:
        yield _action("Keep all hunks of this file", "sould.keepFile", {"uri": uri})
        yield _action("Reject all hunks of this file", "sould.rejectFile", {"uri": uri})
        yield _action("Reject all hunks of the project", "sould.rejectAll", {"uri": uri})
        if shows_base:
            yield _action("Show the file as you accepted it", "sould.base", {"uri": uri})


def _asking(params: types.CodeActionParams) -> Iterator[types.CodeAction]:
    uri, at = params.text_document.uri, params.range
    problems = [each for each in params.context.diagnostics if each.source != "sould"]
    if problems:
        shown = _shown(problems[0].message)
        title = f"Ask sould: fix “{shown}”" if len(problems) == 1 else f"Ask sould: fix {len(problems)} problems"
        yield _action(title, "sould.fix", {"uri": uri, "diagnostics": written(problems)}, fixes=problems)
    if at.start != at.end:
        argument = {"uri": uri, "range": written(at)}
        yield _action("Ask sould: explain the selection", "sould.explain", argument, kind=REWRITE)
        yield _action("Ask sould: edit the selection", "sould.edit", argument, kind=REWRITE)


def _answering(params: types.CodeActionParams, questions: Sequence[dict[str, Any]]) -> Iterator[types.CodeAction]:
    for question in questions[:MOST_QUESTIONS]:
        argument = {"request": question["request"], "uri": params.text_document.uri, "range": written(params.range)}
        title = f"Answer sould with the selection: “{_shown(question['text'])}”"
        yield _action(title, "sould.answer", argument, kind=REWRITE)


def _shown(text: str) -> str:
    """As much of it as a menu has room for."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:60]}…"


def _action(
    title: str,
    command: str,
    argument: dict[str, Any],
    *,
    kind: str = QUICK,
    preferred: bool = False,
    fixes: Sequence[types.Diagnostic] | None = None,
) -> types.CodeAction:
    run = types.Command(title, command, arguments=[argument])
    return types.CodeAction(title, kind, fixes, is_preferred=preferred or None, command=run)
