"""The user's files as a review reads and writes them: in the client that has one, else where a session works, else on disk.

Nothing is written over what was not expected there. What a decision comes to (`review.filedecisions`) is carried out here.
"""

import asyncio
import contextlib
import os
import stat
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from sould.agents.base.diskfile import digest_of, make_directories, remove_file, replace_file
from sould.agents.base.environment import USUAL_UMASK
from sould.agents.base.filenames import Reach
from sould.agents.base.filestamp import FileStamp, stamp_of
from sould.agents.base.tasks import run_shielded_in_thread
from sould.agents.base.workspace import (
    FileChangedError,
    NotAFileError,
    NotTextError,
    OutsideError,
    TextFile,
    TextFiles,
    WorkspaceError,
    expected_of,
)
from sould.agents.files.directories.nodes import (
    FileNode,
    Held,
    LinkTo,
    content_of,
    held_in,
    is_file,
    is_rewritten,
    link_node,
    read_node,
    ref_of,
    replace_node,
    set_permissions,
)
from sould.agents.files.edits.blobs import BlobStore
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.filedecisions import Effect, Move, PutContent, PutText, SetMode
from sould.agents.files.review.lines import Lines
from sould.agents.files.reviewing.buffers import Buffers

GRAIN: Final = 20_000_000
"""Nanoseconds that times of files may be behind the clock."""
SAVING: Final = 0.25
"""Seconds within which a program that saves a file writes what it had emptied, or moved away."""
LONGEST_LOOK: Final = 2.0
"""Seconds in which an editor says what it shows; until it does, what is known of the file stands."""
LONGEST_SAVE: Final = 2.0
"""Seconds that such a file is waited for, whatever its time says."""


class ReadFile(Struct, frozen=True):
    """What a file held when it was read; `stamp` is how it was on disk just before, None when a client said what it holds."""

    data: bytes | None
    stamp: FileStamp | None
    mode: int | None = None
    """Its permissions, where it is on disk."""
    link: LinkTo | None = None
    """It is none, but a symbolic link."""

    @property
    def held(self) -> Held:
        """What stands there."""
        return self.link or self.data


