"""The files that a client says it has open, as `TextFiles`: its text where it is unsaved, else the disk.

A write goes into the buffer of a client that takes them (`_sould/review/write`), which saves it only if it was saved before. What
is unsaved in a client that takes none is never written over (D44).
"""

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from pydantic import ValidationError

from sould.agents.base.diskfile import digest_of
from sould.agents.base.lsp import Position, PositionEncoding
from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.base.textencoding import UTF_8, Encoding
from sould.agents.base.workspace import (
    Expected,
    FileChangedError,
    NotAFileError,
    NotTextError,
    TextFile,
    TextFiles,
    digest_expected,
    is_utf_8,
)
from sould.agents.clients.review.params import WriteAnswer
from sould.agents.files.review.lines import split
from sould.agents.files.reviewing.shapes import Write

WRITE: Final = "_sould/review/write"
PATIENCE: Final = 30.0
"""Seconds a client has to take an edit."""


class TextBuffer:
    """One text. What is replaced costs its own size, and the number of lines once."""

    def __init__(self, text: str, encoding: PositionEncoding = "utf-16") -> None:
        self._encoding: PositionEncoding = encoding
        self._lines = list(split(text))
        self.size = len(text)
        """Characters."""

    @property
    def text(self) -> str:
        """As it is."""
        return "".join(self._lines)

    def has(self, at: Position) -> bool:
        """Its line is there, or the next one that could be."""
        return at.line <= len(self._lines)

    def replace(self, start: Position, stop: Position, text: str) -> None:
        """Put a text in the place of another. `start` is not behind `stop`."""
        first, last = min(start.line, len(self._lines)), min(stop.line, len(self._lines))
        above, below = self._lines[max(0, first - 1) : first], self._lines[last + 1 : last + 2]
        between = self._head(start) + text + self._tail(stop)
        replaced = self._lines[max(0, first - 1) : last + 2]
        now = "".join((*above, between, *below))  # with both neighbours: what are two ends may be one now, or none
        self._lines[max(0, first - 1) : last + 2] = split(now)
        self.size += len(now) - sum(map(len, replaced))

    def _head(self, at: Position) -> str:
        return before(self._lines[at.line], at.character, self._encoding) if at.line < len(self._lines) else ""

    def _tail(self, at: Position) -> str:
        if at.line >= len(self._lines):
            return ""
        line = self._lines[at.line]
        return line[len(before(line, at.character, self._encoding)) :]


def before(line: str, units: int, encoding: PositionEncoding) -> str:
    """The characters of a line before a column; its end is not among them. A column within a character is before it."""
    body = line.rstrip("\r\n")
    if body.isascii() or encoding == "utf-32":
        return body[:units]
    if encoding == "utf-8":
        return body.encode("utf-8", "surrogatepass")[:units].decode("utf-8", "ignore")
    return body.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore")


def units(text: str, encoding: PositionEncoding) -> int:
    """How many columns a text takes."""
    if text.isascii() or encoding == "utf-32":
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class ReportedFile(Struct, frozen=True):
    """A file as the client last said. `buffer` None: it did not say its text; `dirty`: the disk holds another one."""

    version: int
    dirty: bool
    buffer: TextBuffer | None = None


class ReportedFiles(Protocol):
    """What a client reported."""

    def reported(self, path: Path) -> ReportedFile | None:
        """A file that it has open."""
        ...

    def wrote(self, path: Path, text: str, version: int, *, saved: bool) -> None:
        """The client took this text."""
        ...


class Taken(Struct, frozen=True):
    """What a client's buffer holds after an edit. `version`: its version, where the client does not report the edit itself."""

    text: str
    saved: bool
    version: int | None = None


class BufferEdits(Protocol):
    """How a client takes edits of the files it has open."""

    @property
    def of_saved(self) -> bool:
        """It takes those of files without unsaved text, too, and saves them then; else it loads again what was written on disk."""
        ...

    async def edit(self, path: Path, text: str, file: ReportedFile) -> Taken | None:
        """Have the client put a text in the place of what it reported; None: it did not."""
        ...


