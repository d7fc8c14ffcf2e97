"""What others made of files under review, taken into it: what users type and save, what programs write, where git moved.

Nothing here writes a file or decides about one, but for what git says that its user decided.
"""

import asyncio
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.base.filelocks import FileLocks
from sould.agents.base.tasks import Behind
from sould.agents.base.workspace import FileChangedError, TextFile, WorkspaceError
from sould.agents.files.directories.nodes import ref_of
from sould.agents.files.edits.editlog import Captured
from sould.agents.files.edits.project import Project
from sould.agents.files.reviewing.files import ReadFile, ReviewFiles
from sould.agents.files.reviewing.gitreview import GitReview
from sould.agents.files.reviewing.view import ReviewView

WAIT: Final = 2.0


class SavedWrite(Struct, frozen=True):
    """A write that an editor saves: `draft` is what this makes of it, with `after` still to be filled in.

    `text` is what was saved, None where the editor does not say its texts; what it holds now may have more that was typed.
    """

    draft: Captured
    until: float
    is_reported: bool = False
    text: str | None = None


class ExpectedSaves(Struct):
    """What editors make of a write while they save it (format on save, trimmed blanks): that belongs to the write.

    An editor that reports its buffers says afterwards that it saved: until then, and for `WAIT` seconds at most, it is waited for.
    """

    _writes: dict[str, SavedWrite] = field(default_factory=dict[str, SavedWrite])

    def wrote(self, draft: Captured) -> None:
        """An editor saves a write now; `draft` is the change that this may make of it, its `after` still to be filled in."""
        self._writes[draft.path] = SavedWrite(draft, time.monotonic() + WAIT)

    def saved(self, path: str, text: str | None) -> None:
        """A client reports that it saved the file, with this text when it says so. A save of just what was written is the end of it."""
        write = self._writes.pop(path, None)
        if write is None or write.is_reported or time.monotonic() >= write.until:
            return
        if text is None or digest_of(text.encode()) != write.draft.before:
            self._writes[path] = replace(write, is_reported=True, text=text)

    def reported(self, path: str) -> bool:
        """Whether a save was, which nobody took yet."""
        return path in self._writes and self._writes[path].is_reported

    def left(self, path: str) -> float:
        """So many seconds such a report is still waited for."""
        write = self._writes.get(path)
        return max(0.0, write.until - time.monotonic()) if write is not None and not write.is_reported else 0.0

    def take(self, path: str) -> SavedWrite | None:
        """The write whose save was reported since it was asked for last: what was saved is that write's."""
        return self._writes.pop(path) if self.reported(path) else None


TYPING: Final = 0.25
"""Seconds of typing that are one event (D40)."""
MOST_READS: Final = 5
"""Of a file that programs in the background go on writing, at one look."""


class LeftBuffer(Struct, frozen=True):
    """What an editor held unsaved of a file when it ended."""

    text: str
    editor: str
    """As people know it."""


