"""The ACP client's buffers: files as the user sees them on screen, else the disk.

A client may vanish in the middle of any request; then the disk serves and the model is told, once (D13). Nothing is
written to a file whose text is not the one the caller read. An edit asks the client for the text once and writes it once.
"""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from sould.acp.schema import FileAnswer
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.base.textencoding import UTF_8, Encoding
from sould.agents.base.workspace import (
    Expected,
    FileChangedError,
    JustRead,
    Linked,
    NotAFileError,
    TextFile,
    TextFiles,
    digest_expected,
    expected_of,
    names_expected,
)

PATIENCE = 30.0
"""Seconds a client has for one file; then the disk serves."""
GONE = "The editor disconnected: files are now read from and written to the disk, without its unsaved changes."


Request: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Asks the client, by method and parameters. Raises RpcError, ConnectionGoneError."""
ModelNotes: TypeAlias = Callable[[str], None]
"""Tells the model something it did not ask, with its next request."""


MOST_KNOWN = 32
"""Files whose text on screen is remembered."""
MOST_KNOWN_TEXT = 1_000_000
"""Characters of them all; the latest is remembered whatever its size."""


class ShownText(Struct, frozen=True):
    """The text the client last showed, and the disk's time then."""

    mtime_ns: int
    file: TextFile


class Synced(Struct, frozen=True):
    """When buffer and disk last said the same: the disk's time, and the digest of what the buffer said."""

    mtime_ns: int
    digest: str


