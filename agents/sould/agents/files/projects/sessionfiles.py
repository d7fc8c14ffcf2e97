"""A session's files: the `Workspace` it works in, with every change in the edit log of the project the file belongs to.

Before a text is overwritten it is in the blob store and the intent is on disk, so that whatever happens next, the old
text can be had back and who replaced it is known. Nothing here decides what is kept or rejected.
"""

import asyncio
import contextlib
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.base.environment import USUAL_UMASK
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
    ResolvedPath,
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
from sould.agents.files.edits.blobs import BlobMissingError
from sould.agents.files.edits.editlog import Intent
from sould.agents.files.edits.moments import moment
from sould.agents.files.edits.ownership import ALONE, never_projects
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.state import LoggedEdit, LoggedFileChange, changes_of
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.changes import CallChange, WatchedCommands, made_directories
from sould.agents.files.projects.foreseen import ForeseenWrites
from sould.agents.files.projects.foundchanges import CallChanges, FoundChanges, Writing, captured
from sould.agents.files.projects.knowntexts import KnownTexts
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.steps import AgentsAtWork
from sould.agents.files.projects.untold import Untold
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.reviewing.answers import DecisionListener
from sould.agents.files.reviewing.review import Review
from sould.agents.toolapi.base import ToolCallContext


class Author(Struct, frozen=True):
    """Who writes, with the `umask` for what it makes: a session, or ("" and None) the user, who sees all sessions' edits."""

    session_id: str
    directory: Path | None
    """The session's own."""
    home: Path
    secrets: SecretJudge | None = None
    umask: int = USUAL_UMASK
    temporary: str = ""
    """TMPDIR as the session sees it."""