class LookingReview(ReviewView):
    """Of one project. `files` are the user's, `locks` hold each of them while it is looked at."""

    def __init__(self, project: Project, locks: FileLocks, files: ReviewFiles, git: GitReview) -> None:
        super().__init__(project, files)
        self.git = git
        self.saves = ExpectedSaves()
        self._locks = locks
        self._later: set[str] = set()
        """Files to be looked at when no call runs programs any more."""
        self._typed: set[str] = set()
        self._to_look_at: set[str] = set()
        self._left: dict[str, LeftBuffer] = {}
        self._closing = False
        self._behind = Behind("taking what was typed")

    async def aclose(self) -> None:
        """Take what was typed last; nothing may follow."""
        self._closing = True
        await self._behind.aclose()
        for path in tuple(self._to_look_at):
            await self.look(path)

    async def look(self, path: str, sessions: Collection[str] = ()) -> None:
        """Take what the file holds now, as its user sees it, and what git says of that.

        What is on disk is the call's as long as one runs programs: it is looked at when that has ended.
        """
        await self.git.prepare((path,))
        await self._look(path, sessions)

    async def _look(self, path: str, sessions: Collection[str] = ()) -> None:
        async with self._locks.editing(Path(path)):
            typed, saved = self._is_typed(path), self.saves.reported(path)
            if not typed and self.git.activity.busy:
                self._later.add(path)
                return
            self._typed.discard(path)
            try:
                read = await self._read(path, sessions, typed=typed)
            except (WorkspaceError, OSError):
                return  # something that is no file, or nobody may read it
            if read is None:
                return
            typed = typed or self._is_typed(path)  # while it was read: then it is looked at again
            written, data = self.saves.take(path) if saved else None, read.data
            left = self._left.get(path)
            if left is not None:
                await self._project.look(path, left.text.encode(), "typed")
                await self._project.look(path, read.held, "typed", read.mode, left=left.editor)
                if self._left.get(path) is left:  # not before: whoever looks meanwhile waits until it is known
                    del self._left[path]
            elif written is not None and data is not None:
                await self._take_write(written, data, is_unsaved=read.stamp is None)
                await self._project.look(path, read.held, "typed", read.mode)
            else:
                await self._project.look(path, read.held, "typed" if typed else self.git.how(path, data), read.mode)
            await self.git.settle(path)
            self.files.taken(Path(path), read)

    async def _take_write(self, written: SavedWrite, data: bytes, *, is_unsaved: bool) -> None:
        """Take what an editor saved of a write; what was typed since then is not part of it."""
        saved = written.text.encode() if is_unsaved and written.text is not None else data
        await self._project.record_saved(written.draft, saved)

    async def _read(self, path: str, sessions: Collection[str], *, typed: bool) -> ReadFile | None:
        """What a file holds; what programs of agents made of it until then is known as theirs. None: they are at it just now.

        Raises WorkspaceError, OSError.
        """
        before: ReadFile | None = None
        for _ in range(MOST_READS):
            read = await self.files.read_saved(Path(path), self._files.get(path), sessions)
            if typed or read == before or not self._may_be_a_programs(path, read):
                return read
            await self.git.activity.find()
            before = read
        return None

    def _may_be_a_programs(self, path: str, read: ReadFile) -> bool:
        """While a project is closed nobody is asked: whoever looks for changes may be waiting for that to be over."""
        if self._closing or not self.git.activity.works:
            return False
        reviewed = self._project.review
        return reviewed.differs(path, ref_of(read.held)) or bool(reviewed.mode_found(path, read.mode, 0))

    def _is_typed(self, path: str) -> bool:
        return path in self._typed or self.files.buffers.text(Path(path)) is not None

    def typed(self, path: str) -> None:
        """A client said that its text of the file is another one; it is taken within `TYPING`, and before anything else happens."""
        if path in self._files:
            self._typed.add(path)
            self.look_soon(path)

    def editor_left(self, path: str, buffer: LeftBuffer) -> None:
        """An editor has ended that held this; it is to be `typed`."""
        if path in self._files:
            self._left[path] = buffer

    def look_soon(self, path: str) -> None:
        """A client may show another text of the file than it did: it is looked at within `TYPING`."""
        if path in self._files:
            self._to_look_at.add(path)
            if not self._behind.busy:
                self._behind.begin(self._take_typed())

    def saved(self, path: str, text: str | None) -> None:
        """A client said that it saved the file, with this text when it says so."""
        self.saves.saved(path, text)
        self.typed(path)

    async def take_saved(self, path: str) -> None:
        """Take what an editor made of a write while it saved it, before the file is written again."""
        if self.saves.reported(path):
            await self.look(path)

    async def _take_typed(self) -> None:
        while self._to_look_at:
            await asyncio.sleep(TYPING)
            paths, self._to_look_at = self._to_look_at, set()
            for path in paths:
                await self.look(path)

    async def look_before_write(self, path: str, text: TextFile | None) -> None:
        """An agent is about to write a file, which is held and has this text: what the user committed until here is settled.

        What programs of agents made of it until here is known as theirs. Raises FileChangedError: they write it just now.
        """
        if self.git.activity.works and (text is None or not text.unsaved):
            await self._find_before_write(path, text)
        if await self.git.prepare((path,)):
            data = text.content if text is not None else None
            await self._project.look(path, data, self.git.how(path, data))
            await self.git.settle(path)

    async def _find_before_write(self, path: str, text: TextFile | None) -> None:
        known, digest = self._files.get(path), text.digest if text is not None else None
        if self._project.review.differs(path, digest):
            await self.git.activity.find()
            if self._files.get(path) is not known and self._project.review.differs(path, digest):
                raise FileChangedError(f"{path} changed since it was read; nothing was written")

    async def look_at_all(self) -> None:
        """Take what all files under review hold, those included in which hunks may be back."""
        await self.git.activity.find()
        moved = await self.git.prepare(self._files)
        touched = await asyncio.to_thread(self.files.touched, dict(self._files))
        for path in dict.fromkeys((*moved, *touched, *self._left)):
            await self._look(path)

    # --- commands of agents --------------------------------------------------------------------------------------------

    async def look_at_git(self) -> None:
        """Where git moved, take what the files hold now."""
        for path in tuple(await self.git.prepare(self._files)):
            await self._look(path)

    async def command_ended(self) -> None:
        """What a call did is known: look at what nobody looked at while it ran."""
        if not self.git.activity.busy:
            later, self._later = self._later, set()
            for path in later:
                await self.look(path)
