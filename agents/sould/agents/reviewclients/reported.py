"""The files that a client says it has open, as a workspace: its text where it is unsaved, else the disk.

A write goes into the buffer of a client that takes them (`_sould/review/write`), which saves it only if it was saved before. What
is unsaved in a client that takes none is never written over (D44).
"""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct, to_builtins
from pydantic import ValidationError

from sould.agents.diskfile import digest_of
from sould.agents.reviewclients.client import ClientConnection
from sould.agents.reviewclients.params import WriteAnswer
from sould.agents.reviewclients.shapes import Write
from sould.agents.reviewclients.textbuffer import TextBuffer
from sould.agents.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.workspace import (
    Command,
    Expected,
    FileChangedError,
    ResolvedPath,
    RunningCommand,
    TextFile,
    Workspace,
    digest_expected,
)

WRITE: Final = "_sould/review/write"
PATIENCE: Final = 30.0
"""Seconds a client has to take an edit."""


class Reported(Struct, frozen=True):
    """A file as the client last said. `buffer` None: it did not say its text; `dirty`: the disk holds another one."""

    version: int
    dirty: bool
    buffer: TextBuffer | None = None


class ReportedFiles(Protocol):
    """What a client reported."""

    def reported(self, path: Path) -> Reported | None:
        """A file that it has open."""
        ...

    def wrote(self, path: Path, text: str, version: int, *, saved: bool) -> None:
        """The client took this text."""
        ...


class ReportedWorkspace:
    """`disk`, with the client's buffers over it. `takes_edits`: it has edits written into them; `name` is what people call it."""

    def __init__(
        self, disk: Workspace, files: ReportedFiles, connection: ClientConnection, name: str, *, takes_edits: bool
    ) -> None:
        self._disk = disk
        self._files = files
        self._connection = connection
        self._name = name
        self._takes_edits = takes_edits

    @property
    def root(self) -> Path:
        """See `Workspace`."""
        return self._disk.root

    @property
    def additional(self) -> Sequence[Path]:
        """See `Workspace`."""
        return self._disk.additional

    def resolve(self, path: str) -> ResolvedPath:
        """See `Workspace`."""
        return self._disk.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        """The client's unsaved text, where it said it, else the disk."""
        file = self._files.reported(path)
        if file is None or not file.dirty or file.buffer is None:
            return await self._disk.read_text(path)
        return _unsaved(path, file.buffer.text)

    async def known_text(self, path: Path) -> TextFile:
        """See `Workspace`: nobody is asked."""
        return await self.read_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Through the client, or on the disk where that cannot lose what is unsaved."""
        file = self._files.reported(path)
        if file is not None and file.dirty:
            if not self._takes_edits or file.buffer is None:
                raise FileChangedError(
                    f"{path} has unsaved changes in {self._name}, which takes no edits; save it first"
                )
            if digest_of(file.buffer.text.encode()) != digest_expected(expected):
                raise FileChangedError(f"{path} is not what it was when it was read; read it again")
        if file is None or not self._takes_edits or file.buffer is None:
            return await self._disk.write_text(path, text, expected=expected)
        if not file.dirty and (await self._disk.read_text(path)).digest != digest_expected(expected):
            raise FileChangedError(f"{path} is not what it was when it was read; read it again")
        return await self._through_client(path, text, file)

    async def _through_client(self, path: Path, text: str, file: Reported) -> TextFile:
        answer = await self._ask(path, text, file)
        if answer is None or answer.outcome != "written":
            raise FileChangedError(
                f"{path} is open in {self._name}, which did not take this edit; save it and try again"
            )
        written = answer.text if answer.text is not None else text
        self._files.wrote(path, written, answer.version or file.version, saved=answer.saved)
        return await self._disk.read_text(path) if answer.saved else _unsaved(path, written)

    async def _ask(self, path: Path, text: str, file: Reported) -> WriteAnswer | None:
        params = to_builtins(Write(str(path), file.version, text, not file.dirty))
        try:
            async with asyncio.timeout(PATIENCE):
                return WriteAnswer.model_validate(await self._connection.request(WRITE, params))
        except (RpcError, ConnectionGoneError, TimeoutError, ValidationError):
            return None

    async def delete(self, path: Path, *, expected: str) -> None:
        """From the disk; a buffer with unsaved text keeps its file."""
        file = self._files.reported(path)
        if file is not None and file.dirty:
            raise FileChangedError(f"{path} has unsaved changes in {self._name}; it was not deleted")
        await self._disk.delete(path, expected=expected)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """See `Workspace`."""
        return await self._disk.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """See `Workspace`: the project knows them."""
        return ()

    async def run(self, command: Command) -> RunningCommand:
        """See `Workspace`; never in a client (D13)."""
        return await self._disk.run(command)


def _unsaved(path: Path, text: str) -> TextFile:
    return TextFile(path, text, digest_of(text.encode()), unsaved=True)
