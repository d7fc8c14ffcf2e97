"""The workspace on the local disk: paths judged after every link, nothing followed after that, writes whole or not at all.

It never refuses a path for being outside: it says so, and the caller asks.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import TypeAlias

from sould.agents.base.diskfile import digest_of, read_file, remove_file, replace_file
from sould.agents.base.environment import USUAL_UMASK
from sould.agents.base.tasks import run_shielded_in_thread
from sould.agents.base.textencoding import UTF_8, Encoding, NoTextError, decoded
from sould.agents.base.workspace import (
    Command,
    Expected,
    NotTextError,
    OutsideError,
    ResolvedPath,
    RunningCommand,
    TextFile,
    WorkspaceError,
    content_in_place_of,
    digest_expected,
    names_expected,
    text_expected,
)

MAX_TEXT = 16 * 1024 * 1024
"""Larger files are not texts for tools: old and new text of an edit are kept whole in memory, journal and store."""
MOST_ENCODINGS = 1000
"""Files of which it is remembered that they are not in UTF-8."""
MAX_PATH = 4096
MAX_NAME = 255


RunCommands: TypeAlias = Callable[[Command], Awaitable[RunningCommand]]
"""Starts a command in the session's environment and returns it running. Raises what `Workspace.run` raises."""


class LocalWorkspace:
    """Files below `root` and `additional` (and, where a caller was allowed to, elsewhere); commands through `run`."""

    def __init__(
        self,
        root: Path,
        additional: Sequence[Path],
        run: RunCommands,
        home: Path | None = None,
        *,
        umask: int = USUAL_UMASK,
    ) -> None:
        """`additional` is resolved and may grow. `home`: what `~` means in the session, else the user's own.

        `umask`: of new files and directories, the session's own.
        """
        self.root = Path(os.path.realpath(root))
        """The session's working directory, absolute and resolved."""
        self._home = home or Path.home()
        self.additional = additional
        """Further directories that count as inside."""
        self._run = run
        self._umask = umask
        self._encodings: dict[Path, Encoding] = {}
        """Of files that are not in UTF-8, as they were read or written last: a guess takes time, and the next may be another."""

    def resolve(self, path: str) -> ResolvedPath:
        """Make `path` absolute and follow every link before judging it. Raises OutsideError for what can name nothing."""
        if "\0" in path:
            raise OutsideError("a path cannot hold a NUL character")
        try:
            size = len(os.fsencode(path))
            longest = max(len(os.fsencode(part)) for part in path.split("/"))
        except UnicodeEncodeError:
            raise OutsideError("the path is not valid Unicode") from None
        if size > MAX_PATH or longest > MAX_NAME:
            raise OutsideError(f"the path is too long: {path[:80]}...")
        given = self._absolute(path)
        named, real = os.path.normpath(given), Path(os.path.realpath(given))
        if not str(real).isprintable() and any("\ud800" <= letter <= "\udfff" for letter in str(real)):
            raise OutsideError("the path leads to a name that is not valid UTF-8")
        inside = any(real.is_relative_to(folder) for folder in (self.root, *self.additional))
        return ResolvedPath(real, inside, Path(named) if named != str(real) else None)

    def _absolute(self, path: str) -> str:
        """`~name` is a file of that name: whose account exists is nobody's business."""
        if path == "~" or path.startswith("~/"):
            path = f"{self._home}{path[1:]}"
        return os.path.join(self.root, path)

    async def read_text(self, path: Path) -> TextFile:
        """The file as it is on disk, up to 16 MiB. Raises NotAFileError, NotTextError, OutsideError, WorkspaceError."""
        file = await asyncio.to_thread(_read, path, self._encodings.get(path))
        self._remember(path, file.encoding)
        return file

    def _remember(self, path: Path, encoding: Encoding) -> None:
        self._encodings.pop(path, None)
        if encoding != UTF_8:
            self._encodings[path] = encoding
            if len(self._encodings) > MOST_ENCODINGS:
                del self._encodings[next(iter(self._encodings))]

    async def known_text(self, path: Path) -> TextFile:
        """The disk has no editor that could be asked."""
        return await self.read_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Replace the file whole. Once begun it is finished, also when the caller is cancelled. Raises as Workspace says."""
        before = await self._replaced(path, expected)
        data = content_in_place_of(before, path, text)
        digest, names = digest_expected(expected), names_expected(expected)
        await run_shielded_in_thread(replace_file, path, data, expected=digest, umask=self._umask, names=names)
        return TextFile(path, text, digest_of(data), encoding=before.encoding if before is not None else UTF_8)

    async def _replaced(self, path: Path, expected: Expected) -> TextFile | None:
        """What a write replaces, in whose encoding it is then; None: nothing, something else than is expected, or no text."""
        if (before := text_expected(expected)) is not None:
            return before
        digest = digest_expected(expected)
        if digest is None:
            return None
        with contextlib.suppress(WorkspaceError):
            file = await self.read_text(path)
            return file if file.digest == digest else None
        return None

    async def delete(self, path: Path, *, expected: str) -> None:
        """Remove the file. Once begun it is finished, also when the caller is cancelled. Raises as Workspace says."""
        await run_shielded_in_thread(remove_file, path, expected=expected)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """The first `limit` bytes on disk. Raises NotAFileError, OutsideError, WorkspaceError."""
        data, _ = await asyncio.to_thread(read_file, path, limit)
        return data

    async def unsaved(self) -> Collection[Path]:
        """The disk has no buffers."""
        return ()

    async def run(self, command: Command) -> RunningCommand:
        """Start a command under the daemon's guard."""
        return await self._run(command)


def _read(path: Path, earlier: Encoding | None) -> TextFile:
    """`earlier`: the encoding that it was in last. Blocks."""
    data, size = read_file(path, MAX_TEXT + 1)
    if len(data) > MAX_TEXT:
        raise WorkspaceError(
            f"{path} has {size} bytes; files over {MAX_TEXT // (1024 * 1024)} MiB are not read or edited whole "
            "(search it with Grep, or take parts of it with a command)"
        )
    try:
        read = decoded(data, earlier)
    except NoTextError as error:
        raise NotTextError(f"{path} {error}") from None
    return TextFile(path, read.text, digest_of(data), encoding=read.encoding)
