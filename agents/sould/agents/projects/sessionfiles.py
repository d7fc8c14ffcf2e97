"""A session's files: the `Workspace` it works in, with every change in the edit log of the project the file belongs to.

Before a text is overwritten it is in the blob store and the intent is on disk, so that whatever happens next, the old
text can be had back and who replaced it is known. Nothing here decides what is kept or rejected.
"""

import asyncio
import contextlib
import os
import stat
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from sould.agents.diskfile import digest_of
from sould.agents.environment import USUAL_UMASK
from sould.agents.errors import SouldError
from sould.agents.patience import run_shielded_in_thread
from sould.agents.projects.blobs import BlobMissingError
from sould.agents.projects.borrowing import BorrowedProjects
from sould.agents.projects.capture import Capture
from sould.agents.projects.changes import Change, explained
from sould.agents.projects.editlog import Captured, Intent
from sould.agents.projects.moments import moment
from sould.agents.projects.nodes import (
    Node,
    digest_of_node,
    is_file,
    is_text,
    read_node,
    replace_node,
    set_permissions,
    surroundings,
)
from sould.agents.projects.ownership import ALONE, never_projects
from sould.agents.projects.project import Project
from sould.agents.projects.projects import Projects
from sould.agents.projects.refs import DIRECTORY
from sould.agents.projects.secretblobs import SecretJudge
from sould.agents.projects.state import Edit, FileChange, changes_of
from sould.agents.toolapi.base import ToolCallContext
from sould.agents.workspace import (
    Command,
    Expected,
    FileChangedError,
    JustRead,
    NotAFileError,
    NotTextError,
    ResolvedPath,
    RunningCommand,
    TextFile,
    Workspace,
    WorkspaceError,
)


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

    def __init__(self, inner: Workspace, projects: Projects, author: Author) -> None:
        self.inner = inner
        self.umask = author.umask
        self.capture: Capture | None = None
        self._author = author
        self._locks = projects.locks
        self._buffers = projects.buffers
        never = never_projects(author.home, author.temporary)
        self._borrowed = BorrowedProjects(projects, inner, author.directory, never)

    @classmethod
    async def open(cls, inner: Workspace, projects: Projects, author: Author) -> "SessionFiles":
        """Open the logs that hold edits of the session, for the user the project's.

        One that earlier versions kept for the session alone is taken over.

        Raises:
            OSError: a log cannot be opened.
            ProjectOpenElsewhereError: another process holds it.
        """
        files = cls(inner, projects, author)
        try:
            await files._borrowed.open(author.session_id)
        except BaseException:
            await files.aclose()
            raise
        return files

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
    def edits(self) -> Mapping[Path, Sequence[Edit]]:
        """Every edit of the session by resolved path, oldest first, taken back or not."""
        found: dict[Path, list[Edit]] = {}
        for project in self._borrowed:
            for path, edits in project.edits(self._author.session_id or None).items():
                if self._author.session_id or project.root != ALONE or path.is_relative_to(self.root):
                    found.setdefault(path, []).extend(edits)
        return {path: sorted(edits, key=lambda edit: edit.timestamp) for path, edits in found.items()}

    @property
    def changes(self) -> Mapping[Path, FileChange]:
        """The files the session changed, by resolved path."""
        return changes_of(self.edits)

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

    async def note(self, changes: Sequence[Change], since: int, turn_id: str, call_id: str) -> list[Path]:
        """Keep changes that were found on disk, but for what the session's edits since the mark explain; what is left.

        Raises:
            OSError, SouldError: they could not be kept.
        """
        own: dict[Path, Sequence[Edit]] = {}
        for project in self._borrowed:
            own |= project.edits_since(self._author.session_id, since)
        noted: list[Path] = []
        drafts: dict[int, tuple[Project, list[Captured]]] = {}
        roots: dict[Path, Project] = {}
        for found in changes:
            for change in explained(found, own.get(found.path, ())):
                parent = change.path.parent
                if parent not in roots:
                    roots[parent] = await self._borrowed.of(change.path)
                project = roots[parent]
                drafts.setdefault(id(project), (project, []))[1].append(self._captured(change, turn_id, call_id))
                noted.append(change.path)
        for project, events in drafts.values():
            await project.record(events)
        return noted

    def _captured(self, change: Change, turn_id: str, call_id: str) -> Captured:
        return Captured(
            n=0,
            path=str(change.path),
            before=change.before,
            after=change.after,
            before_mode=change.before_mode,
            after_mode=change.after_mode,
            session_id=self._author.session_id,
            turn_id=turn_id,
            call_id=call_id,
            timestamp=time.time(),
            shared=change.shared,
            secret=change.secret,
        )

    # --- whatever a path is ------------------------------------------------------------------------------------------

    async def node(self, path: Path) -> Node | None:
        """What is there, a file's text as the user sees it. Raises WorkspaceError."""
        node = await asyncio.to_thread(read_node, path)
        if not is_file(node):
            return node
        try:
            data = (await self.inner.read_text(path)).text.encode()
        except (NotAFileError, NotTextError):
            return node
        return Node(node.mode if node is not None else None, data)

    async def put(self, path: Path, found: Node | None, wanted: Node | None, turn_id: str, call_id: str) -> None:
        """Put `wanted` where `found` is, as an edit. Raises as `write`; a directory goes only when it is empty."""
        async with self._locks.editing(path):
            project = await self._writable(path)
            await project.judge(path, digest_of_node(found))
            intent = self._intent(path, digest_of_node(found), digest_of_node(wanted), turn_id, call_id)
            modes = {"before_mode": found and found.mode, "after_mode": wanted and wanted.mode}
            intent = intent.model_copy(update=modes)
            contents = [node.data for node in (found, wanted) if node is not None and node.kind != stat.S_IFDIR]
            n = await self._announce(project, path, intent, contents)
            try:
                if is_file(found) and is_file(wanted) and is_text(found) and is_text(wanted):
                    await self._put_text(path, found, wanted)
                else:
                    await run_shielded_in_thread(replace_node, path, found, wanted, self.umask)
            except FileChangedError:
                await project.settle(n, written=False)
                raise
            await project.settle(n, written=True)

    async def _put_text(self, path: Path, found: Node | None, wanted: Node | None) -> None:
        """Through the editor, so that its buffer follows."""
        expected = digest_of(found.data) if found is not None else None
        if wanted is None:
            if expected is not None:
                await self.inner.delete(path, expected=expected)
            return
        if found is None or found.data != wanted.data:
            await self.inner.write_text(path, wanted.data.decode(), expected=expected)
        with contextlib.suppress(FileNotFoundError):  # it may be in an editor's buffer only
            await run_shielded_in_thread(set_permissions, path, wanted.permissions)

    async def _writable(self, path: Path) -> Project:
        """The project of a file that is to be written. Raises WorkspaceError."""
        try:
            return await self._borrowed.of(path)
        except (OSError, SouldError) as error:
            why = error.message if isinstance(error, SouldError) else error.strerror or "the disk refused"
            raise WorkspaceError(f"{path} was not written: its old text could not be saved ({why})") from error

    # --- the workspace -----------------------------------------------------------------------------------------------

    def for_call(self, call: ToolCallContext) -> "AttributedWorkspace":
        """The workspace as one tool call sees it."""
        return AttributedWorkspace(self, call.turn_id, call.id)

    @property
    def root(self) -> Path:
        """The session's working directory."""
        return self.inner.root

    @property
    def additional(self) -> Sequence[Path]:
        """Further directories that count as inside."""
        return self.inner.additional

    def resolve(self, path: str) -> ResolvedPath:
        """As the workspace inside."""
        return self.inner.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        """As the workspace inside."""
        return await self.inner.read_text(path)

    async def known_text(self, path: Path) -> TextFile:
        """As the workspace inside."""
        return await self.inner.known_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write for no tool call in particular (a command of the user's)."""
        return await self.write(path, text, expected=expected, turn_id="", call_id="")

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete for no tool call in particular."""
        await self.remove(path, expected=expected, turn_id="", call_id="")

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """As the workspace inside."""
        return await self.inner.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """As the workspace inside."""
        return await self.inner.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """As the workspace inside."""
        return await self.inner.run(command)

    async def write(self, path: Path, text: str, *, expected: Expected, turn_id: str, call_id: str) -> TextFile:
        """Save the old text, note the intent, write, note the outcome.

        Raises:
            FileChangedError: the file is not what was read; nothing was written.
            WorkspaceError: the old text could not be saved (nothing was written), or the write failed.
        """
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise NotTextError(f"the new text of {path} is not valid Unicode (position {error.start})") from None
        async with self._locks.editing(path):
            written = await self._change(path, text, data, expected, turn_id, call_id)
        return written or TextFile(path, text, digest_of(data))

    async def remove(self, path: Path, *, expected: str, turn_id: str, call_id: str) -> None:
        """Save the text, note the intent, delete the file, note the outcome. Raises as `write`."""
        async with self._locks.editing(path):
            await self._change(path, None, None, expected, turn_id, call_id)

    async def _change(
        self, path: Path, text: str | None, data: bytes | None, expected: Expected, turn_id: str, call_id: str
    ) -> TextFile | None:
        project = await self._writable(path)
        before = await self._before(project, path, expected)
        digest = before.digest if before is not None else None
        written: TextFile | None = None
        mode, missing = await asyncio.to_thread(surroundings, path)
        intent = self._intent(path, digest, digest_of(data) if data is not None else None, turn_id, call_id)
        if before is not None:
            intent = intent.model_copy(update={"before_mode": mode, "after_mode": mode if data is not None else None})
        kept = [each for each in (before.text.encode() if before is not None else None, data) if each is not None]
        n = await self._announce(project, path, intent, kept)
        try:
            if text is not None:
                written = await self.inner.write_text(path, text, expected=JustRead(before))
            elif digest is not None:
                await self.inner.delete(path, expected=digest)
        except FileChangedError:
            await project.settle(n, written=False)
            raise
        # Any other failure, cancellation included, leaves the edit unsettled: the file will tell which text it holds.
        mark = moment()
        await project.settle(n, written=True)
        if missing and data is not None:
            made = await asyncio.to_thread(_made, missing)
            with contextlib.suppress(OSError, SouldError):  # then they stay when the edit is taken back
                await self.note(made, mark, turn_id, call_id)
        return written

    def _intent(self, path: Path, before: str | None, after: str | None, turn_id: str, call_id: str) -> Intent:
        return Intent(
            n=0,
            path=str(path),
            before=before,
            after=after,
            session_id=self._author.session_id,
            turn_id=turn_id,
            call_id=call_id,
            timestamp=time.time(),
        )

    async def _announce(self, project: Project, path: Path, intent: Intent, contents: Sequence[bytes]) -> int:
        """Save the contents, then the intent; its number. Raises WorkspaceError: then nothing may be written."""
        secret = await asyncio.to_thread(self._is_secret, path, contents)
        try:
            return await project.announce(intent.model_copy(update={"secret": secret}), contents)
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
                found = await self.inner.read_text(path)
            except NotAFileError:
                if expected is not None:
                    raise FileChangedError(f"{path} was deleted since it was read; nothing was written") from None
        digest = found.digest if found is not None else None
        await project.judge(path, digest)
        if digest != expected:
            raise FileChangedError(f"{path} changed since it was read; nothing was written")
        return found

    def _is_secret(self, path: Path, contents: Sequence[bytes]) -> bool:
        judge = self._author.secrets
        return judge is not None and any(judge.secret_in(path, data) for data in contents)


class AttributedWorkspace(Struct, frozen=True):
    """The session's files as one tool call sees them."""

    files: SessionFiles
    turn_id: str
    call_id: str

    @property
    def root(self) -> Path:
        """The session's working directory."""
        return self.files.root

    @property
    def additional(self) -> Sequence[Path]:
        """Further directories that count as inside."""
        return self.files.additional

    def resolve(self, path: str) -> ResolvedPath:
        """As the session's files."""
        return self.files.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        """As the session's files."""
        return await self.files.read_text(path)

    async def known_text(self, path: Path) -> TextFile:
        """As the session's files."""
        return await self.files.known_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write in the name of this call."""
        return await self.files.write(path, text, expected=expected, turn_id=self.turn_id, call_id=self.call_id)

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete in the name of this call."""
        await self.files.remove(path, expected=expected, turn_id=self.turn_id, call_id=self.call_id)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """As the session's files."""
        return await self.files.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """As the session's files."""
        return await self.files.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """As the session's files; what it does to files is this call's, also after the call has ended."""
        capture = self.files.capture
        if capture is None:
            return await self.files.run(command)
        return await capture.running(self.call_id, self.turn_id, lambda: self.files.run(command))


def _made(directories: Sequence[Path]) -> list[Change]:
    return [Change(at, None, DIRECTORY, None, os.lstat(at).st_mode) for at in directories if at.is_dir()]
