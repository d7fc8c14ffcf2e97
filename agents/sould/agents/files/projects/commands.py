"""The commands that a session's calls run, as the projects it works in are told of them."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.projects.projects import Projects
from sould.agents.files.reviewing.activity import Finder, RootActivity


class SessionCommands(Struct, frozen=True):
    """Of one session."""

    session_id: str
    projects: Projects
    borrowed: BorrowedProjects

    async def begin(self, call_id: str, finder: Finder) -> None:
        """The call runs programs from here on, in these and where the session works.

        What files hold and how git stands until here is not its doing.
        """
        await self.end(call_id)
        for directory in await asyncio.to_thread(self._reviewed):
            # or what the command commits would be taken for the user's, as it is where another process has the log
            with contextlib.suppress(OSError, SouldError):
                await self.borrowed.of(directory / "any")
        for review in self.borrowed.reviews():
            await review.look_at_all()
        for activity in await asyncio.to_thread(self._activities):
            activity.begin(self._key(call_id), await asyncio.to_thread(activity.git.now), finder)

    async def end(self, call_id: str) -> None:
        """It has ended, and what it did to files is kept."""
        activities = self.projects.activities.running(self._key(call_id))
        try:
            for review in self.borrowed.reviews() if activities else ():
                await review.git.note_agent()
        finally:
            for activity in activities:
                activity.end(self._key(call_id))
        for review in self.borrowed.reviews() if activities else ():
            await review.command_ended()

    async def goes_on(self, call_id: str, finder: Finder) -> None:
        """It has ended, and programs of it go on: what they change is its doing, whoever looks first."""
        for activity in await asyncio.to_thread(self._activities):
            activity.goes_on(self._key(call_id), finder)

    def over(self, call_id: str) -> None:
        """Nothing of it goes on any more."""
        self.projects.activities.over(self._key(call_id))

    def _key(self, call_id: str) -> str:
        return f"{self.session_id} {call_id}"

    def _reviewed(self) -> Sequence[Path]:
        """The directories the session works in of whose projects something may be under review. Blocks."""
        return [each for each in self.borrowed.watched if self.projects.has_log(self.borrowed.root_of(each / "any"))]

    def _activities(self) -> Sequence[RootActivity]:
        own = [self.borrowed.root_of(each / "any") for each in self.borrowed.watched]
        roots = dict.fromkeys((*own, *(project.root for project in self.borrowed)))
        return [self.projects.activities.at(root) for root in roots]
