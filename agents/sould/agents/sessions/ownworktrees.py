"""Git worktrees as sessions have them: begun in one, found by it, and what becomes of it when nobody needs it.

Only the user's word makes or removes one. Where a session is in memory nothing is taken away: nothing here ends anything.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.tasks import run_shielded_in_thread
from sould.agents.base.text import plural
from sould.agents.files.projects.port import ProjectPort
from sould.agents.sessions.livesessions import LiveSessions
from sould.agents.sessions.services import HostServices
from sould.agents.sessions.store.info import SessionInfo
from sould.agents.sessions.worktrees.repository import WorktreeError
from sould.agents.sessions.worktrees.worktrees import Worktree
from sould.agents.soul.session_request import SessionRequest
from sould.agents.tools.editor.site import OtherAgent

if TYPE_CHECKING:
    from sould.agents.sessions.worktree_merge import Brought

_CLIENT = "worktrees"
_MOST_NAMED = 5


class WorktreeView(Struct, frozen=True):
    """One of them as it is now: `uncommitted` paths (None: git does not say), `hunks` to be reviewed, its sessions, newest first."""

    worktree: Worktree
    uncommitted: int | None
    hunks: int
    sessions: tuple[SessionInfo, ...]


class OwnWorktrees:
    """Of one daemon."""

    def __init__(self, services: HostServices, live: LiveSessions) -> None:
        self._services = services
        self.known = services.files.worktrees
        """Which there are, and which one a directory is in. Blocks."""
        self._variables = services.files.projects.variables
        """With which git is run for whoever asks from the command line."""
        self._live = live

    # --- a session's beginning ------------------------------------------------------------------------------------------

    async def opened(self, opening: SessionRequest) -> tuple[Worktree, SessionRequest]:
        """Make the one that an opening asks for; the opening in it. Directories of the same repository are those in it, too.

        Raises:
            WorktreeError: and nothing was made.
        """
        made = await run_shielded_in_thread(self.known.make, opening)
        additional = (_moved(Path(os.path.realpath(path)), made) for path in opening.additional)
        also = tuple(path for path in additional if path is not None)
        return made, replace(opening, cwd=made.directory, additional=also, worktree=None)

    async def discard(self, made: Worktree, opening: SessionRequest) -> None:
        """No session came of it."""
        await run_shielded_in_thread(self.known.discard, made, opening.environment)

    # --- what is asked of them ------------------------------------------------------------------------------------------

    async def list(self, directory: Path | None) -> tuple[WorktreeView, ...]:
        """Those of the repository that a directory is in, None: all, oldest first."""
        found = await asyncio.to_thread(self.known.all)
        near = [each for each in found if directory is None or each.is_near(Path(os.path.realpath(directory)))]
        return tuple([await self._view(each) for each in near])

    async def restore(self, name: str, directory: Path, umask: int) -> WorktreeView:
        """Make one again from its branch. Raises WorktreeError."""
        worktree = await asyncio.to_thread(self.known.named, name, directory)
        return await self._view(await run_shielded_in_thread(self.known.restore, worktree, self._variables, umask))

    async def bring(self, name: str, directory: Path, umask: int, *, undecided: bool) -> "tuple[Worktree, Brought]":
        """Its changes, as far as they are kept or `undecided`, to the worktree it was made in.

        Raises:
            WorktreeError: it was removed, or what was changed cannot be known.
            OSError, SouldError: a project cannot be opened.
        """
        worktree = await asyncio.to_thread(self.known.named, name, directory)
        if not worktree.path.is_dir():
            raise WorktreeError(f"The worktree {name} was removed. To make it again: sould worktree restore {name}")
        sessions = await self._sessions_in(worktree)
        author = sessions[0].id if sessions else f"worktree {worktree.name}"
        asker = OtherAgent(f"worktree {name}", worktree.repository, self._variables, umask)
        from sould.agents.sessions.worktree_merge import bring  # noqa: PLC0415 -- hardly any daemon does so

        return worktree, await bring(self._services, self._live, worktree, asker, author, undecided=undecided)

    async def remove(self, name: str, directory: Path, *, force: bool) -> tuple[Worktree, bool]:
        """Take one away; whether its branch stays. `force`: with what is neither committed nor reviewed.

        Raises:
            WorktreeError: a session is at it, or something in it is neither committed nor reviewed.
        """
        worktree = await asyncio.to_thread(self.known.named, name, directory)
        if worktree.state == "removed" and not worktree.path.exists():
            raise WorktreeError(
                f"The worktree {name} is removed already; its branch {worktree.branch} may still be there."
            )
        await self._require_left(worktree)
        if not force and worktree.path.is_dir():
            await self._require_saved(worktree)
        return worktree, await run_shielded_in_thread(self.known.remove, worktree, self._variables)

    async def _require_left(self, worktree: Worktree) -> None:
        for each in tuple(self._live.values()):
            if each.info.cwd.is_relative_to(worktree.path):
                await self._live.unload_unused(each)
        at_it = [each for each in self._live.values() if each.info.cwd.is_relative_to(worktree.path)]
        if at_it:
            names = ", ".join(f"{each.id} ({each.info.title or 'no title'})" for each in at_it)
            raise WorktreeError(
                f"The worktree {worktree.name} is in use by a session that is open: {names}. Close it first."
            )

    async def _require_saved(self, worktree: Worktree) -> None:
        """What was brought over is safe: the files of the worktree it was made in have it."""
        unsaved = await asyncio.to_thread(self.known.unsaved, worktree, self._variables)
        pending = await self._pending(worktree)
        there = await asyncio.to_thread(self._already_there, worktree, unsaved, pending)
        unsaved = [line for line in unsaved if line[3:] not in there]
        hunks = sum(count for name, count in pending.items() if name not in there)
        if not unsaved and not hunks:
            return
        shown = ", ".join(line[3:] for line in unsaved[:_MOST_NAMED])
        more = f" and {len(unsaved) - _MOST_NAMED} more" if len(unsaved) > _MOST_NAMED else ""
        has = [f"uncommitted changes ({shown}{more})"] if unsaved else []
        has += [f"{plural(hunks, 'hunk')} to be reviewed"] if hunks else []
        raise WorktreeError(
            f"The worktree {worktree.name} has {' and '.join(has)}. Take them over with `sould worktree merge {worktree.name}`, "
            "or commit them there; --force removes it with them."
        )

    def _already_there(self, worktree: Worktree, unsaved: Sequence[str], pending: Mapping[str, int]) -> frozenset[str]:
        """Files whose changes were brought over; none that git's index holds in yet another state. Blocks."""
        staged = {line[3:] for line in unsaved if line[0] not in " ?" and line[1] != " "}
        names = ({line[3:] for line in unsaved} | pending.keys()) - staged
        if not names:
            return frozenset()
        from sould.agents.sessions.worktree_merge import already_there  # noqa: PLC0415 -- hardly any daemon does so

        try:
            return already_there(worktree, self._variables, names)
        except WorktreeError:  # then nothing of it is known to be safe
            return frozenset()

    async def _view(self, worktree: Worktree) -> WorktreeView:
        sessions = await self._sessions_in(worktree)
        if not worktree.path.is_dir():
            return WorktreeView(worktree.become("removed"), 0, 0, sessions)
        try:
            unsaved = len(await asyncio.to_thread(self.known.unsaved, worktree, self._variables))
        except WorktreeError:
            unsaved = None
        return WorktreeView(worktree, unsaved, sum((await self._pending(worktree)).values()), sessions)

    async def _pending(self, worktree: Worktree) -> Mapping[str, int]:
        """How many hunks are to be reviewed, by file as seen from the worktree; nothing is made to know it."""
        projects = self._services.files.projects
        if not await asyncio.to_thread(projects.has_log, worktree.path):
            return {}
        home = Path(self._variables.get("HOME", "/"))
        async with ProjectPort.opened(projects, worktree.path, home, _CLIENT) as port:
            return {os.path.relpath(file.path, worktree.path): len(file.hunks) for file in await port.pending_now()}

    async def _sessions_in(self, worktree: Worktree) -> tuple[SessionInfo, ...]:
        weighed = await asyncio.to_thread(self._services.storage.store.below, worktree.path)
        return tuple(weighed)


def _moved(path: Path, worktree: Worktree) -> Path | None:
    """Where a directory of the repository is in its worktree; None: it is not there. Any other stays where it is."""
    if not path.is_relative_to(worktree.repository):
        return path
    there = worktree.path / path.relative_to(worktree.repository)
    return there if there.is_dir() else None
