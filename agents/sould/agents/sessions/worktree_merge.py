"""The changes of a worktree brought over to the one it was made in: as edits there, pending in the review like any others.

Of a file with hunks that nobody decided on, what was kept of it is brought. What both sides changed in the same place stays as
it is and is named, and so is what would need a person's yes: protected files, secrets, what a rule forbids. Nothing is committed.
"""

import asyncio
import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import FileChangedError, WorkspaceError
from sould.agents.files.directories.nodes import FileNode, Put, digest_of_node, is_file, read_node
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.port import ProjectPort, no_commands
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.policy import EditFile
from sould.agents.sessions.livesessions import LiveSessions
from sould.agents.sessions.noninteractive_policy import Unasked
from sould.agents.sessions.services import HostServices
from sould.agents.sessions.worktrees.changed import ChangedFile, Changes, MergeConflictError, place_in
from sould.agents.sessions.worktrees.repository import WorktreeError
from sould.agents.sessions.worktrees.worktrees import Worktree
from sould.agents.tools.editor.site import OtherAgent

_CLIENT: Final = "worktree"


class Brought(Struct, frozen=True):
    """Names of files as seen from the worktree. `left`: those not brought over, with why as a clause.

    `pending`: how many files have hunks there that were not brought.
    """

    files: tuple[str, ...]
    left: Mapping[str, str]
    pending: int = 0


async def bring(
    services: HostServices,
    live: LiveSessions,
    worktree: Worktree,
    asker: OtherAgent,
    session_id: str,
    *,
    undecided: bool,
) -> Brought:
    """All that can be. `session_id`: whose edits they are; `undecided`: also hunks that nobody decided on.

    Raises:
        WorktreeError: what was changed cannot be known.
        OSError, SouldError: a project cannot be opened.
    """
    changes = await asyncio.to_thread(Changes.of, worktree, asker.environment)
    changed = await asyncio.to_thread(changes.files)
    environment = Unasked(services).environment(asker)
    projects = services.files.projects
    disk = LocalWorkspace(asker.cwd, (), no_commands, environment.home, umask=asker.umask)
    approval = Unasked(services).approval(asker, environment)
    files = ClientFiles(disk, projects.buffers)
    for client_id, workspace in live.client_files(asker.cwd).items():
        files.attach(client_id, workspace)
    author = Author(session_id, None, environment.home, approval, asker.umask)
    recorded = await SessionFiles.open(disk, projects, author, files)
    try:
        async with ProjectPort.opened(projects, worktree.path, environment.home, _CLIENT) as port:
            kept = await _kept(port, undecided=undecided)
            return await _One(worktree, changes, recorded, approval).bring_all(changed, kept)
    finally:
        await recorded.aclose()


def already_there(worktree: Worktree, variables: Mapping[str, str], names: Collection[str]) -> frozenset[str]:
    """Those of these files of the worktree whose changes are in the one it was made in as well. Blocks.

    Raises:
        WorktreeError: what was changed cannot be known.
    """
    changes = Changes.of(worktree, variables)
    changed = [file for file in changes.files() if file.name in names]
    return frozenset(file.name for file in changed if _is_there(worktree, changes, file))


def _is_there(worktree: Worktree, changes: Changes, file: ChangedFile) -> bool:
    target = place_in(worktree.repository, file.name)
    if target is None:
        return False
    ours = read_node(target)
    try:
        return changes.onto(file, read_node(worktree.path / file.name), ours) == ours
    except MergeConflictError:
        return False


class _One(Struct, frozen=True):
    """One such bringing: of the `changes` of `worktree` into `files`."""

    worktree: Worktree
    changes: Changes
    files: SessionFiles
    approval: Approval

    async def bring_all(self, changed: Sequence[ChangedFile], kept: Mapping[str, str | None]) -> Brought:
        call_id = f"merge_{secrets.token_hex(6)}"
        done: list[str] = []
        left: dict[str, str] = {}
        for file in changed:
            try:
                if await self._bring(file, kept, call_id):
                    done.append(file.name)
            except (WorkspaceError, SouldError) as error:
                left[file.name] = str(error).rstrip(".")
        return Brought(tuple(done), left, len(kept))

    async def _bring(self, file: ChangedFile, kept: Mapping[str, str | None], call_id: str) -> bool:
        """Whether something was written."""
        source = self.worktree.path / file.name
        theirs = await asyncio.to_thread(read_node, source)
        if str(source) in kept:
            text = kept[str(source)]
            if text is None:
                raise WorktreeError("it is pending in the review there, and nothing of it was kept")
            theirs = FileNode(theirs.mode if is_file(theirs) and theirs else None, text.encode())
        target = place_in(self.worktree.repository, file.name)
        if target is None:
            raise WorktreeError("a directory above it is a link here")
        try:
            return await self._write(target, file, theirs, call_id)
        except FileChangedError:  # somebody typed just now: look once more
            return await self._write(target, file, theirs, call_id)

    async def _write(self, target: Path, file: ChangedFile, theirs: FileNode | None, call_id: str) -> bool:
        async with self.files.writes.locks.editing(target):
            project = await self.files.writes.looked_at(target)
            ours = await self.files.writes.node(target)
            await project.judge(target, digest_of_node(ours))
            wanted = await asyncio.to_thread(self.changes.onto, file, theirs, ours)
            if wanted == ours:
                return False
            await self._admit(target, wanted)
            await self.files.writes.put(target, Put(ours, wanted), call_id, call_id)
        return True

    async def _admit(self, target: Path, wanted: FileNode | None) -> None:
        path = self.files.resolve(str(target))
        verdict = await asyncio.to_thread(self.approval.judge, EditFile(path, "delete" if wanted is None else "modify"))
        text = wanted.data.decode(errors="replace") if wanted is not None else ""
        secret = await self.approval.secret(path, text)
        if not path.inside or verdict.decision != "allow" or secret:
            reason = secret or ("it leads out of the project" if not path.inside else verdict.reason)
            raise WorktreeError(reason or "your rules do not allow it unasked")


async def _kept(port: ProjectPort, *, undecided: bool) -> Mapping[str, str | None]:
    """Of each file with something pending the text that was kept, to be taken in place of what it holds.

    None: nothing was kept, or it is no text. `undecided`: what files hold is taken as it is.
    """
    found: dict[str, str | None] = {}
    for file in () if undecided else await port.pending_now():
        if file.hunks:
            found[file.path] = None if file.is_new else await port.review.base(file.path)
    return found
