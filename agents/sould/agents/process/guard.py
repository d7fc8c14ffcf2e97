"""The daemon's side of the guard: starts commands in the guard program and streams what they say.

Nothing started here outlives this process. Never used for the daemon's own helpers.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from sould.agents.workspace import CommandExit, WorkspaceError

GRACE = 2.0
"""Seconds between TERM and KILL (D7)."""


class CommandStartError(WorkspaceError):
    """The process could not be started: no such directory or program, or the system has no room for it."""


class GuardedProcess:
    """One process and everything it starts. A `RunningCommand`."""

    def output(self) -> AsyncIterator[bytes]:
        """Standard output and error as they come, ending when the whole tree is gone. To be consumed once."""
        raise NotImplementedError

    async def wait(self) -> CommandExit:
        """The exit, after `output` is drained."""
        raise NotImplementedError

    async def kill(self) -> None:
        """TERM, the grace, KILL; returns when nothing of the tree is alive."""
        raise NotImplementedError


class ProcessGuard:
    """Starts the guard on first use and again when it died."""

    async def start(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        *,
        timeout: float | None = None,
        grace: float = GRACE,
        stdin: bool = False,
    ) -> GuardedProcess:
        """Start `argv` in a session of its own.

        Raises:
            CommandStartError: nothing was started; the text says why.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Kill everything and end the guard."""
        raise NotImplementedError
