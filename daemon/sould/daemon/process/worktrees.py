"""What the command line may do with worktrees of sessions: reads words, asks the host, and says what came of it."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sould.daemon.methods import (
    DaemonCall,
    LeftOutFile,
    ListWorktrees,
    MergedWorktree,
    MergeWorktree,
    RemovedWorktree,
    RemoveWorktree,
    RestoreWorktree,
    SessionRow,
    WorktreeRow,
)
from sould.daemon.process.sessions import Sessions

if TYPE_CHECKING:
    from sould.agents.sessions.hostport import HostPort
    from sould.agents.sessions.ownworktrees import WorktreeView
    from sould.agents.sessions.storedsessions import ListedSession


class WorktreeHandlers(Struct, frozen=True):
    """The methods below `worktrees`."""

    sessions: Sessions

    def table(self) -> Mapping[type[DaemonCall[Any]], Callable[[Any], Awaitable[Any]]]:
        """What answers each."""
        return {
            ListWorktrees: self.list,
            RestoreWorktree: self.restore,
            MergeWorktree: self.merge,
            RemoveWorktree: self.remove,
        }

    async def list(self, params: ListWorktrees) -> tuple[WorktreeRow, ...]:
        """With how each is now."""
        host = await self.sessions.host()
        found = await host.worktrees.list(Path(params.cwd) if params.cwd else None)
        return tuple(_row(host, each) for each in found)

    async def restore(self, params: RestoreWorktree) -> WorktreeRow:
        """As it is then."""
        host = await self.sessions.host()
        return _row(host, await host.worktrees.restore(params.name, Path(params.cwd), self.sessions.umask))

    async def merge(self, params: MergeWorktree) -> MergedWorktree:
        """What was brought over and what was not."""
        host = await self.sessions.host()
        worktree, done = await host.worktrees.bring(
            params.name, Path(params.cwd), self.sessions.umask, undecided=params.undecided
        )
        return MergedWorktree(
            repository=str(worktree.repository),
            branch=worktree.branch,
            files=done.files,
            left=tuple(LeftOutFile(name=name, reason=reason) for name, reason in done.left.items()),
            pending=done.pending,
        )

    async def remove(self, params: RemoveWorktree) -> RemovedWorktree:
        """What stays of it."""
        host = await self.sessions.host()
        worktree, stays = await host.worktrees.remove(params.name, Path(params.cwd), force=params.force)
        return RemovedWorktree(path=str(worktree.path), branch=worktree.branch if stays else "")


def _row(host: "HostPort", view: "WorktreeView") -> WorktreeRow:
    worktree = view.worktree
    return WorktreeRow(
        name=worktree.name,
        removed=worktree.state == "removed",
        path=str(worktree.path),
        repository=str(worktree.repository),
        branch=worktree.branch,
        made=worktree.made,
        uncommitted=view.uncommitted,
        hunks=view.hunks,
        sessions=tuple(session_row(host.stored.row(each, worktree.branch)) for each in view.sessions),
    )


def session_row(row: "ListedSession") -> SessionRow:
    """A session as lists show it."""
    info = row.info
    return SessionRow(
        id=info.id,
        cwd=str(info.cwd),
        title=info.title,
        created=info.created,
        updated=info.updated,
        turns=info.turns,
        live=row.live,
        archived=info.archived,
        branch=row.branch,
        origin=info.origin,
    )