class ClientTexts:
    """`inner`, the disk, with the client's buffers over it. `reads` and `writes`: which requests the client offers.

    `reviews_as`: see `TextFile.shown_in`.
    """

    def __init__(
        self,
        inner: TextFiles,
        request: Request,
        session_id: str,
        *,
        reads: bool,
        writes: bool,
        tell: ModelNotes,
        patience: float = PATIENCE,
        reviews_as: str = "",
    ) -> None:
        self._inner = inner
        self._request = request
        self._session_id = session_id
        self._reads = reads
        self._writes = writes
        self._tell = tell
        self._patience = patience
        self._reviews_as = reviews_as
        self._gone = False
        self._synced: dict[Path, Synced] = {}
        self._unsaved: set[Path] = set()
        self._shown: dict[Path, ShownText] = {}
        """The latest, oldest first."""
        self._leaves_unsaved = False
        """It was seen to keep what it is given in its buffer, so that a disk without it means nothing."""

    async def read_text(self, path: Path) -> TextFile:
        """The buffer, unless the disk is newer: changed since both were last the same, while the buffer was not."""
        mtime = _mtime(path)
        self._shown.pop(path, None)
        file = await self._read(path, mtime)
        self._remember(mtime, file)
        return file

    async def known_text(self, path: Path) -> TextFile:
        """What the client last showed; the disk when that changed since, or when it never showed the file."""
        known = self._shown.get(path)
        if known is not None and known.mtime_ns == _mtime(path):
            return known.file
        return await self._inner.read_text(path)

    async def _read(self, path: Path, mtime: int) -> TextFile:
        self._unsaved.discard(path)
        try:
            disk = await self._inner.read_text(path)
        except NotAFileError:
            buffer = await self._buffer(path)
            if not buffer or path.exists() or self._is_old(path, mtime, buffer):
                raise
            return self._as_unsaved(path, buffer, UTF_8)
        buffer = await self._buffer(path, disk.text)
        if buffer is None:
            return disk
        if _same(buffer, disk.text) or _is_misread(buffer, disk):
            same = buffer == disk.text and disk.encoding == UTF_8
            self._note_synced(path, mtime, disk.digest if same else _digest(buffer))
            return disk
        return disk if self._is_old(path, mtime, buffer) else self._as_unsaved(path, buffer, disk.encoding)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Through the client when it offers that, then verified; else to the disk.

        So is what is not in UTF-8: which encoding the client would write is its own affair, and it cannot be asked.
        """
        if self._gone:
            return await self._inner.write_text(path, text, expected=expected)
        before = await self._replaced(path, expected)
        by_client = self._writes and (before is None or before.encoding == UTF_8)
        written = await self._written(path, text, before) if by_client else None
        by_client = written is not None
        if written is None and before is not None and before.unsaved:
            raise FileChangedError(
                f"{path} has unsaved changes in the editor, which did not take this edit; save it first"
            )
        if written is None:
            just_read = expected_of(JustRead(before), names_expected(expected))
            written = await self._inner.write_text(path, text, expected=just_read)
        self._remember(_mtime(path), written)
        return replace(written, by_editor=True, shown_in=self._reviews_as) if by_client else written

    async def delete(self, path: Path, *, expected: str) -> None:
        """From the disk: ACP cannot delete. A buffer with unsaved changes keeps its file."""
        before = await self._present(path)
        if before is None or before.digest != expected or before.unsaved:
            raise FileChangedError(f"{path} is not what it was when it was read; it was not deleted")
        await self._inner.delete(path, expected=expected)

    async def unsaved(self) -> Collection[Path]:
        """The files whose buffer differed from the disk when it was last read. ACP has no list of the others."""
        return tuple(self._unsaved)

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
                answer = await self._request(method, asked)
                return {} if answer is None else answer
        except (RpcError, TimeoutError):
            return None
        except ConnectionGoneError:
            if not self._gone:
                self._gone = True
                self._tell(GONE)
            return None

    # --- writing ----------------------------------------------------------------------------------------------------

    async def _replaced(self, path: Path, expected: Expected) -> TextFile | None:
        """What stands where the write goes; what was read a moment ago is only compared with the disk's time."""
        known = self._shown.get(path)
        read = expected.text if isinstance(expected, Linked) else expected
        if isinstance(read, JustRead) and (known.file if known is not None else None) == read.file:
            before = read.file
            unchanged = known.mtime_ns == _mtime(path) if known is not None else not path.exists()
        else:
            before = await self._present(path)
            unchanged = (before.digest if before else None) == digest_expected(expected)
        if not unchanged:
            raise FileChangedError(f"{path} is not what it was when it was read; read it again")
        return before

    async def _present(self, path: Path) -> TextFile | None:
        try:
            return await self.read_text(path)
        except NotAFileError:
            if path.exists():
                raise
            return None

    async def _written(self, path: Path, text: str, before: TextFile | None) -> TextFile | None:
        """The file when the client wrote the text, possibly formatted on the way; None when it did not, whatever it says.

        CodeCompanion, with the file in a buffer, makes an empty line of what stands behind the last line's end: it is
        given the text without that end then, which it adds itself.
        """
        if await self._ask("fs/write_text_file", path, content=text) is None:
            return None
        mtime, disk = await self._on_disk(path)
        if disk is not None and text.endswith("\n") and _same(disk.text, text + "\n"):
            await self._ask("fs/write_text_file", path, content=text[:-1])
            mtime, disk = await self._on_disk(path)
        if disk is not None and _same(disk.text, text):
            self._note_synced(path, mtime, disk.digest)
            return disk
        if disk is not None and (before is None or self._is_newer(path, mtime, disk, before)):
            return disk
        return await self._in_buffer(path, text, before, disk.text if disk else "")

    def _is_newer(self, path: Path, mtime_ns: int, disk: TextFile, before: TextFile) -> bool:
        """Whether the disk was written since `before` was read."""
        if not before.unsaved:
            return not _same(disk.text, before.text)
        known = self._shown.get(path)
        return known is not None and known.mtime_ns != mtime_ns

    async def _in_buffer(self, path: Path, text: str, before: TextFile | None, disk: str) -> TextFile | None:
        """What the client keeps in its buffer without saving it; once it was seen to do that, it is believed."""
        if self._leaves_unsaved:
            return self._as_unsaved(path, text, UTF_8)
        buffer = await self._buffer(path, disk)
        if buffer is None or (before is not None and _same(buffer, before.text)):
            return None
        self._leaves_unsaved = True
        return self._as_unsaved(path, buffer, UTF_8)

    async def _on_disk(self, path: Path) -> tuple[int, TextFile | None]:
        """The disk's time and text."""
        mtime = _mtime(path)
        try:
            return mtime, await self._inner.read_text(path)
        except NotAFileError:
            return mtime, None

    def _remember(self, mtime_ns: int, file: TextFile) -> None:
        self._shown.pop(file.path, None)
        self._shown[file.path] = ShownText(mtime_ns, file)
        size = sum(len(shown.file.text) for shown in self._shown.values())
        while len(self._shown) > 1 and (size > MOST_KNOWN_TEXT or len(self._shown) > MOST_KNOWN):
            size -= len(self._shown.pop(next(iter(self._shown))).file.text)

    def _note_synced(self, path: Path, mtime_ns: int, digest: str) -> None:
        self._synced[path] = Synced(mtime_ns, digest)
        self._unsaved.discard(path)  # also when it was written

    def _is_old(self, path: Path, mtime_ns: int, buffer: str) -> bool:
        """Nothing was typed: the buffer is what the file used to be, before it was changed or deleted."""
        known = self._synced.get(path)
        return known is not None and known.mtime_ns != mtime_ns and _digest(buffer) == known.digest

    def _as_unsaved(self, path: Path, text: str, encoding: Encoding) -> TextFile:
        self._unsaved.add(path)
        return TextFile(path, text, _digest(text), unsaved=True, encoding=encoding)


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


def _is_misread(buffer: str, disk: TextFile) -> bool:
    """Whether a client took the disk's bytes for UTF-8, which they are not."""
    return disk.encoding != UTF_8 and _same(buffer, disk.content.decode(errors="replace"))


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")