class RequestedEdits:
    """The `BufferEdits` of a client that knows us: it is asked by `_sould/review/write`."""

    of_saved = True

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def edit(self, path: Path, text: str, file: ReportedFile) -> Taken | None:
        """See `BufferEdits`."""
        answer = await ask_to_write(self._connection, path, text, file)
        if answer is None:
            return None
        return Taken(answer.text if answer.text is not None else text, answer.saved, answer.version or file.version)


async def ask_to_write(connection: Connection, path: Path, text: str, file: ReportedFile) -> WriteAnswer | None:
    """Have a client put a text into its buffer; None: it did not."""
    params = to_builtins(Write(str(path), file.version, text, not file.dirty))
    try:
        async with asyncio.timeout(PATIENCE):
            answer = WriteAnswer.model_validate(await connection.request(WRITE, params))
    except (RpcError, ConnectionGoneError, TimeoutError, ValidationError):
        return None
    return answer if answer.outcome == "written" else None


class ReportedTexts:
    """`disk`, with the client's buffers over it. `edits` None: it takes none; `name` is what people call it."""

    def __init__(self, disk: TextFiles, files: ReportedFiles, edits: BufferEdits | None, name: str) -> None:
        self._disk = disk
        self._files = files
        self._edits = edits
        self._name = name

    async def read_text(self, path: Path) -> TextFile:
        """The client's unsaved text, where it said it, else the disk."""
        file = self._files.reported(path)
        if file is None or not file.dirty or file.buffer is None:
            return await self._disk.read_text(path)
        return _unsaved(path, file.buffer.text, await self._encoding(path))

    async def _encoding(self, path: Path) -> Encoding:
        """Of the file on disk; UTF-8 where none is, or no text: the editor's text can be read all the same."""
        try:
            return (await self._disk.read_text(path)).encoding
        except (NotAFileError, NotTextError):
            return UTF_8

    async def known_text(self, path: Path) -> TextFile:
        """See `TextFiles`: nobody is asked."""
        return await self.read_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Through the client, or on the disk where that cannot lose what is unsaved."""
        file, edits = self._files.reported(path), self._edits
        if file is not None and file.dirty:
            if edits is None or file.buffer is None:
                raise FileChangedError(
                    f"{path} has unsaved changes in {self._name}, which takes no edits; save it first"
                )
            if digest_of(file.buffer.text.encode()) != digest_expected(expected):
                raise FileChangedError(f"{path} is not what it was when it was read; read it again")
            if await self._encoding(path) != UTF_8:
                # how the editor will write it, nobody can tell, so that it could not be had back
                raise FileChangedError(f"{path} has unsaved changes in {self._name} and is not in UTF-8; save it first")
        is_new = digest_expected(expected) is None  # gone from below its buffer, which follows the disk
        by_client = edits is not None and file is not None and (file.dirty or (edits.of_saved and is_utf_8(expected)))
        if file is None or edits is None or file.buffer is None or is_new or not by_client:
            return await self._disk.write_text(path, text, expected=expected)
        if not file.dirty and (await self._disk.read_text(path)).digest != digest_expected(expected):
            raise FileChangedError(f"{path} is not what it was when it was read; read it again")
        return await self._through_client(edits, path, text, file)

    async def _through_client(self, edits: BufferEdits, path: Path, text: str, file: ReportedFile) -> TextFile:
        taken = await edits.edit(path, text, file)
        if taken is None:
            raise FileChangedError(
                f"{path} is open in {self._name}, which did not take this edit; save it and try again"
            )
        if taken.version is not None:
            self._files.wrote(path, taken.text, taken.version, saved=taken.saved)
        return (
            replace(await self._disk.read_text(path), by_editor=True)
            if taken.saved
            else _unsaved(path, taken.text, UTF_8)
        )

    async def delete(self, path: Path, *, expected: str) -> None:
        """From the disk; a buffer with unsaved text keeps its file."""
        file = self._files.reported(path)
        if file is not None and file.dirty:
            raise FileChangedError(f"{path} has unsaved changes in {self._name}; it was not deleted")
        await self._disk.delete(path, expected=expected)

    async def unsaved(self) -> Collection[Path]:
        """See `TextFiles`: the project knows them."""
        return ()


def _unsaved(path: Path, text: str, encoding: Encoding) -> TextFile:
    return TextFile(path, text, digest_of(text.encode()), unsaved=True, encoding=encoding)
