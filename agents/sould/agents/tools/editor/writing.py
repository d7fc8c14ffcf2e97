"""What a backend wants written, through the one write path: each file asked about as any edit, reviewed as any edit.

Every edit is computed before the first is written, so that what does not fit leaves all files as they were. What is written stays
written when a later file cannot be: the answer says which.
"""

import asyncio
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from msgspec import Struct

from sould.agents.base.diskfile import digest_of
from sould.agents.base.workspace import ResolvedPath, TextFile, WorkspaceError
from sould.agents.files.projects.patches import patch, shortened
from sould.agents.files.review.lines import split
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.base import RefusedError, ToolCallContext, tool_error
from sould.agents.tools.editor.anchors import Position
from sould.agents.tools.editor.backends import BackendEdit, FileEdits
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.edits import Proposal, edit_file
from sould.agents.wire.display import DisplayBlock
from sould.agents.wire.messages import ToolReturn

# What backends want written, as texts: edits of an editor or a language server against the text they were made for.
# Pure.


LARGEST_TEXT: Final = 8_000_000
"""Characters of what is to be written."""


def applied(wanted: FileEdits, text: str, name: str) -> str:
    """The text after the edits; `name` is what errors call the file.

    Raises:
        EditorToolError: stale, or edits that overlap or lie outside.
    """
    if wanted.digest and wanted.digest != digest_of(text.encode()):
        raise EditorToolError("stale", f"{name} is not what it was when the edits were made; ask again.")
    made = wanted.text if wanted.text is not None else _with_edits(text, wanted.edits, name)
    if len(made) > LARGEST_TEXT:
        raise EditorToolError("failed", f"The edits would make {name} larger than {LARGEST_TEXT // 1_000_000} MB.")
    return made


def _with_edits(text: str, edits: Sequence[BackendEdit], name: str) -> str:
    lines = split(text)
    starts = [0, *accumulate(map(len, lines))]
    placed = [
        (_index(lines, starts, each.span.start, name), _index(lines, starts, each.span.end, name), each.text)
        for each in edits
    ]
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(placed, key=lambda each: (each[0], each[1])):
        if start < at or end < start:
            raise EditorToolError("failed", f"The edits of {name} overlap, so nothing was written.")
        parts += (text[at:start], new)
        at = end
    return "".join([*parts, text[at:]])


def _index(lines: Sequence[str], starts: Sequence[int], position: Position, name: str) -> int:
    """Behind the end of a line counts as its end, and the line behind the last one as the end of the text, as LSP has it."""
    line = position.line - 1
    if line == len(lines):
        return starts[-1]
    if not 0 <= line < len(lines) or position.column < 1:
        raise EditorToolError("stale", f"{name} has no line {position.line}; it is not what the edits were made for.")
    body = lines[line].rstrip("\r\n")
    if body.isascii():
        return starts[line] + min(position.column - 1, len(body))
    head = body.encode("utf-16-le", "surrogatepass")[: (position.column - 1) * 2]
    return starts[line] + len(head.decode("utf-16-le", "ignore"))


MOST_FILES: Final = 500
"""In one call."""
MOST_PREVIEW: Final = 20_000
"""Characters of what would change."""


class Written(Struct, frozen=True):
    """What became of the edits. `rejected`: the user's no, with which the call ends."""

    data: dict[str, Any]
    display: tuple[DisplayBlock, ...] = ()
    failed: bool = False
    rejected: ToolReturn | None = None


class EditWriter:
    """Of one call."""

    def __init__(self, files: CallFiles, approval: Approval, call: ToolCallContext) -> None:
        self._files = files
        self._approval = approval
        self._call = call

    async def preview(self, wanted: Sequence[FileEdits]) -> Written:
        """What would be written, as a patch.

        Raises:
            EditorToolError, RefusedError
        """
        patches: list[str] = []
        for each in wanted[:MOST_FILES]:
            path = self._files.resolve(str(each.path))
            before = await self._files.read_to_edit(path)
            old, name = before.text if before is not None else "", self._files.paths.shown(path.path)
            patches.append(await asyncio.to_thread(patch, old, applied(each, old, name), f"a/{name}", f"b/{name}"))
        text = shortened("\n".join(patches), MOST_PREVIEW)
        return Written({"files": len(wanted), "edits": _count(wanted), "preview": text})

    async def write(self, wanted: Sequence[FileEdits]) -> Written:
        """Write them, one file after another.

        Raises:
            EditorToolError: they do not fit; nothing was written.
            RefusedError
        """
        if len(wanted) > MOST_FILES:
            raise EditorToolError("failed", f"{len(wanted)} files would change; {MOST_FILES} may. Nothing was written.")
        await self._require_fit(wanted)
        done: list[dict[str, str]] = []
        left: list[dict[str, str]] = []
        display: list[DisplayBlock] = []
        for each in wanted:
            path = self._files.resolve(str(each.path))
            answer = await self._edit(path, each)
            display += () if answer.is_error else answer.display
            if answer.is_error and _ends(answer):
                return Written(_data(done, left), tuple(display), rejected=answer)
            name = self._files.paths.shown(path.path)
            (left if answer.is_error else done).append(
                {"file": name, **({"why": answer.message} if answer.is_error else {})}
            )
        return Written(_data(done, left), tuple(display), failed=bool(left))

    async def _require_fit(self, wanted: Sequence[FileEdits]) -> None:
        for each in wanted:
            path = self._files.resolve(str(each.path))
            async with self._files.to_edit(path) as judged:
                before = judged.before
            applied(each, before.text if before is not None else "", self._files.paths.shown(path.path))

    async def _edit(self, path: ResolvedPath, wanted: FileEdits) -> ToolReturn:
        name = self._files.paths.shown(path.path)

        async def propose(before: TextFile | None) -> Proposal | ToolReturn:
            if before is None and wanted.text is None:
                raise await self._files.missing(path, "a file")
            text = applied(wanted, before.text if before is not None else "", name)
            if before is not None and before.text == text:
                return ToolReturn(is_error=False, message=f"{name} is like that already.")
            return Proposal(text, f"Edited {name}.")

        try:
            return await edit_file(path, propose, self._files, self._approval, self._call)
        except EditorToolError as error:
            return tool_error(error.worded)
        except RefusedError as refused:
            return refused.result
        except WorkspaceError as error:
            return tool_error(str(error))


def _ends(answer: ToolReturn) -> bool:
    """A person's no: nothing more is asked about."""
    return bool((answer.extras or {}).get("rejected"))


def _data(done: list[dict[str, str]], left: list[dict[str, str]]) -> dict[str, Any]:
    return {"applied": done, **({"notApplied": left} if left else {})}


def _count(wanted: Sequence[FileEdits]) -> int:
    return sum(len(each.edits) or 1 for each in wanted)
