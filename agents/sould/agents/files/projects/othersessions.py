"""Whether a write meets what another session's agent wrote and nobody reviewed yet (D42). It is never overwritten unseen.

A write that overlaps such a hunk is asked about, and any write to a file in which a session whose turn runs has some; each hunk
once. All others go ahead, and are told whose hunks are in the file. A subagent is its session.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from sould.agents.base.errors import SouldError
from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.lines import split
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.review import Review
from sould.agents.permissions.callfiles import Contest, OtherWork

SessionNames: TypeAlias = Callable[[str], str]
"""The title of a session; its id where it has none. Blocks."""


Presence: TypeAlias = Callable[[], bool]
"""Whether a person is there who can be asked."""


class OtherSessions:
    """As one session sees them, an `OthersWork`. `at_work`: those of which a turn runs, shared by all."""

    def __init__(
        self, session_id: str, projects: BorrowedProjects, names: SessionNames, presence: Presence, at_work: set[str]
    ) -> None:
        self._at_work = at_work
        self._session_id = session_id
        self._projects = projects
        self._names = names
        self._presence = presence
        self._allowed: set[tuple[str, int]] = set()

    @contextmanager
    def turn_runs(self) -> Generator[None]:
        """A turn of this session does, as long as the block lasts."""
        self._at_work.add(self._session_id)
        try:
            yield
        finally:
            self._at_work.discard(self._session_id)

    async def __call__(self, path: Path) -> OtherWork:
        """See `OthersWork`."""
        try:
            return _InFile(self, path, await self._projects.review_of(path))
        except (OSError, SouldError):
            return OtherWork()  # then it is not written, either, and the write says why

    @property
    def can_ask(self) -> bool:
        """A person is there."""
        return self._presence()

    def of_others(self, hunk: ReviewedHunk) -> bool:
        """Whether it is to be asked about before it is met: this session had no part in it, and nobody said yes yet."""
        return self._session_id not in hunk.sessions and (hunk.path, hunk.id) not in self._allowed

    def allow(self, path: Path, ids: Sequence[int]) -> None:
        """A person said yes."""
        self._allowed.update((str(path), number) for number in ids)

    def is_at_work(self, hunk: ReviewedHunk) -> bool:
        """A session that had a part in it is."""
        return not self._at_work.isdisjoint(hunk.sessions)

    async def described(self, hunks: Sequence[ReviewedHunk]) -> str:
        """Those of them in which others had a part, in words."""
        found = [each for each in hunks if each.sessions - {self._session_id}]
        return "; ".join([await asyncio.to_thread(described, each, self._session_id, self._names) for each in found])


class _InFile(OtherWork):
    """In one file, of whose project this is the review."""

    __slots__ = ("_path", "_review", "_sessions")

    def __init__(self, sessions: OtherSessions, path: Path, review: Review) -> None:
        self._sessions = sessions
        self._path = path
        self._review = review

    async def contest(self, text: str) -> Contest | None:
        hunks = [each for each in self._hunks() if self._sessions.of_others(each)]
        if not hunks:
            return None
        edits = await asyncio.to_thread(edits_between, split(self._review.text(str(self._path)) or ""), split(text))
        met = [
            each for each in hunks if self._sessions.is_at_work(each) or any(_overlaps(edit, each) for edit in edits)
        ]
        if not met:
            return None
        said = await self._sessions.described(met)
        why = f"{self._path.name} has changes that nobody reviewed yet: {said}"
        return Contest(tuple(each.id for each in met), why, self._sessions.can_ask)

    def allowed(self, contest: Contest) -> None:
        self._sessions.allow(self._path, contest.ids)

    async def beside(self) -> str:
        return await self._sessions.described(self._hunks())

    def _hunks(self) -> list[ReviewedHunk]:
        files = self._review.pending(Selection(paths=(str(self._path),)))
        return [hunk for file in files for hunk in file.hunks if hunk.kind not in ("add", "mode")]


def described(hunk: ReviewedHunk, session_id: str, names: SessionNames) -> str:
    """Its number, its place, and the sessions beside this one that had a part in it. Blocks."""
    others = " and ".join(f"“{names(each)}”" for each in sorted(hunk.sessions - {session_id}))
    place = f"hunk {hunk.id} at line {hunk.start + 1}" if hunk.kind == "text" else f"change {hunk.id} of the whole file"
    return f"{place}, by the session {others}"


def _overlaps(edit: LineEdit, hunk: ReviewedHunk) -> bool:
    if hunk.kind != "text":
        return hunk.kind != "rename"
    return edit.start < hunk.start + len(hunk.lines) and hunk.start < edit.stop
