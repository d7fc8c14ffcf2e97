"""What needs no editor: files as the user sees them, and as accepted; edits; what waits for review. The last to be asked.

An agent of ours has all of it by other names; this is for other agents.
"""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sould.agents.base.diskfile import digest_of
from sould.agents.base.workspace import NotAFileError, TextFile, WorkspaceError
from sould.agents.files.review.lines import split
from sould.agents.tools.editor import notebooks
from sould.agents.tools.editor.backends import Arguments, EditorResult, FileEdits, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import Document, NotebookCells, Nothing, ReviewState
from sould.agents.tools.editor.scm import differing
from sould.agents.tools.editor.site import ON_DISK, Site
from sould.agents.tools.editor.verdicts import state_of
from sould.agents.tools.replacing import EditError, replace_exactly


class Disk:
    """An `EditorBackend` without an editor."""

    id = name = "disk"

    def tools(self, site: Site) -> Collection[str]:
        """See `EditorBackend`."""
        return ON_DISK

    async def call(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        """See `EditorBackend`."""
        match tool:
            case "doc_read":
                return EditorResult(await _read(given, where))
            case "doc_edit":
                return EditorResult(Nothing(), tuple([await _edits(edit, where) for edit in given["edits"]]))
            case "review":
                return EditorResult(await _review(given, where))
            case "notebook":
                return EditorResult(await _cells(given, where))
            case "notebook_edit":
                return EditorResult(Nothing(), (await _cell_edit(given, where),))
            case "scm":
                return EditorResult(await differing(given, where))
            case _:
                raise EditorToolError("not_supported", f"{tool} needs an editor.")


async def _review(given: Arguments, where: Where) -> ReviewState:
    if given.get("action", "list") != "list":
        raise EditorToolError("no_editor", "No editor is there whose user could be asked.")
    hunks = given.get("hunkIds", ())
    files = await where.reader.pending([Path(file) for file in given.get("files", ())])
    return state_of(files, await where.reader.decisions() if hunks else (), hunks)


async def _read(given: Arguments, where: Where) -> Document:
    assert where.file is not None
    file = await _version(given.get("version", "buffer"), where, where.file)
    lines = split(file.text)
    first = given.get("startLine", 1)
    last = given.get("endLine", len(lines))
    if lines and first > len(lines):
        raise EditorToolError("not_found", f"It has {len(lines)} lines.")
    return Document(
        str(where.file),
        "".join(lines[first - 1 : last]),
        file.digest,
        len(lines),
        first,
        file.unsaved,
        "crlf" if "\r\n" in file.text else "lf",
    )


async def _version(version: str, where: Where, path: Path) -> TextFile:
    if version == "disk":
        return await where.reader.on_disk(path)
    if version == "base" and (text := await where.reader.base(path)) is not None:
        return TextFile(path, text, digest_of(text.encode()))
    return await where.reader.read_text(path)


async def _cells(given: Arguments, where: Where) -> NotebookCells:
    assert where.file is not None
    file = await where.reader.read_text(where.file)
    return await asyncio.to_thread(notebooks.cells, file, given.get("cell", ""), outputs=bool(given.get("outputs")))


async def _cell_edit(given: Arguments, where: Where) -> FileEdits:
    assert where.file is not None
    file = await where.reader.read_text(where.file)
    text = await asyncio.to_thread(notebooks.edited, file, given)
    return FileEdits(where.file, text=text, digest=file.digest)


async def _edits(edit: Mapping[str, Any], where: Where) -> FileEdits:
    """The text of one file after its hunks."""
    path, expected = Path(edit["file"]), edit.get("expectedHash", "")
    if "newText" in edit:
        return FileEdits(path, text=edit["newText"], digest=expected)
    try:
        before = await where.reader.read_text(path)
    except NotAFileError as error:
        raise EditorToolError("not_found", f"There is no file {path.name}.") from error
    except WorkspaceError as error:
        raise EditorToolError("denied", str(error)) from error
    if expected and expected != before.digest:
        raise EditorToolError("stale", f"{path.name} has another text by now; read it again.")
    return FileEdits(path, text=await asyncio.to_thread(_replaced, edit, before.text), digest=before.digest)


def _replaced(edit: Mapping[str, Any], text: str) -> str:
    for hunk in edit["hunks"]:
        try:
            text, _ = replace_exactly(text, hunk["oldText"], hunk["newText"], replace_all=False)
        except EditError as error:
            raise EditorToolError("not_found", str(error)) from error
    return text
