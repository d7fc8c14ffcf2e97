"""The one write path: what agents, and those who take their edits back, write to the files of projects.

Before a text is overwritten it is in the blob store and the intent is on disk, so that whatever happens next, the old
text can be had back and who replaced it is known. Nothing here decides what is kept or rejected.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.base.errors import SouldError
from sould.agents.base.filenames import ONE_WRITTEN, Reach, WrittenNames
from sould.agents.base.tasks import run_shielded_in_thread
from sould.agents.base.workspace import (
    Command,
    Expected,
    FileChangedError,
    JustRead,
    NotAFileError,
    NotTextError,
    RunningCommand,
    TextFile,
    TextFiles,
    Workspace,
    WorkspaceError,
    content_in_place_of,
    digest_expected,
    expected_of,
)
from sould.agents.files.directories.nodes import (
    FileNode,
    Put,
    content_of,
    digest_of_node,
    is_file,
    is_rewritten,
    is_text,
    read_node,
    replace_node,
    set_permissions,
    surroundings,
)
from sould.agents.files.directories.secretblobs import SecretJudge
from sould.agents.files.edits.editlog import Intent
from sould.agents.files.edits.moments import moment
from sould.agents.files.edits.project import Project
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.changes import CallChange, made_directories
from sould.agents.files.projects.foreseen import ForeseenWrites
from sould.agents.files.projects.foundchanges import FoundChanges, captured
from sould.agents.files.projects.projects import Projects
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.hunk import AgentCall


class Writing(Struct, frozen=True):
    """In whose name a file is changed. `allowed`: a person saw the difference and said yes before.

    `all_names`: names of the file outside the project (hard links) may change with it, as a person said.
    """

    call: AgentCall
    allowed: bool = False
    all_names: bool = False


class RecordedWrites:
    """Of one session."""

    def __init__(
        self,
        texts: TextFiles,
        projects: Projects,
        found: FoundChanges,
        foreseen: ForeseenWrites,
        secrets: SecretJudge | None,
        umask: int,
    ) -> None:
        """`texts`: the files as the session's clients see them. `umask`: for what it makes."""
        self.locks = projects.locks
        self.umask = umask
        self._texts = texts
        self._buffers = projects.buffers
        self._found = found
        self._borrowed = found.borrowed
        self._foreseen = foreseen
        self._secrets = secrets

    async def write(self, path: Path, text: str, *, expected: Expected, writing: Writing) -> TextFile:
        """Save the old text, note the intent, write, note the outcome.

        Raises:
            FileChangedError: the file is not what was read; nothing was written.
            WorkspaceError: the old text could not be saved (nothing was written), or the write failed.
        """
        async with self.locks.editing(path):
            written = await self._change(path, text, expected, writing)
        assert written is not None
        return written

    async def remove(self, path: Path, *, expected: str, writing: Writing) -> None:
        """Save the text, note the intent, delete the file, note the outcome. Raises as `write`."""
        async with self.locks.editing(path):
            await self._change(path, None, expected, writing)

    async def _change(self, path: Path, text: str | None, expected: Expected, writing: Writing) -> TextFile | None:
        """The text as it is now; None where it was deleted."""
        project = await self._writable(path)
        before = await self._before(project, path, expected)
        data = content_in_place_of(before, path, text) if text is not None else None
        await self._borrowed.review(project).take_saved(str(path))
        await self._borrowed.review(project).look_before_write(str(path), before)
        digest = before.digest if before is not None else None
        written: TextFile | None = None
        is_written = before is not None and data is not None
        names = await self._names(project, path, all_names=writing.all_names) if is_written else ONE_WRITTEN
        mode, missing = await asyncio.to_thread(surroundings, path)
        intent = Intent.of_call(writing.call, path, digest, digest_of(data) if data is not None else None)
        intent = replace(intent, allowed=writing.allowed or self._found.unreviewed, in_place=names.in_place)
        if before is not None:
            intent = replace(intent, before_mode=mode, after_mode=mode if data is not None else None)
        n = await self._announce(project, path, intent, (before.content if before is not None else None, data))
        begun = time.monotonic()
        try:
            if text is not None:
                expected = expected_of(JustRead(before), names.count)
                written = await self._texts.write_text(path, text, expected=expected)
            elif digest is not None:
                await self._texts.delete(path, expected=digest)
        except FileChangedError:
            await project.settle(n, written=False)
            raise
        # Any other failure, cancellation included, leaves the edit unsettled: the file will tell which text it holds.
        mark = moment()
        self._foreseen.writes(writing.call.call_id)
        await project.settle(n, written=True, shown_in=written.shown_in if written is not None else "")
        is_there = written is not None and not written.unsaved and written.digest == intent.after
        others = names.others if is_there else ()
        await self._note_other_names(project, intent, writing.call, others)
        if written is not None:
            await self._save_by_editor(project, intent, before, written, begun)
        if missing and data is not None:
            made = await asyncio.to_thread(made_directories, missing)
            with contextlib.suppress(OSError, SouldError):  # then they stay when the edit is taken back
                await self._found.keep(made, mark, writing.call)
        return replace(written, parted=names.parted, others=others) if written is not None else None

    async def _note_other_names(self, project: Project, intent: Intent, call: AgentCall, names: Sequence[Path]) -> None:
        """A write changed the file under these names, too: that is the call's doing, and is reviewed under the name that was written."""
        modes = (intent.before_mode, intent.after_mode)
        change = CallChange(Path(), intent.before, intent.after, *modes, secret=intent.secret)
        reviewed = [name for name in names if str(name) in project.review.state.files]
        drafts = [captured(replace(change, path=name), call, allowed=True) for name in reviewed]
        if drafts:
            with contextlib.suppress(OSError, SouldError):  # then it is found there at the next look, as the user's
                await project.record(drafts)

    async def _save_by_editor(
        self, project: Project, intent: Intent, before: TextFile | None, written: TextFile, begun: float
    ) -> None:
        """What an editor makes of a write while it saves it belongs to the write, also when it reports that later.

        `begun` is when it was asked to write (monotonic seconds).
        """
        path, mode, data = Path(intent.path), intent.after_mode, written.content
        call = AgentCall(intent.session_id, intent.turn_id, intent.call_id, intent.subagent, intent.model)
        is_other = intent.after != written.digest
        secret = intent.secret or (is_other and await asyncio.to_thread(self._is_secret, path, [data]))
        draft = captured(CallChange(path, intent.after, None, mode, mode, secret=secret), call, allowed=intent.allowed)
        await project.record_saved(draft, data)
        self._borrowed.review(project).files.written(intent.session_id, written)
        is_saved = before is None or not before.unsaved
        is_reported = self._buffers.saved_since(path, written.digest, begun)
        if written.by_editor and is_saved and self._buffers.holders(path) and not is_reported:
            self._borrowed.review(project).saves.wrote(replace(draft, before=written.digest))

    def _call(self, turn_id: str = "", call_id: str = "") -> AgentCall:
        return AgentCall(self._found.session_id, turn_id, call_id)

    async def _announce(
        self,
        project: Project,
        path: Path,
        intent: Intent,
        contents: tuple[bytes | None, bytes | None],
        becomes: TrackedFile | None = None,
    ) -> int:
        """Save the contents before and after, then the intent; its number. Raises WorkspaceError: then nothing may be written."""
        secret = await asyncio.to_thread(self._is_secret, path, [data for data in contents if data is not None])
        try:
            return await project.announce(replace(intent, secret=secret), *contents, becomes)
        except OSError as error:
            raise WorkspaceError(
                f"{path} was not written: its old text could not be saved ({error.strerror or 'the disk refused'})"
            ) from error

    async def _before(self, project: Project, path: Path, expected: Expected) -> TextFile | None:
        """The text to be replaced; what earlier writes came to is settled by it."""
        found: TextFile | None = None
        if isinstance(expected, JustRead):
            found, expected = expected.file, expected.digest
        else:
            try:
                found = await self._texts.read_text(path)
            except NotAFileError:
                if digest_expected(expected) is not None:
                    raise FileChangedError(f"{path} was deleted since it was read; nothing was written") from None
        digest = found.digest if found is not None else None
        await project.judge(path, digest)
        if digest != digest_expected(expected):
            raise FileChangedError(f"{path} changed since it was read; nothing was written")
        return found

    def _is_secret(self, path: Path, contents: Sequence[bytes]) -> bool:
        judge = self._secrets
        return judge is not None and bool(judge.secret_in(path, *contents))

    # --- whatever a path is ------------------------------------------------------------------------------------------

    async def node(self, path: Path) -> FileNode | None:
        """What is there, a file's text as the user sees it. Raises WorkspaceError."""
        node = await asyncio.to_thread(read_node, path)
        if not is_file(node):
            return node
        try:
            data = (await self._texts.read_text(path)).content
        except (NotAFileError, NotTextError):
            return node
        return FileNode(node.mode if node is not None else None, data)

    async def looked_at(self, path: Path) -> Project:
        """The project of a file, which is held; it knows what the file holds now. Raises WorkspaceError."""
        project = await self._writable(path)
        await self._borrowed.review(project).look(str(path), {self._found.session_id})
        return project

    async def put(self, path: Path, step: Put, turn_id: str, call_id: str) -> None:
        """Put something else where something is, as an edit. Raises as `write`; a directory goes only when it is empty."""
        found, wanted = step.found, step.wanted
        async with self.locks.editing(path):
            project = await self._writable(path)
            await project.judge(path, digest_of_node(found))
            names = await self._names(project, path) if is_rewritten(found, wanted) else ONE_WRITTEN
            intent = Intent.of_call(self._call(turn_id, call_id), path, digest_of_node(found), digest_of_node(wanted))
            modes = (found and found.mode, wanted and wanted.mode)
            intent = replace(intent, before_mode=modes[0], after_mode=modes[1], in_place=names.in_place)
            n = await self._announce(project, path, intent, (content_of(found), content_of(wanted)), step.becomes)
            try:
                if is_file(found) and is_file(wanted) and is_text(found) and is_text(wanted):
                    await self._put_text(path, found, wanted, names.count)
                else:
                    await run_shielded_in_thread(replace_node, path, found, wanted, self.umask, names.count)
            except FileChangedError:
                await project.settle(n, written=False)
                raise
            await project.settle(n, written=True)

    async def _put_text(self, path: Path, found: FileNode | None, wanted: FileNode | None, names: int) -> None:
        """Through the editor, so that its buffer follows."""
        expected = digest_of(found.data) if found is not None else None
        if wanted is None:
            if expected is not None:
                await self._texts.delete(path, expected=expected)
            return
        if found is None or found.data != wanted.data:
            await self._texts.write_text(path, wanted.data.decode(), expected=expected_of(expected, names))
        with contextlib.suppress(FileNotFoundError):  # it may be in an editor's buffer only
            await run_shielded_in_thread(set_permissions, path, wanted.permissions)

    async def _names(self, project: Project, path: Path, *, all_names: bool | None = None) -> WrittenNames:
        """What a write is going to do to the names of a file: it reaches those that were judged, below the session's directories.

        `all_names` None: what takes edits back reaches as far as they did. Raises WorkspaceError.
        """
        if all_names is None:
            all_names = project.was_written_in_place(path)
        return await run_shielded_in_thread(Reach(self._borrowed.directories, all_names).prepare, path)

    async def _writable(self, path: Path) -> Project:
        """The project of a file that is to be written. Raises WorkspaceError."""
        try:
            return await self._borrowed.of(path)
        except (OSError, SouldError) as error:
            why = error.message if isinstance(error, SouldError) else error.strerror or "the disk refused"
            raise WorkspaceError(f"{path} was not written: its old text could not be saved ({why})") from error


class CallChanges(Struct, frozen=True):
    """What one call does to a session's files."""

    writes: RecordedWrites
    disk: Workspace
    capture: Capture | None
    writing: Writing

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write in the name of this call."""
        return await self.writes.write(path, text, expected=expected, writing=self.writing)

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete in the name of this call."""
        await self.writes.remove(path, expected=expected, writing=self.writing)

    async def run(self, command: Command) -> RunningCommand:
        """As the session's files; what it does to files is this call's, also after the call has ended."""
        if self.capture is None:
            return await self.disk.run(command)
        return await self.capture.running(self.writing.call, lambda: self.disk.run(command))
