"""The documents that the editor has open, by their URIs: what it says of them, taken in the order in which it was said.

Which file is unsaved the protocol does not say: a document is when the disk holds another text. Nor has it a word to ask for a
text again: where a change does not fit what was said before, nothing is guessed, the user is told, and the next save or open brings
it. Only files have a place in a project; documents of other schemes are passed over.
"""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from lsprotocol import types
from msgspec import Struct
from msgspec.json import decode, encode

from sould.agents.base.diskfile import digest_of
from sould.agents.base.lsp import Position, path_of
from sould.agents.base.regularfile import read_regular
from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.clients.params import Inbound, absolute
from sould.agents.clients.review.reports import BufferChange, Report, ReportOutcome, is_on_disk
from sould.editors.lsp.connection import EditorConnection
from sould.editors.lsp.hunk_notifications import EditorNews
from sould.editors.lsp.lineends import LineEnds
from sould.editors.lsp.notes import DocumentNotes, KnownDocument
from sould.editors.lsp.words import tell

if TYPE_CHECKING:
    from sould.agents.clients.review.reported import ReportedFile


LOST: Final = (
    "what this editor said of it last does not fit what it said before, so sould does not know what is unsaved here, and leaves the "
    "file alone. Save it, or close and open it again, and sould knows it."
)
TOO_LARGE: Final = "it is too large for sould to know what is unsaved in it. Agents leave it alone until it is saved."


class _Kept(Struct, frozen=True):
    """A document as the next daemon takes it up."""

    uri: str
    version: int
    text: str | None
    """None: it is not known."""
    dirty: bool
    hides_ends: bool


class Documents:
    """Of one editor window."""

    def __init__(self, client: EditorConnection, news: EditorNews) -> None:
        """`news`: is told which files the editor shows."""
        self._client = client
        self._news = news
        self._uris: dict[Path, str] = {}
        """Of the open ones, by resolved path."""
        self.ends = LineEnds()
        self._notes = DocumentNotes(client.services.memory.notes, client.home, self.ends)
        self._too_large: set[Path] = set()
        """Open ones whose text is not kept."""
        self._lost: set[Path] = set()
        """Open ones whose unsaved text is not known, as the user was told."""
        self._turn = asyncio.Lock()
        """Fair: what was said first is taken first."""

    async def opened(self, document: types.TextDocumentItem) -> None:
        """The editor shows a document."""
        report = Report("open", document.version, document.text)
        await self._take(document.uri, report)

    async def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """Its text is another one. What is older than what is known is passed over, unless it was about a part of it."""
        changes = tuple(map(_change, params.content_changes))
        report = Report("change", params.text_document.version, changes=changes, compared=True)
        outcome = await self._take(params.text_document.uri, report)
        if outcome == "outdated" and any(change.start is not None for change in changes):
            await self._lose(params.text_document.uri)

    async def not_understood(self, raw: dict[str, Any]) -> None:
        """A change that is none as the protocol has it: what the document holds is not known any more."""
        document = raw.get("textDocument")
        uri = cast("dict[str, Any]", document).get("uri") if isinstance(document, dict) else None
        if isinstance(uri, str):
            await self._lose(uri)

    async def _lose(self, uri: str) -> None:
        """What the editor said of its text was not understood."""
        await self._take(uri, Report("change", lost=True))

    async def saved(self, uri: str, text: str | None) -> None:
        """It is on disk as it is. `text` is the editor's; Emacs says only the part that is not narrowed away."""
        await self._take(uri, Report("save", text=text))

    async def closed(self, uri: str) -> None:
        """The editor shows it no more."""
        await self._take(uri, Report("close"))

    async def all_taken(self) -> None:
        """What was said by now is taken when this returns."""
        async with self._turn:
            pass

    def open_files(self) -> dict[Path, str]:
        """Their URIs, by resolved path."""
        return dict(self._uris)

    def uri(self, path: Path) -> str:
        """Of a file, as the editor writes it."""
        return self._uris.get(path) or path.as_uri()

    async def text(self, path: Path) -> str:
        """A file as its user sees it; "" for what is no text."""
        await self.all_taken()
        resolved = Path(await asyncio.to_thread(os.path.realpath, path))
        file = self._reported(resolved)
        if file is not None and file.buffer is not None:
            return file.buffer.text
        try:
            return await asyncio.to_thread(resolved.read_text, "utf-8")
        except (OSError, ValueError):
            return ""

    def _reported(self, path: Path) -> "ReportedFile | None":
        reports = self._client.known_reports
        return reports.reported(path) if reports is not None else None

    # --- over restarts (D11) ----------------------------------------------------------------------------------------

    def pack(self) -> bytes:
        """All of them, for the next daemon."""
        found = [(uri, self._reported(path), self.ends.hides(path)) for path, uri in self._uris.items()]
        kept = [
            _Kept(uri, file.version, file.buffer.text if file.buffer is not None else None, file.dirty, hides_ends)
            for uri, file, hides_ends in found
            if file is not None
        ]
        return encode(kept)

    async def take_up(self, packed: bytes, *, unsure: bool) -> None:
        """Those that an earlier daemon packed, or noted when it was killed. `unsure`: the editor may have said more than is noted."""
        if packed:
            for kept in decode(packed, type=list[_Kept]):
                unsaved = kept.dirty if kept.text is None else None
                report = Report("open", kept.version, kept.text, unsaved=unsaved)
                await self._take(kept.uri, report, hides_ends=kept.hides_ends)
            return
        for known in self._notes.known(self._client.can.encoding):
            text = await asyncio.to_thread(_text_of, known) if not unsure else None
            unsaved = True if text is None and (unsure or not known.digest) else None
            report = Report("open", known.version, text, unsaved=unsaved)
            await self._take(known.uri, report, hides_ends=known.hides_ends)

    def _note(self, path: Path, uri: str, report: Report) -> None:
        file = self._reported(path)
        if file is None:
            self._notes.closed(uri)
        else:
            self._notes.reported(uri, path, report, file)
        if self._notes.is_long:
            known = ((uri, path, self._reported(path)) for path, uri in self._uris.items())
            self._notes.renew((uri, path, file) for uri, path, file in known if file is not None)

    async def _take(self, uri: str, report: Report, *, hides_ends: bool | None = None) -> ReportOutcome | None:
        """None: it is about no document that is open. `hides_ends`: `LineEnds.hides`, where the text is as the file has it."""
        async with self._turn:
            named = path_of(uri)
            if named is None:
                return None
            reports = await self._client.reports()
            path = Path(await asyncio.to_thread(os.path.realpath, named))
            if report.event == "open":
                self._uris[path] = uri
            elif path not in self._uris:
                return None
            if hides_ends is None:
                report = await asyncio.to_thread(self._as_in_file, path, report)
            elif hides_ends:
                self.ends.hide(path)
            outcome = await reports.take(report, named)
            if outcome == "outdated":
                return outcome
            self._tell(path, report, outcome)
            self._note(path, uri, report)
            if report.event == "close":
                del self._uris[path]
                self.ends.forget(path)
                await self._news.forget(path)
            elif report.event == "open":
                await self._news.follow(path)
            return outcome

    def _as_in_file(self, path: Path, report: Report) -> Report:
        """What the editor says, with the line ends that the file has. Blocks."""
        if report.event == "save":
            return self._as_saved(path, report.text)
        if report.event == "open":
            self.ends.decide(path, report.text or "")
        return self.ends.inward(path, report)

    def _as_saved(self, path: Path, text: str | None) -> Report:
        """With the text where it is needed, and is what the disk holds."""
        file, before = self._reported(path), self.ends.hides(path)
        known = file.buffer.text if file is not None and file.buffer is not None else None
        if text is None and known is not None:
            text = self.ends.outward(path, known)
        if text is None:
            return Report("save")
        self.ends.decide(path, text)
        if known is not None and self.ends.hides(path) == before:
            return Report("save")
        report = self.ends.inward(path, Report("save", text=text))
        fits = report.text is not None and is_on_disk(path, report.text)
        return report if fits else Report("save", lost=True)

    def _tell(self, path: Path, report: Report, outcome: ReportOutcome) -> None:
        """Say once that unsaved text is not known, until it is again."""
        file = self._reported(path)
        if file is None or file.buffer is not None:
            self._too_large.discard(path)
        elif outcome == "tooLarge":
            self._too_large.add(path)
        if file is None or file.buffer is not None or not file.dirty:
            self._lost.discard(path)
        elif path not in self._lost and report.event == "change":
            self._lost.add(path)
            tell(self._client, "warning", f"{path.name}: {TOO_LARGE if path in self._too_large else LOST}")


