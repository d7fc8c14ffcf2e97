"""Who was at work when: the sessions of a daemon, and the calls of a session. Opens nothing."""

import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, field

from sould.agents.base.workspace import CommandExit, RunningCommand
from sould.agents.files.directories.tree import file_clock
from sould.agents.files.review.hunk import AgentCall

Ended: TypeAlias = Callable[[], Awaitable[None]]
"""The command has ended."""


class Writers(Struct):
    """When which session was at work where; all sessions of a daemon share it."""

    _spans: deque[tuple[str, tuple[Path, ...], float, float]] = field(
        default_factory=lambda: deque[tuple[str, tuple[Path, ...], float, float]](maxlen=1000)
    )
    _open: dict[str, tuple[tuple[Path, ...], float]] = field(default_factory=dict[str, tuple[tuple[Path, ...], float]])

    def begin(self, session_id: str, roots: tuple[Path, ...]) -> None:
        """Something of this session runs that may write."""
        self._open.setdefault(session_id, (roots, time.monotonic()))

    def end(self, session_id: str) -> None:
        """Nothing of it does any more."""
        roots, began = self._open.pop(session_id, ((), 0.0))
        if roots:
            self._spans.append((session_id, roots, began, time.monotonic()))

    def others(self, session_id: str, since: float) -> tuple[Path, ...]:
        """Where other sessions were at work since then."""
        found = [roots for other, (roots, _) in self._open.items() if other != session_id]
        found += [roots for other, roots, _, ended in self._spans if other != session_id and ended >= since]
        return tuple(root for roots in found for root in roots)


class Interval(Struct):
    """One call."""

    call: AgentCall
    since: int
    """A mark in the order of edits: those after it may explain something."""
    title: str = ""
    started: float = field(default_factory=time.monotonic)
    began: int = field(default_factory=file_clock)
    ended: int = 0
    """0: not yet; this and `began` by the clock of files."""
    holds: int = 0
    done: bool = False
    """The call has ended, and only what it left running goes on."""
    background: bool = False
    """Something went on when it had ended."""
    seconds: float | None = None
    """How long it ran; None: it goes on, or did when it had ended."""
    doubts: Literal["", "so far", "for good"] = ""
    """Something was found while it ran of which it is not sure that it made it: unless it ends soon, or whenever it ends."""

    def run(self) -> None:
        """It runs from here on: what is found later is of a later time."""
        self.started = time.monotonic()

    def stop(self) -> None:
        """What is found from here on is all that it did before it ended."""
        self.seconds = None if self.holds or self.done else time.monotonic() - self.started

    def doubt(self, *, for_good: bool) -> None:
        """See `doubts`."""
        self.doubts = "for good" if for_good or self.doubts == "for good" else "so far"

    def end(self) -> None:
        """The call has ended."""
        self.done, self.background = True, self.holds > 0

    def close(self) -> None:
        """Nothing of it runs any more."""
        self.ended = time.time_ns()

    def hold(self) -> None:
        """A command of the call runs."""
        self.holds += 1
        self.background = self.background or self.done
        self.seconds = None

    def release(self) -> None:
        """A command of the call has ended."""
        self.holds -= 1

    def covers(self, moment: int) -> bool:
        """Whether something that happened then may be the call's; 0: nobody knows when."""
        return not moment or self.began <= moment <= (self.ended or moment)


class HeldCommand(Struct):
    """A running command that says once that it has ended."""

    running: RunningCommand
    ended: Ended
    _said: bool = False

    def output(self) -> AsyncIterator[bytes]:
        """As the command."""
        return self.running.output()

    async def wait(self) -> CommandExit:
        """As the command."""
        ended = await self.running.wait()
        await self._say()
        return ended

    async def kill(self) -> None:
        """As the command."""
        await self.running.kill()
        await self._say()

    async def _say(self) -> None:
        if not self._said:
            self._said = True
            await self.ended()
