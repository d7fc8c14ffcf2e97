"""What calls of a session are about to write, for clients that follow the review of the files' projects, and for those that ask.

It is computed from the files as they are, written nowhere, and never of a secret or of a file outside of the session's
directories.
"""

import asyncio
from pathlib import Path

from msgspec import Struct, field

from sould.agents.base.workspace import NotAFileError, TextFiles, WorkspaceError
from sould.agents.files.directories.secretblobs import SecretJudge
from sould.agents.files.edits.texts import as_lines
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.projects.projects import BeginForeseeing, Foresee, Projects, Unforeseen
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.review.lines import Lines
from sould.agents.files.reviewing.review import Review
from sould.agents.toolapi.base import Foreseen


class _Shown(Struct, frozen=True):
    review: Review
    call: AgentCall
    foreseen: Foreseen


class ForeseenWrites(Struct):
    """Of one session, whose files are `files`."""

    session_id: str
    projects: Projects
    files: TextFiles
    borrowed: BorrowedProjects
    secrets: SecretJudge | None
    _shown: dict[str, _Shown] = field(default_factory=dict[str, _Shown])
    """By the call's id."""
    _deferred: dict[str, Unforeseen] = field(default_factory=dict[str, Unforeseen])
    """Likewise: calls of which nobody was shown anything until now."""

    @property
    def wanted(self) -> bool:
        """Somebody follows the review of some project."""
        return any(review.followed for review in self.projects.open_reviews)

    def defer(self, call_id: str, foresee: Foresee, begin: BeginForeseeing) -> None:
        """The call's arguments are whole: it says what it is about to do with `foresee` when somebody asks.

        `begin` has that done beside everything else, when somebody begins to follow.
        """
        self._deferred[call_id] = self.projects.unforeseen[self.session_id, call_id] = Unforeseen(foresee, begin)

    async def find(self) -> None:
        """Somebody asks: see what calls are about to do."""
        for call in tuple(self._deferred.values()):
            await call.find()

    async def foresee(self, call: AgentCall, foreseen: Foreseen, *, asked: bool = False) -> None:
        """The call is about to do this. `asked`: it is shown whoever follows."""
        if not foreseen.path.inside:
            return
        try:
            root = await asyncio.to_thread(self.borrowed.root_of, foreseen.path.path)
        except OSError:
            return
        review = next((each for each in self.projects.open_reviews if each.root == root), None)
        if review is not None and (asked or review.followed) and call.call_id in self._deferred:
            self._no_longer_deferred(call.call_id)
            self._shown[call.call_id] = _Shown(review, call, foreseen)
            await self._show(call.call_id)

    def writes(self, call_id: str) -> None:
        """The call writes now."""
        if call_id in self._shown:
            self._shown[call_id].review.upcoming.over(self._shown[call_id].call)

    def over(self, call_id: str) -> Path | None:
        """The call has written, or does not write at all; the file it was about to write, if that was shown."""
        self._no_longer_deferred(call_id)
        shown = self._shown.pop(call_id, None)
        if shown is None:
            return None
        shown.review.upcoming.over(shown.call)
        return shown.foreseen.path.path

    def _no_longer_deferred(self, call_id: str) -> None:
        self._deferred.pop(call_id, None)
        self.projects.unforeseen.pop((self.session_id, call_id), None)

    async def renew(self, path: Path) -> None:
        """The file may be another one by now: what the others are about to make of it may be, too."""
        for call_id in [call_id for call_id, each in self._shown.items() if each.foreseen.path.path == path]:
            await self._show(call_id)

    async def _show(self, call_id: str) -> None:
        shown = self._shown[call_id]
        lines = await self._lines(shown.foreseen)
        if self._shown.get(call_id) is not shown:
            return  # it is over
        if lines is None:
            shown.review.upcoming.over(shown.call)
        else:
            shown.review.upcoming.show(shown.call, str(shown.foreseen.path.path), *lines)

    async def _lines(self, foreseen: Foreseen) -> tuple[Lines | None, Lines] | None:
        """The text as it is and as it is to be; None: nobody is shown it, or it does not fit what is there."""
        try:
            before = (await self.files.known_text(foreseen.path.path)).text
        except NotAFileError:
            before = None
        except (WorkspaceError, OSError):
            return None
        return await asyncio.to_thread(self._compared, foreseen, before)

    def _compared(self, foreseen: Foreseen, before: str | None) -> tuple[Lines | None, Lines] | None:
        after = foreseen.change(before)
        if after is None:
            return None
        texts = [(before or "").encode(errors="replace"), after.encode(errors="replace")]
        judge = self.secrets
        if judge is not None and bool(judge.secret_in(foreseen.path.path, *texts)):
            return None
        old, new = (as_lines(data) for data in texts)
        return None if old is None or new is None else (old if before is not None else None, new)
