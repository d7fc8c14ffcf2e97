"""The ACP client's buffers as a workspace: files as the user sees them on screen, everything else from the disk.

A client may vanish in the middle of any request; then the disk serves and the model is told, once (D13). Nothing is
written to a file whose text is not the one the caller read.
"""

import asyncio
import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from sould.acp.schema import FileAnswer
from sould.agents.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.workspace import (
    Command,
    FileChangedError,
    NotAFileError,
    ResolvedPath,
    RunningCommand,
    TextFile,
    Workspace,
)

PATIENCE = 30.0
"""Seconds a client has for one file; then the disk serves."""
GONE = "The editor is gone: files are now read from and written to the disk, without its unsaved changes."


class Requester(Protocol):
    """The connection."""

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Ask the client. Raises RpcError, ConnectionGoneError."""
        ...


@dataclass(frozen=True, slots=True)
class Synced:
    """When buffer and disk last said the same: the disk's time, and what they said."""

    mtime_ns: int
    digest: str


class ClientWorkspace:
    """`inner`, the disk, with the client's buffers over it. `reads` and `writes`: which requests the client offers."""

    def __init__(
        self,
        inner: Workspace,
        connection: Requester,
        session_id: str,
        *,
        reads: bool,
        writes: bool,
        tell: Callable[[str], None],
        patience: float = PATIENCE,
    ) -> None:
        self._inner = inner
        self._connection = connection
        self._session_id = session_id
        self._reads = reads
        self._writes = writes
        self._tell = tell
        self._patience = patience
        self._gone = False
        self._synced: dict[Path, Synced] = {}
        self._unsaved: set[Path] = set()

    @property
    def root(self) -> Path:
        """See `Workspace`."""
        return self._inner.root

    @property
    def additional(self) -> Sequence[Path]:
        """See `Workspace`."""
        return self._inner.additional

    def resolve(self, path: str) -> ResolvedPath:
        """See `Workspace`."""
        return self._inner.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        """The buffer, unless the disk is newer: changed since both were last the same, while the buffer was not."""
        self._unsaved.discard(path)
        mtime = _mtime(path)
        try:
            disk = await self._inner.read_text(path)
        except NotAFileError:
            buffer = await self._buffer(path)
            if not buffer or path.exists() or self._is_old(path, mtime, buffer):
                raise
            return self._as_unsaved(path, buffer)
        buffer = await self._buffer(path, disk.text)
        if buffer is None:
            return disk
        if _same(buffer, disk.text):
            self._note_synced(path, mtime, disk.digest)
            return disk
        return disk if self._is_old(path, mtime, buffer) else self._as_unsaved(path, buffer)

    async def write_text(self, path: Path, text: str, *, expected: str | None) -> None:
        """Through the client when it offers that, then verified; else to the disk."""
        if self._gone:
            await self._inner.write_text(path, text, expected=expected)
            return
        before = await self._present(path)
        if (before.digest if before else None) != expected:
            raise FileChangedError(f"{path} is not what it was when it was read; read it again")
        told = self._writes and await self._wrote(path, text)
        if told and await self._arrived(path, text, before):
            return
        if before is not None and before.unsaved:
            raise FileChangedError(
                f"{path} has unsaved changes in the editor, which did not take this edit; save it first"
            )
        await self._inner.write_text(path, text, expected=expected)

    async def delete(self, path: Path, *, expected: str) -> None:
        """From the disk: ACP cannot delete. A buffer with unsaved changes keeps its file."""
        before = await self._present(path)
        if before is None or before.digest != expected or before.unsaved:
            raise FileChangedError(f"{path} is not what it was when it was read; it was not deleted")
        await self._inner.delete(path, expected=expected)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """See `Workspace`."""
        return await self._inner.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """The files whose buffer differed from the disk when it was last read. ACP has no list of the others."""
        return tuple(self._unsaved)

    async def run(self, command: Command) -> RunningCommand:
        """See `Workspace`; never the client's terminals (D13)."""
        return await self._inner.run(command)

    # --- the client -------------------------------------------------------------------------------------------------

    async def _buffer(self, path: Path, disk: str = "") -> str | None:
        """The client's text; None when it offers none, refuses, or is gone.

        `disk`: the file's. Editors that give lines (avante) leave out the end of the last one, which is no change.
        """
        if not self._reads or self._gone:
            return None
        try:
            text = FileAnswer.model_validate(await self._ask("fs/read_text_file", path)).content
        except ValidationError:
            return None
        return text + "\n" if disk.endswith("\n") and text and not text.endswith("\n") else text

    async def _ask(self, method: str, path: Path, **params: str) -> Any:
        """The client's answer; None when it gives none."""
        try:
            async with asyncio.timeout(self._patience):
                asked = {"sessionId": self._session_id, "path": str(path), **params}
                answer = await self._connection.request(method, asked)
                return {} if answer is None else answer
        except (RpcError, TimeoutError):
            return None
        except ConnectionGoneError:
            if not self._gone:
                self._gone = True
                self._tell(GONE)
            return None

    # --- writing ----------------------------------------------------------------------------------------------------

    async def _present(self, path: Path) -> TextFile | None:
        try:
            return await self.read_text(path)
        except NotAFileError:
            if path.exists():
                raise
            return None

    async def _wrote(self, path: Path, text: str) -> bool:
        """Whether the client says that it wrote the text.

        CodeCompanion, with the file in a buffer, makes an empty line of what stands behind the last line's end: it is
        given the text without that end then, which it adds itself.
        """
        if await self._ask("fs/write_text_file", path, content=text) is None:
            return False
        if text.endswith("\n") and await self._holds(path, text + "\n"):
            await self._ask("fs/write_text_file", path, content=text[:-1])
        return True

    async def _holds(self, path: Path, text: str) -> bool:
        try:
            return _same((await self._inner.read_text(path)).text, text)
        except NotAFileError:
            return False

    async def _arrived(self, path: Path, text: str, before: TextFile | None) -> bool:
        """Whether the client did what it said: the text is on disk or on screen, possibly formatted on the way."""
        mtime = _mtime(path)
        try:
            disk = await self._inner.read_text(path)
        except NotAFileError:
            disk = None
        if disk is not None and _same(disk.text, text):
            self._note_synced(path, mtime, disk.digest)
            return True
        buffer = await self._buffer(path, disk.text if disk else "")
        if buffer is not None and (before is None or not _same(buffer, before.text)):
            return True
        saved = before is None or not before.unsaved
        return disk is not None and saved and (before is None or not _same(disk.text, before.text))

    def _note_synced(self, path: Path, mtime_ns: int, digest: str) -> None:
        self._synced[path] = Synced(mtime_ns, digest)
        self._unsaved.discard(path)  # also when it was written

    def _is_old(self, path: Path, mtime_ns: int, buffer: str) -> bool:
        """Nothing was typed: the buffer is what the file used to be, before it was changed or deleted."""
        known = self._synced.get(path)
        return known is not None and known.mtime_ns != mtime_ns and _digest(buffer) == known.digest

    def _as_unsaved(self, path: Path, text: str) -> TextFile:
        self._unsaved.add(path)
        return TextFile(path, text, _digest(text), unsaved=True)


def _mtime(path: Path) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _same(one: str, other: str) -> bool:
    """Equal but for what editors do to line ends and a byte order mark."""
    return one == other or _plain(one) == _plain(other)


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")