class ReviewFiles(Struct):
    """Of one project. `sessions` are those that work in it now, with the files as their clients see them."""

    store: BlobStore
    buffers: Buffers
    sessions: dict[str, TextFiles] = field(default_factory=dict[str, TextFiles])
    _unsaved: dict[str, str] = field(default_factory=dict[str, str])
    """The session through whose client a file is seen that keeps what it is given unsaved, and says nothing of its buffers."""
    _stamps: dict[str, FileStamp] = field(default_factory=dict[str, FileStamp])
    """How files were on disk when what they held became known to the review."""

    def touched(self, files: Mapping[str, TrackedFile]) -> list[str]:
        """Those of the files that may hold something else than what is known. Blocks."""
        return [path for path, file in files.items() if self._is_shown(path) or not self._is_as_known(path, file)]

    def _is_as_known(self, path: str, file: TrackedFile) -> bool:
        stamp = _stamp(path)
        if self._stamps.get(path) == stamp:
            return True
        if not file.exists or not stamp or file.content:
            return False
        try:
            node = read_node(Path(path))
        except WorkspaceError:
            return False
        if node is None or not is_file(node) or node.data != "".join(file.text.current).encode():
            return False
        is_same = node.permissions is None or file.user_set_mode(node.permissions) == file
        if is_same:
            self._note(Path(path), stamp)
        return is_same

    def _is_shown(self, path: str) -> bool:
        """A client has it open, which may hold something else than the disk."""
        return path in self._unsaved or bool(self.buffers.holders(Path(path)))

    def written(self, session_id: str, file: TextFile) -> None:
        """An agent wrote a file: one that an editor did not save, and says nothing of, is looked at there until it is saved."""
        if file.unsaved and not self.buffers.holders(file.path):
            self._unsaved[str(file.path)] = session_id
        else:
            self._unsaved.pop(str(file.path), None)

    def serving(self, path: Path, sessions: Collection[str] = ()) -> TextFiles | None:
        """Who reads and writes a file; None: the disk.

        A client that says it has it open, else one of the sessions, or the session whose client keeps it unsaved.
        """
        for holder in self.buffers.holders(path):
            workspace = self.buffers.workspace(holder)
            if workspace is not None:
                return workspace
        keeper = self._unsaved.get(str(path))
        return next((each for name, each in self.sessions.items() if name in sessions or name == keeper), None)

    async def content(self, path: Path, sessions: Collection[str] = ()) -> bytes | None:
        """What a file holds as the user sees it, None where there is none. Raises as `read`."""
        return (await self.read(path, sessions)).data

    async def read(self, path: Path, sessions: Collection[str] = ()) -> ReadFile:
        """Likewise, for a review that takes it and says so (`taken`).

        Of what is neither a file nor a link, such as a directory, there is nothing. Raises WorkspaceError: it cannot be read.
        """
        reported = self.buffers.text(path)
        if reported is not None:
            return ReadFile(reported.encode(), None)
        workspace = self.serving(path, sessions)
        stamp = await asyncio.to_thread(_stamp, str(path))
        if await asyncio.to_thread(_is_no_file, path):
            return ReadFile(None, stamp)
        node = await asyncio.to_thread(read_node, path)
        held = held_in(content_of(node), node.mode if node is not None else None)
        if isinstance(held, LinkTo):
            return ReadFile(None, stamp, link=held)
        if not is_file(node):
            return ReadFile(None, stamp)
        data = node.data if node is not None else None
        if workspace is not None:
            with contextlib.suppress(NotAFileError, NotTextError):
                try:
                    async with asyncio.timeout(LONGEST_LOOK):
                        shown = await workspace.read_text(path)
                except TimeoutError:
                    raise WorkspaceError(f"{path}: the editor that shows it does not answer") from None
                data = shown.content
                if not shown.unsaved:
                    self._unsaved.pop(str(path), None)
        return ReadFile(data, stamp, node.permissions if node is not None else None)

    async def read_saved(self, path: Path, known: TrackedFile | None, sessions: Collection[str] = ()) -> ReadFile:
        """As `read`, but not in the middle of a save.

        Editors empty a file before they write it, or move it away. What is missing at that moment nobody deleted, and the
        lines of agents that come back with it are no user's: so a file that has less than is `known`, since just now, is
        waited for. Raises as `read`.
        """
        read = await self.read(path, sessions)
        longest = time.monotonic() + LONGEST_SAVE
        earlier: FileStamp | None = None
        while read.stamp is not None and _has_less(read, known) and time.monotonic() < longest:
            # A file that is being emptied gets its new time last (ext4): an empty one counts when it is so twice.
            young = read.data == b"" and read.stamp != earlier
            wait = SAVING if young else min(SAVING, SAVING - await asyncio.to_thread(_age, path))
            if wait <= 0:
                break
            earlier = read.stamp
            await asyncio.sleep(wait)
            read = await self.read(path, sessions)
        return read

    def taken(self, path: Path, read: ReadFile) -> None:
        """The review knows this. Said before that, others who look meanwhile would go by what was known until then."""
        if read.stamp is None:
            self._stamps.pop(str(path), None)
        else:
            self._note(path, read.stamp)

    def _note(self, path: Path, stamp: FileStamp) -> None:
        """A change within the clock's grain may have the same time: what was changed just now is looked at again."""
        if stamp and time.time_ns() - stamp[0] < GRAIN:
            self._stamps.pop(str(path), None)
        else:
            self._stamps[str(path)] = stamp

    async def carry_out(
        self,
        effects: Iterable[Effect],
        sessions: Collection[str],
        made: Collection[Path],
        mode: int | None,
        reach: Reach,
    ) -> None:
        """Do these, in order; what is written `reach`es further names of a file.

        `made` are directories that agents made, which go when a file leaves them empty or takes their place; `mode` is the
        permissions of a file that is brought back, None when nobody knows them.

        Raises:
            FileChangedError: something else is there by now; nothing was done from there on.
            WorkspaceError, OSError, BlobMissingError: it could not be done.
        """
        for effect in effects:
            if Path(effect.path) in made:
                await run_shielded_in_thread(_remove_directory, Path(effect.path))
            match effect:
                case PutText():
                    await self._put_text(effect, sessions, made, reach)
                    if effect.expected is None:
                        await run_shielded_in_thread(set_permissions, Path(effect.path), mode)
                case PutContent():
                    await self._put_content(effect, made, mode, reach)
                case Move():
                    await run_shielded_in_thread(_move, Path(effect.path), Path(effect.to))
                    await run_shielded_in_thread(_remove_empty, Path(effect.path), made)
                case SetMode():
                    await run_shielded_in_thread(set_permissions, Path(effect.path), int(effect.mode, 8))

    async def _put_text(self, effect: PutText, sessions: Collection[str], made: Collection[Path], reach: Reach) -> None:
        path = Path(effect.path)
        workspace = self.serving(path, sessions)
        expected = _digest(effect.expected)
        if effect.wanted is None:
            assert expected is not None
            if workspace is None:
                await run_shielded_in_thread(remove_file, path, expected=expected)
            else:
                await workspace.delete(path, expected=expected)
            await run_shielded_in_thread(_remove_empty, path, made)
            return
        text, names = "".join(effect.wanted), 1
        if expected is not None:
            names = (await run_shielded_in_thread(reach.prepare, path)).count
        if workspace is None:
            data = text.encode()
            await run_shielded_in_thread(replace_file, path, data, expected=expected, umask=USUAL_UMASK, names=names)
        else:
            await workspace.write_text(path, text, expected=expected_of(expected, names))

    async def _put_content(self, effect: PutContent, made: Collection[Path], mode: int | None, reach: Reach) -> None:
        path = Path(effect.path)
        found = await asyncio.to_thread(read_node, path)
        held = held_in(content_of(found), found.mode if found is not None else None)
        if (ref_of(held) or "") != effect.expected:
            raise FileChangedError(f"{path} is not what it was")
        wanted = link_node(effect.wanted)
        if wanted is None and effect.wanted:
            data = await asyncio.to_thread(self.store.get, effect.wanted)
            permissions = stat.S_IFREG | mode if mode is not None else None
            wanted = FileNode(found.mode if found is not None and is_file(found) else permissions, data)
        names = 1
        if is_rewritten(found, wanted):
            names = (await run_shielded_in_thread(reach.prepare, path)).count
        await run_shielded_in_thread(replace_node, path, found, wanted, USUAL_UMASK, names)
        if not effect.wanted:
            await run_shielded_in_thread(_remove_empty, path, made)


