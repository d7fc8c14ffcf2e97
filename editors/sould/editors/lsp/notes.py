"""What the next daemon must know of open documents when this one is killed (D11): which are open, and the text of unsaved ones.

A document as the disk has it is noted by its digest, what is typed as it comes, so that a keystroke costs its own size. The text
of what may be a secret is noted nowhere: after a kill it is not known until its user saves it or opens it anew.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.json import decode, encode

from sould.agents.base.diskfile import digest_of
from sould.agents.base.lsp import PositionEncoding
from sould.agents.clients.connections import ConnectionNotes
from sould.agents.clients.review.reported import ReportedFile, TextBuffer
from sould.agents.clients.review.reports import BufferChange, Report
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.secretnames import likelihood
from sould.editors.lsp.lineends import LineEnds

MOST_ADDED: Final = 4 * 1024 * 1024
"""Bytes of lines before they are replaced by how documents are now."""


class _Line(Struct, frozen=True, omit_defaults=True):
    """About one document. `digest`: it is so on disk; `text`: it is this; `changes`: relative to what was noted; nothing: it is closed."""

    uri: str
    version: int = 0
    digest: str = ""
    text: str | None = None
    changes: tuple[BufferChange, ...] = ()
    open: bool = False
    hides_ends: bool = False


class _Open(Struct, frozen=True):
    """A document while lines are read."""

    version: int
    digest: str
    buffer: TextBuffer | None
    hides_ends: bool


class KnownDocument(Struct, frozen=True):
    """A document as it was known last. `text` None: it is not known, or what the disk holds, if that has this digest."""

    uri: str
    version: int
    text: str | None
    digest: str
    hides_ends: bool


class DocumentNotes:
    """Of one editor window. Told of each report after it was taken."""

    def __init__(self, notes: ConnectionNotes, home: str, ends: LineEnds) -> None:
        self._notes = notes
        self._ends = ends
        self._home = Path(home)
        self._texts: set[str] = set()
        """The documents whose text is noted."""
        self._added = 0

    def known(self, encoding: PositionEncoding) -> list[KnownDocument]:
        """What an earlier daemon noted."""
        found: dict[str, _Open] = {}
        for raw in self._notes.read().splitlines():
            line = decode(raw, type=_Line)
            before = found.pop(line.uri, None)
            if line.changes and before is not None:
                found[line.uri] = _Open(
                    line.version, "", _changed(before.buffer, line.changes, encoding), before.hides_ends
                )
            elif line.open:
                buffer = TextBuffer(line.text, encoding) if line.text is not None else None
                found[line.uri] = _Open(line.version, line.digest, buffer, line.hides_ends)
        return [
            KnownDocument(
                uri, each.version, each.buffer.text if each.buffer is not None else None, each.digest, each.hides_ends
            )
            for uri, each in found.items()
        ]

    def closed(self, uri: str) -> None:
        """It is open no more."""
        self._texts.discard(uri)
        self._add(_Line(uri))

    def reported(self, uri: str, path: Path, report: Report, file: ReportedFile) -> None:
        """It is open, and this is how."""
        if report.changes and uri in self._texts and file.dirty and file.buffer is not None:
            self._add(_Line(uri, file.version, changes=report.changes, open=True))
        else:
            self._add(self._whole(uri, path, file))

    def renew(self, documents: Iterator[tuple[str, Path, ReportedFile]]) -> None:
        """Note all of them as they are now."""
        self._texts.clear()
        self._added = 0
        lines = [encode(self._whole(uri, path, file)) + b"\n" for uri, path, file in documents]
        self._notes.replace(b"".join(lines))

    @property
    def is_long(self) -> bool:
        """Much was added since they were noted as a whole."""
        return self._added > MOST_ADDED

    def _whole(self, uri: str, path: Path, file: ReportedFile) -> _Line:
        self._texts.discard(uri)
        hides = self._ends.hides(path)
        if file.buffer is None:
            return _Line(uri, file.version, open=True, hides_ends=hides)
        text = file.buffer.text
        if not file.dirty:
            return _Line(uri, file.version, digest=digest_of(text.encode()), open=True, hides_ends=hides)
        if likelihood(path, PolicyContext(path.parent, home=self._home)) != "no":
            return _Line(uri, file.version, open=True, hides_ends=hides)
        self._texts.add(uri)
        return _Line(uri, file.version, text=text, open=True, hides_ends=hides)

    def _add(self, line: _Line) -> None:
        data = encode(line) + b"\n"
        self._added += len(data)
        self._notes.append(data)


def _changed(
    buffer: TextBuffer | None, changes: tuple[BufferChange, ...], encoding: PositionEncoding
) -> TextBuffer | None:
    for change in changes:
        if change.start is None or change.stop is None:
            buffer = TextBuffer(change.text, encoding)
        elif buffer is not None:
            buffer.replace(min(change.start, change.stop), max(change.start, change.stop), change.text)
    return buffer
