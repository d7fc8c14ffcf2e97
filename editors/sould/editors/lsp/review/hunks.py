"""The hunks of a document as the editor asks for them, with what they are called. Reads, decides nothing."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from sould.agents.clients.review.projects import resolve
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.editors.lsp import types
from sould.editors.lsp.connection.editor import EditorConnection
from sould.editors.lsp.documents.opened import path_of
from sould.editors.lsp.protocol import range_of

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
        files = await project.port.review(Selection(paths=(str(path),)))
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
