"""The commands about the session: how it stands, where it works, and what goes on there.

They are `/status`, `/help`, `/add-dir`, `/trust`, `/tasks` and `/worktree`, and short answers for what needs no turn of its own.
"""

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct

from sould.agents.base.errors import OptionError, SouldError
from sould.agents.sessions.commands.slash import CommandRegistry, Conversation
from sould.agents.sessions.operations.directories import AddedDirectories
from sould.agents.sessions.settings.trusting import TrustQuestion
from sould.agents.sessions.worktrees.worktrees import Worktree, Worktrees
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.background import BackgroundTasks, TaskError

GoOnInWorktree: TypeAlias = Callable[[str], Awaitable[tuple[str, Worktree]]]
"""Begins a session in a worktree made for it, with all that was said in this one.

Its id, and where it works. `name`: of the worktree, "" for any. Raises SouldError: nothing was begun.
"""
_ASIDE = "Ask a side question: `/btw why is this test slow?`. It works while a turn runs."


class StatusSource(Protocol):
    """A part of a session that `/status` shows."""

    def status_lines(self) -> Iterable[str]:
        """How it stands now, as lines of Markdown; none when there is nothing to say."""
        ...


class ShowingCommands(Struct, frozen=True):
    """Of one session. `parts` are shown by `/status`, in this order."""

    conversation: Conversation
    registry: CommandRegistry
    parts: tuple[StatusSource, ...]

    async def status(self, _turn: Turn, _: str) -> Ending:
        """How the parts of the session stand."""
        return self.conversation.say("\n".join(line for part in self.parts for line in part.status_lines()))

    async def help(self, _turn: Turn, _: str) -> Ending:
        """Every command on offer."""
        lines = [
            f"- `/{command.name}{' ' + command.hint if command.hint else ''}` {command.description}"
            + "".join(f" (also `/{alias}`)" for alias in command.aliases)
            for command in self.registry.all()
        ]
        return self.conversation.say("\n".join(lines))

    async def btw(self, _turn: Turn, _: str) -> Ending:
        """Only reached without a question."""
        return self.conversation.say(_ASIDE)

    async def queue(self, _turn: Turn, _: str) -> Ending:
        """Never reached while prompts wait: `/queue` is answered before it could wait itself."""
        return self.conversation.say("No prompts are queued.")


class WorkplaceCommands(Struct, frozen=True):
    """Of one session. `can_ask`: the client that opened it can put questions to its user."""

    conversation: Conversation
    directories: AddedDirectories
    trusting: TrustQuestion
    tasks: BackgroundTasks
    can_ask: bool
    go_on: GoOnInWorktree

    async def add_directory(self, _: Turn, argument: str) -> Ending:
        """Without a path, where the session works."""
        say = self.conversation.say
        if not argument:
            return say("\n".join(f"- `{path}`" for path in self.directories.all))
        try:
            path = self.directories.add_named(argument)
        except OptionError as error:
            return self.conversation.refuse(error.message)
        return say(f"The session now also works in `{path}`.")

    async def trust(self, _turn: Turn, _: str) -> Ending:
        """Ask whether the project's own configuration may take part, as it is now."""
        return self.conversation.say(await self.trusting.ask(secrets.token_hex(8), can_ask=self.can_ask))

    async def list_tasks(self, _turn: Turn, argument: str) -> Ending:
        """The background tasks, newest first; `output ID` shows what one printed, `stop ID` ends it."""
        action, _, task_id = argument.partition(" ")
        if action in ("output", "stop"):
            try:
                return self.conversation.say(await self._task(action, task_id.strip()))
            except TaskError as error:
                return self.conversation.refuse(error.message)
        lines = [f"- `{record.id}` {record.status}: {record.description}" for record in await self.tasks.settled()]
        return self.conversation.say("\n".join(lines[::-1]) or "There are no background tasks.")

    async def _task(self, action: str, task_id: str) -> str:
        if action == "stop":
            record = await self.tasks.stop(task_id)
            return f"`{record.id}` {record.status}: {record.description}"
        text, path = await asyncio.to_thread(self.tasks.output, task_id)
        fence = "`" * max([3, *(1 + len(run) for run in re.findall("`+", text))])
        return f"{fence}\n{text.rstrip()}\n{fence}\nThe full output is in `{path}`."

    async def begin_worktree(self, _: Turn, argument: str) -> Ending:
        """Go on there. `argument`: the worktree's name, "" for any."""
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
