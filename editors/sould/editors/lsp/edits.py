"""Edits of files that the editor has open: by our own request where it knows us, else `workspace/applyEdit` where the text is unsaved.

What its buffer holds only the editor says: an edit is done when its next report of the document has come, and what that says
is what is there, whatever was to be written.
"""

import asyncio
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from lsprotocol import types

from sould.agents.base.lsp import PositionEncoding
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.clients.review.reported import PATIENCE, ReportedFile, Taken, ask_to_write, units
from sould.agents.files.review.difference import edits_between
from sould.agents.files.review.lines import split
from sould.editors.lsp.connection import EditorConnection
from sould.editors.lsp.opened import Documents
from sould.editors.lsp.protocol import range_of

REPORTED_WITHIN: Final = 10.0
"""Seconds in which an editor that has applied an edit reports it."""
MORE_WITHIN: Final = 2.0
"""Seconds in which it goes on, if what it reported is not what was to be written; then that is what it made of it."""
_LABEL: ContextVar[str] = ContextVar("label", default="Edit by sould")
_APPLIED: ContextVar[asyncio.Event | None] = ContextVar("applied", default=None)


@contextmanager
def labelled(label: str) -> Generator[None]:
    """What the edits are for that are made within the block, as the editor's undo shows it."""
    token = _LABEL.set(label)
    try:
        yield
    finally:
        _LABEL.reset(token)


@contextmanager
def noticed(applied: asyncio.Event) -> Generator[None]:
    """Set it when the editor says that it has applied an edit that is made within the block; it may not have reported it by then."""
    token = _APPLIED.set(applied)
    try:
        yield
    finally:
        _APPLIED.reset(token)


class EditorEdits:
    """The `BufferEdits` of an editor window."""

    def __init__(self, client: EditorConnection, documents: Documents) -> None:
        self._client = client
        self._documents = documents

    @property
    def of_saved(self) -> bool:
        """See `BufferEdits`: the protocol has no word to save a document."""
        return self._client.can.writes

    async def edit(self, path: Path, text: str, file: ReportedFile) -> Taken | None:
        """See `BufferEdits`."""
        saved = False
        if self._client.can.writes:
            answer = await ask_to_write(self._client.connection, path, text, file)
            if answer is None:
                return None
            saved = answer.saved
        elif not await self._apply(path, text, file):
            return None
        if file.buffer is not None and file.buffer.text == text:
            return Taken(text, saved)
        if (applied := _APPLIED.get()) is not None:
            applied.set()
        now = await self._reported(path, text, file.version)
        return Taken(now.buffer.text, saved) if now is not None and now.buffer is not None else None

    async def _reported(self, path: Path, text: str, version: int) -> ReportedFile | None:
        """What the editor reports after an edit, some of them line by line; None: nothing."""
        reports, now, patience = await self._client.reports(), None, REPORTED_WITHIN
        while now is None or now.buffer is None or now.buffer.text != text:
            try:
                async with asyncio.timeout(patience):
                    found = await reports.reported_after(path, version)
            except TimeoutError:
                return now
            if found is None:
                return None
            now, version, patience = found, found.version, MORE_WITHIN
        return now

    async def _apply(self, path: Path, text: str, file: ReportedFile) -> bool:
        if file.buffer is None or not self._client.can.applies_edits:
            return False
        ends = self._documents.ends
        edits = [
            types.TextEdit(each.range, ends.outward(path, each.new_text))
            for each in text_edits(file.buffer.text, text, self._client.can.encoding)
        ]
        params = types.ApplyWorkspaceEditParams(self._workspace_edit(path, file.version, edits), _LABEL.get())
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._client.lsp.workspace_apply_edit_async(params)
        except (RpcError, ConnectionGoneError, TimeoutError):
            return False  # some say nothing, which is no yes
        return answer.applied

    def _workspace_edit(self, path: Path, version: int, edits: Sequence[types.TextEdit]) -> types.WorkspaceEdit:
        uri, can, label = self._documents.uri(path), self._client.can, _LABEL.get()
        if not can.versioned_edits:
            return types.WorkspaceEdit(changes={uri: edits})
        document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
        if not can.annotated_edits:
            return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, edits)])
        annotated = [
            types.AnnotatedTextEdit(range=each.range, new_text=each.new_text, annotation_id="sould") for each in edits
        ]
        return types.WorkspaceEdit(
            document_changes=[types.TextDocumentEdit(document, annotated)],
            change_annotations={"sould": types.ChangeAnnotation(label)},
        )


def text_edits(old: str, new: str, encoding: PositionEncoding) -> Iterator[types.TextEdit]:
    """What turns one text into the other, line by line, so that cursors and marks elsewhere stay."""
    before = split(old)
    for each in edits_between(before, split(new)):
        start, start_character = _place(before, each.start, encoding)
        stop, stop_character = _place(before, each.stop, encoding)
        yield types.TextEdit(range_of(start, start_character, stop, stop_character), "".join(each.lines))


def _place(lines: Sequence[str], line: int, encoding: PositionEncoding) -> tuple[int, int]:
    """The beginning of a line; behind a last line without an end, that is its end."""
    if line == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
        return line - 1, units(lines[-1], encoding)
    return line, 0
