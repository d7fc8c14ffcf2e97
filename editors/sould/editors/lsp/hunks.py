"""The hunks of a document as the editor is shown them: what they are called, code lenses, hints. Reads, decides nothing."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from lsprotocol import types

from sould.agents.base.lsp import path_of
from sould.agents.clients.review.projects import resolve
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.editors.lsp.connection import EditorConnection
from sould.editors.lsp.protocol import range_of, server

Json = dict[str, Any]

OF_FILES: Final = {
    "add": "new file",
    "delete": "deleted file",
    "rename": "renamed file",
    "mode": "changed mode",
    "line_ends": "changed line ends",
    "content": "changed content",
}
"""What happened to a file as a whole, in words."""


async def hunks_of(client: EditorConnection, uri: str) -> Sequence[ReviewedHunk]:
    """What is pending in a file, from its top; none for what is no file."""
    named_path = path_of(uri)
    if named_path is None:
        return []
    [path] = await asyncio.to_thread(resolve, [named_path])
    await client.reports_taken()
    async with (await client.projects()).of(path) as project:
        files = await project.port.pending_now(Selection(paths=(str(path),)))
    return [hunk for file in files if Path(file.path) == path for hunk in file.hunks]


def named(uri: str, hunk: ReviewedHunk) -> Json:
    """The argument of a command about a hunk: what the user saw of it, by its digest."""
    return {"uri": uri, "id": hunk.id, "digest": hunk.digest}


def called(hunk: ReviewedHunk, place: int, count: int) -> str:
    """`hunk 2/4`, or what happened to the file."""
    if hunk.is_link:
        return "changed link"
    return OF_FILES.get(hunk.kind) or f"hunk {place}/{count}"


def line_of(hunk: ReviewedHunk) -> int:
    """The line above which it is shown."""
    return hunk.start if hunk.kind == "text" else 0


def span(hunk: ReviewedHunk) -> types.Range:
    """Its lines in the document; of a removal, the place where they were."""
    start = line_of(hunk)
    return range_of(start, 0, start + len(hunk.lines), 0)


def touched(hunks: Iterable[ReviewedHunk], at: types.Range) -> list[ReviewedHunk]:
    """Those that a range touches; changes of the whole file are everywhere. A line at whose beginning it ends is not in it."""
    first, last = at.start.line, at.end.line
    if last > first and at.end.character == 0:
        last -= 1
    return [
        each
        for each in hunks
        if each.kind != "text" or (each.start <= last and first <= max(each.start, each.start + len(each.lines) - 1))
    ]


async def show_hints(client: EditorConnection, uris: Iterable[str]) -> None:
    """Tell the hunks of open documents as diagnostics, all of each; none where the user does not want them."""
    for uri in uris:
        hunks = await hunks_of(client, uri) if client.hints else ()
        hints = [_hint(hunk, place, len(hunks)) for place, hunk in enumerate(hunks, 1)]
        client.lsp.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, hints))


def _hint(hunk: ReviewedHunk, place: int, count: int) -> types.Diagnostic:
    return types.Diagnostic(
        span(hunk),
        f"To be reviewed: {called(hunk, place, count)}",
        severity=types.DiagnosticSeverity.Hint,
        source="sould",
        code=str(hunk.id),
    )


@server.feature(types.TEXT_DOCUMENT_CODE_LENS)
async def lenses(client: EditorConnection, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The lines above the hunks of a document: keep, reject, which of how many it is, the next one."""
    uri = params.text_document.uri
    if client.editor is None or not client.editor.settings.lenses:
        return []
    hunks = await hunks_of(client, uri)
    return [lens for place, hunk in enumerate(hunks, 1) for lens in _of(uri, hunk, place, len(hunks))]


def _of(uri: str, hunk: ReviewedHunk, place: int, count: int) -> list[types.CodeLens]:
    line, what = line_of(hunk), OF_FILES.get(hunk.kind)
    at = range_of(line, 0, line, 0)
    if hunk.state == "rejecting":
        waits = types.Command("Rejected: goes when the agent's step ends", "sould.undo", arguments=[named(uri, hunk)])
        return [types.CodeLens(at, waits)]
    object_ = f" {what}" if what else ""
    title = called(hunk, place, count)
    commands = (
        types.Command(f"Keep{object_}", "sould.keep", arguments=[named(uri, hunk)]),
        types.Command(f"Reject{object_}", "sould.reject", arguments=[named(uri, hunk)]),
        types.Command(f"{title[:1].upper()}{title[1:]}: next", "sould.next", arguments=[{"uri": uri, "line": line}]),
    )
    return [types.CodeLens(at, command) for command in commands]