class SessionFiles:
    """A `Workspace` that remembers what the agent changed; a `PerCall`: a tool's writes carry the call that made them."""

    def __init__(self, disk: Workspace, projects: Projects, author: Author, clients: TextFiles | None = None) -> None:
        """`clients`: the files as the user sees them in editors; None: as they are on disk."""
        self._disk = disk
        self._texts: TextFiles = clients or disk
        self.umask = author.umask
        self.capture: Capture | None = None
        self._author = author
        self._locks = projects.locks
        self._buffers = projects.buffers
        never = never_projects(author.home, author.temporary)
        self._borrowed = BorrowedProjects(projects, disk, self._texts, author.directory, never, author.session_id)
        self._found = FoundChanges(author.session_id, self._borrowed, projects.config)
        self.work = AgentsAtWork(self._borrowed)
        self.foreseen = ForeseenWrites(author.session_id, projects, self._texts, self._borrowed, author.secrets)
        self.untold = Untold(
            author.session_id, self._borrowed, self._texts, author.secrets, KnownTexts(author.directory)
        )
        if author.session_id:
            self._borrowed.tell_edits(self.untold)

    @classmethod
    async def open(
        cls, disk: Workspace, projects: Projects, author: Author, clients: TextFiles | None = None
    ) -> "SessionFiles":
        """Those of a session that goes on, or of the user. Raises as `resume`."""
        files = cls(disk, projects, author, clients)
        try:
            await files.resume()
        except BaseException:
            await files.aclose()
            raise
        return files

    async def resume(self) -> None:
        """Open the logs that hold edits of the session, for the user the project's. A new session has none.

        One that earlier versions kept for the session alone is taken over.
        Raises OSError: a log cannot be opened; ProjectOpenElsewhereError: another process holds it.
        """
        await self._borrowed.open(self._author.session_id)
        await self.untold.restore()

    async def inherit(self, session_id: str, directory: Path) -> None:
        """Know the edits of another session, too: this one, still new, goes on where that one is.

        Raises:
            OSError: they cannot be read, or could not be kept.
        """
        await self._borrowed.inherit(self._author.session_id, session_id, directory)

    def watch(self, capture: Capture) -> None:
        """From now on what commands do is known, too. Said once, before anything runs."""
        self.capture = capture

    async def aclose(self) -> None:
        """Give the projects back; no write may follow."""
        if self.capture is not None:
            await self.capture.aclose()
        await self.untold.keep()
        await self._borrowed.aclose()

    # --- what was changed --------------------------------------------------------------------------------------------

    @property
    def watched(self) -> Sequence[Path]:
        """See `WatchedFiles`."""
        return self._borrowed.watched

    @property
    def unwatched(self) -> Sequence[Path]:
        """See `WatchedFiles`."""
        return self._borrowed.unwatched

    @property
    def touched(self) -> Collection[Path]:
        """See `WatchedFiles`."""
        return {*(path for project in self._borrowed for path in project.edits()), *self._buffers.opened_files()}

    @property
    def edits(self) -> Mapping[Path, Sequence[LoggedEdit]]:
        """Every edit of the session by resolved path, oldest first, taken back or not."""
        found: dict[Path, list[LoggedEdit]] = {}
        for project in self._borrowed:
            for path, edits in project.edits(self._author.session_id or None).items():
                if self._author.session_id or project.root != ALONE or path.is_relative_to(self.root):
                    found.setdefault(path, []).extend(edits)
        return {path: sorted(edits, key=lambda edit: edit.timestamp) for path, edits in found.items()}

    def edits_of(self, path: Path) -> Sequence[LoggedEdit]:
        """Those of all sessions of one file, oldest first."""
        return self._borrowed.edits_of(path)

    @property
    def changes(self) -> Mapping[Path, LoggedFileChange]:
        """The files the session changed, by resolved path."""
        return changes_of(self.edits)

    def reviews(self) -> Sequence[Review]:
        """What is to be decided in the projects the session works in."""
        return self._borrowed.reviews()

    async def review_of(self, path: Path) -> Review:
        """What is to be decided in the project of a file. Raises OSError, SouldError."""
        return self._borrowed.review(await self._borrowed.of(path))

    async def open_reviews(self) -> Sequence[Review]:
        """Likewise, first that of the directory the session works in. Raises OSError, SouldError."""
        return await self._borrowed.open_reviews()

    def tell(self, listener: DecisionListener) -> None:
        """From now on of what is decided about the session's hunks. Said once."""
        self._borrowed.tell(listener)

    async def text(self, digest: str) -> str:
        """A text named in `changes`. Raises BlobMissingError."""
        return (await self.content(digest)).decode()

    async def content(self, digest: str) -> bytes:
        """A content named in `changes`, nothing for a directory. Raises BlobMissingError."""
        missing = BlobMissingError("no edit of the session names it")
        for project in self._borrowed:
            try:
                return await project.content(digest)
            except BlobMissingError as error:
                missing = error
        raise missing

    @property
    def commands(self) -> WatchedCommands:
        """See `WatchedFiles`."""
        return self._borrowed

    async def note(self, changes: Sequence[CallChange], since: int, call: AgentCall) -> list[CallChange]:
        """Keep changes that were found on disk as the call's, but for what the session's edits since the mark explain; what is left.

        Raises:
            OSError, SouldError: they could not be kept.
        """
        return await self._found.keep(changes, since, call)

    async def make_sure(self, call: AgentCall) -> None:
        """See `WatchedFiles.make_sure`."""
        await self._found.make_sure(call)

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

    def editing(self, *paths: Path) -> AbstractAsyncContextManager[None]:
        """Hold files for a block, in which the same task may write them."""
        return self._locks.editing(*paths)

    async def looked_at(self, path: Path) -> Project:
        """The project of a file, which is held; it knows what the file holds now. Raises WorkspaceError."""
        project = await self._writable(path)
        await self._borrowed.review(project).look(str(path), {self._author.session_id})
        return project

    async def put(self, path: Path, step: Put, turn_id: str, call_id: str) -> None:
        """Put something else where something is, as an edit. Raises as `write`; a directory goes only when it is empty."""
        found, wanted = step.found, step.wanted
        async with self._locks.editing(path):
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
        return await run_shielded_in_thread(Reach((self.root, *self.additional), all_names).prepare, path)

    async def _writable(self, path: Path) -> Project:
        """The project of a file that is to be written. Raises WorkspaceError."""
        try:
            return await self._borrowed.of(path)
        except (OSError, SouldError) as error:
            why = error.message if isinstance(error, SouldError) else error.strerror or "the disk refused"
            raise WorkspaceError(f"{path} was not written: its old text could not be saved ({why})") from error

    # --- the workspace -----------------------------------------------------------------------------------------------

    def for_call(self, call: ToolCallContext) -> CallChanges:
        """What one tool call does to the files."""
        agent_id = call.source.agent_id if call.source is not None else ""
        made_by = AgentCall(self._author.session_id, call.turn_id, call.id, agent_id, call.model)
        return CallChanges(self, Writing(made_by, call.allowed, call.all_names))

    @property
    def root(self) -> Path:
        """The session's working directory."""
        return self._disk.root

    @property
    def additional(self) -> Sequence[Path]:
        """Further directories that count as inside."""
        return self._disk.additional

    def resolve(self, path: str) -> ResolvedPath:
        """See `Workspace`."""
        return self._disk.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        """See `Workspace`."""
        return await self._texts.read_text(path)

    async def known_text(self, path: Path) -> TextFile:
        """See `Workspace`."""
        return await self._texts.known_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write for no tool call in particular (a command of the user's)."""
        return await self.write(path, text, expected=expected, writing=Writing(self._call()))

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete for no tool call in particular."""
        await self.remove(path, expected=expected, writing=Writing(self._call()))

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """See `Workspace`."""
        return await self._disk.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """See `Workspace`."""
        return await self._texts.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """See `Workspace`."""
        return await self._disk.run(command)

    async def write(self, path: Path, text: str, *, expected: Expected, writing: Writing) -> TextFile:
        """Save the old text, note the intent, write, note the outcome.

        Raises:
            FileChangedError: the file is not what was read; nothing was written.
            WorkspaceError: the old text could not be saved (nothing was written), or the write failed.
        """
        async with self._locks.editing(path):
            written = await self._change(path, text, expected, writing)
        assert written is not None
        return written

    async def remove(self, path: Path, *, expected: str, writing: Writing) -> None:
        """Save the text, note the intent, delete the file, note the outcome. Raises as `write`."""
        async with self._locks.editing(path):
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
        self.foreseen.writes(writing.call.call_id)
        await project.settle(n, written=True, shown_in=written.shown_in if written is not None else "")
        is_there = written is not None and not written.unsaved and written.digest == intent.after
        others = names.others if is_there else ()
        await self._note_other_names(project, intent, writing.call, others)
        if written is not None:
            await self._save_by_editor(project, intent, before, written, begun)
        if missing and data is not None:
            made = await asyncio.to_thread(made_directories, missing)
            with contextlib.suppress(OSError, SouldError):  # then they stay when the edit is taken back
                await self.note(made, mark, writing.call)
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
        return AgentCall(self._author.session_id, turn_id, call_id)

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
        judge = self._author.secrets
        return judge is not None and bool(judge.secret_in(path, *contents))
