"""What goes on at a project's root just now: which calls run programs there, and where git stood when they began.

While one runs, what changes on disk and in git is the call's, and is found when it ends: nobody takes it for the user's.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field

from sould.agents.files.reviewing.gitmoments import GitMoment, GitMoments

Finder: TypeAlias = Callable[[], Awaitable[None]]
"""Finds what the programs of a session have changed by now, as theirs."""


class _Call(Struct, frozen=True):
    moment: GitMoment | None
    finder: Finder


class RootActivity:
    """Of one root."""

    def __init__(self, root: Path, variables: Mapping[str, str]) -> None:
        self.git = GitMoments(root, variables)
        self._calls: dict[str, _Call] = {}
        self._background: dict[str, Finder] = {}
        """Of calls that have ended and left programs running, for which nobody waits."""

    @property
    def busy(self) -> bool:
        """Some call runs programs."""
        return bool(self._calls)

    @property
    def works(self) -> bool:
        """Some call runs programs, or left some running."""
        return bool(self._calls or self._background)

    def runs(self, call_id: str) -> bool:
        """This one does."""
        return call_id in self._calls

    @property
    def began(self) -> GitMoment | None:
        """How git stood when the first of the calls that run began."""
        return next((each.moment for each in self._calls.values()), None)

    def begin(self, call_id: str, moment: GitMoment | None, finder: Finder) -> None:
        """The call runs programs from here on; git stands as in `moment`."""
        self._calls[call_id] = _Call(moment, finder)

    def end(self, call_id: str) -> None:
        """It has ended, and what it did is known."""
        self._calls.pop(call_id, None)

    def goes_on(self, call_id: str, finder: Finder) -> None:
        """It has ended, and programs of it go on."""
        self._background[call_id] = finder

    def over(self, call_id: str) -> None:
        """Nothing of it goes on any more, and what it did is known."""
        self._background.pop(call_id, None)

    async def find(self) -> None:
        """Have what the calls changed by now found, or nobody would know whose it is what is on disk."""
        for each in (*(call.finder for call in self._calls.values()), *self._background.values()):
            await each()


class Activities(Struct):
    """Of all roots. `variables`: with which git is run there."""

    variables: Mapping[str, str]
    _all: dict[Path, RootActivity] = field(default_factory=dict[Path, RootActivity])

    def at(self, root: Path) -> RootActivity:
        """What goes on there."""
        if root not in self._all:
            self._all[root] = RootActivity(root, self.variables)
        return self._all[root]

    def over(self, call_id: str) -> None:
        """Nothing of this call goes on anywhere."""
        for each in self._all.values():
            each.over(call_id)

    def running(self, call_id: str) -> list[RootActivity]:
        """Where this call runs programs."""
        return [each for each in self._all.values() if each.runs(call_id)]