def _is_no_file(path: Path) -> bool:
    """Something else stands there that is no link either, such as a directory or a pipe."""
    try:
        return stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFLNK)
    except OSError:
        return False


def _stamp(path: str) -> FileStamp:
    """Times, size and inode; nothing where nothing is."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return stamp_of(status)


def _has_less(read: ReadFile, known: TrackedFile | None) -> bool:
    data = read.data
    if known is None or read.link is not None:
        return False
    if data is None or known.content:
        return known.exists and not data
    return len(data) < len("".join(known.text.current).encode())


def _age(path: Path) -> float:
    """Seconds since the file was written, or went from its directory. Blocks."""
    for place in (path, path.parent):
        with contextlib.suppress(OSError):
            return time.time() - os.lstat(place).st_mtime
    return SAVING


def _digest(lines: Lines | None) -> str | None:
    return digest_of("".join(lines).encode()) if lines is not None else None


def _move(path: Path, to: Path) -> None:
    """Nothing is written over, and nothing goes through a link."""
    for folder in (path.parent, to.parent):
        if os.path.realpath(folder) != str(folder):
            raise OutsideError(f"{folder} now goes through a link")
    make_directories(to.parent, USUAL_UMASK)
    try:
        os.link(path, to, follow_symlinks=False)
    except FileExistsError:
        raise FileChangedError(f"{to} was created by another program meanwhile") from None
    path.unlink()


def _remove_empty(path: Path, made: Collection[Path]) -> None:
    """Remove the directories above a file that agents made and in which nothing is any more."""
    for folder in path.parents:
        if folder not in made:
            break
        _remove_directory(folder)


def _remove_directory(path: Path) -> None:
    """Unless something is in it."""
    with contextlib.suppress(OSError):
        path.rmdir()
