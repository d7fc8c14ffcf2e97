"""Tells what the calls of a step are about to write as soon as their arguments are whole, while somebody follows the review.

To others it is told when they ask, or begin to follow.

It costs nothing while text streams: a call's arguments are whole when the next call begins, or the answer ends. Nothing
depends on it, and nobody waits for it.
"""

from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from sould.agents.base.tasks import Behind
from sould.agents.files.projects.foreseen import ForeseenWrites
from sould.agents.files.review.hunk import AgentCall
from sould.agents.soul.stepcalls import CallWatcher, WatchedCall, WatchingCalls, parse_arguments
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.toolset import CheckedCall, Toolset


class Foresight(WatchingCalls, Struct, frozen=True):
    """Of one agent."""

    session_id: str
    toolset: Toolset
    files: ForeseenWrites

    def of(self, turn: Turn) -> "StepForesight":
        """See `WatchingCalls`."""
        return StepForesight(self, turn)


class StepForesight(CallWatcher, Struct):
    """Of one step."""

    agent: Foresight
    turn: Turn
    _to_do: deque[WatchedCall | Path] = field(default_factory=deque[WatchedCall | Path])
    """Calls of which it is to be known what they write, and files that may be others by now."""
    _behind: Behind = field(default_factory=lambda: Behind("foreseeing writes"))

    def whole(self, call: WatchedCall) -> None:
        """See `CallWatcher`."""
        begin = partial(self._do, call)
        self.agent.files.defer(call.id, partial(self._foresee, call, asked=True), begin)
        if self.agent.files.wanted:
            begin()

    def over(self, call: WatchedCall) -> None:
        """See `CallWatcher`."""
        path = self.agent.files.over(call.id)
        if path is not None:
            self._do(path)

    def close(self, calls: Sequence[WatchedCall]) -> None:
        """See `CallWatcher`."""
        self._to_do.clear()
        self._behind.cancel()
        for call in calls:
            self.agent.files.over(call.id)

    def _do(self, what: WatchedCall | Path) -> None:
        self._to_do.append(what)
        if not self._behind.busy:
            self._behind.begin(self._work())

    async def _work(self) -> None:
        while self._to_do:
            what = self._to_do.popleft()
            if isinstance(what, Path):
                await self.agent.files.renew(what)
            elif what.result is None:
                await self._foresee(what)

    async def _foresee(self, call: WatchedCall, *, asked: bool = False) -> None:
        arguments = parse_arguments(call.arguments)
        checked = self.agent.toolset.check(call.name, arguments) if arguments is not None else None
        foreseen = checked.foreseen if isinstance(checked, CheckedCall) else None
        if foreseen is not None:
            agent_id = self.turn.source.agent_id if self.turn.source is not None else ""
            made_by = AgentCall(self.agent.session_id, self.turn.id, call.id, agent_id, call.model)
            await self.agent.files.foresee(made_by, foreseen, asked=asked)
        if call.result is not None:  # it has ended meanwhile
            self.agent.files.over(call.id)