def _text_of(known: KnownDocument) -> str | None:
    """The text of a document that an earlier daemon noted; None: it is not known. Blocks."""
    path = path_of(known.uri)
    if known.text is not None or not known.digest or path is None:
        return known.text
    try:
        data = read_regular(path)
        return data.decode() if digest_of(data) == known.digest else None
    except (OSError, ValueError):
        return None


def file_of(uri: str) -> Path:
    """The same. Raises RpcError."""
    path = path_of(uri)
    if path is None:
        data = {"kind": "invalid_params", "field": "uri"}
        raise RpcError(INVALID_PARAMS, f"uri must be that of a file, not {uri[:200]!r}.", data)
    return path


def _change(change: types.TextDocumentContentChangeEvent) -> BufferChange:
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return BufferChange(change.text)
    return BufferChange(change.text, _place(change.range.start), _place(change.range.end))


def _place(place: types.Position) -> Position:
    return Position(place.line, place.character)


class Place(Inbound):
    """What a command is about: a document, or a directory of a project; without both, the window's first root."""

    uri: str | None = None
    cwd: str | None = None


def place_of(client: EditorConnection, given: Place) -> Path:
    """What it is about. Raises RpcError."""
    if given.uri is not None:
        return file_of(given.uri)
    if given.cwd is not None:
        return absolute(given.cwd, "cwd")
    roots = roots_of(client)
    if not roots:
        data = {"kind": "invalid_params", "field": "uri"}
        raise RpcError(INVALID_PARAMS, "Name a document by uri, or a directory by cwd: this window has no root.", data)
    return roots[0]


def roots_of(client: EditorConnection) -> list[Path]:
    """The window's roots, the first one first; those that are no directories of this machine are none."""
    folders = client.editor.folders if client.editor is not None else ()
    return [path for path in map(path_of, folders) if path is not None]
