"""`/worktree`: the conversation goes on in a git worktree of its own; and what `/status` says of one."""

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.worktrees.worktrees import Worktree, Worktrees
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn

GoOnInWorktree: TypeAlias = Callable[[str], Awaitable[tuple[str, Worktree]]]
"""Begins a session in a worktree made for it, with all that was said in this one.

Its id, and where it works. `name`: of the worktree, "" for any. Raises SouldError: nothing was begun.
"""


class WorktreeCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    go_on: GoOnInWorktree

    async def begin(self, _: Turn, argument: str) -> Ending:
        """`argument`: the worktree's name, "" for any."""
        try:
            session_id, worktree = await self.go_on(argument.strip())
        except SouldError as error:
            return self.conversation.refuse(error.message)
        return self.conversation.say(
            f"This conversation goes on in session `{session_id}`, in `{worktree.directory}` on the branch `{worktree.branch}`. "
            f"Open it from your list of sessions, or with `sould run --session {session_id}`. Here nothing has changed."
        )


class WorktreeStatus(Struct, frozen=True):
    """Of the session in `directory`. A `StatusSource`."""

    worktrees: Worktrees
    directory: Path

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        worktree = self.worktrees.around(self.directory)
        if worktree is not None:
            yield f"- worktree: `{worktree.name}` of `{worktree.repository}`, branch `{worktree.branch}`"
