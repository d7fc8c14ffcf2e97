"""Whether a write meets what another session's agent wrote and nobody reviewed yet (D42). It is never overwritten unseen.

A write that overlaps such a hunk is asked about, and any write to a file in which a session whose turn runs has some; each hunk
once. All others go ahead, and are told whose hunks are in the file. A subagent is its session.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sould.agents.base.errors import SouldError
from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.lines import split
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.review import Review
from sould.agents.permissions.callfiles import Contest, OtherWork


class SessionNames(Protocol):
    """Knows what people call a session."""

    def __call__(self, session_id: str, /) -> str:
        """Its title; its id where it has none. Blocks."""
        ...


class Presence(Protocol):
    """Knows whether somebody can be asked."""

    @property
    def present(self) -> bool:
        """A person is there."""
        ...


class ReviewedSessionFiles(Protocol):
    """A session's files."""

    async def review_of(self, path: Path) -> Review:
        """The review of the project a file belongs to. Raises OSError, SouldError."""
        ...


class OtherSessions(OtherWork):
    """As one session sees them. `at_work`: those of which a turn runs, shared by all."""

    def __init__(
        self, session_id: str, files: ReviewedSessionFiles, names: SessionNames, presence: Presence, at_work: set[str]
    ) -> None:
        self._at_work = at_work
        self._session_id = session_id
        self._files = files
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

    async def contest(self, path: Path, text: str) -> Contest | None:
        """See `OtherWork`."""
        review = await self._review(path)
        hunks = [each for each in self._of_others(review, path) if (each.path, each.id) not in self._allowed]
        if review is None or not hunks:
            return None
        edits = await asyncio.to_thread(edits_between, split(review.text(str(path)) or ""), split(text))
        met = [each for each in hunks if self._is_at_work(each) or any(_overlaps(edit, each) for edit in edits)]
        if not met:
            return None
        said = "; ".join([await self._described(each) for each in met])
        return Contest(
            tuple(each.id for each in met),
            f"{path.name} has changes that nobody reviewed yet: {said}",
            self._presence.present,
        )

    def allowed(self, path: Path, contest: Contest) -> None:
        """See `OtherWork`."""
        self._allowed.update((str(path), number) for number in contest.ids)

    async def beside(self, path: Path) -> str:
        """See `OtherWork`."""
        found = [each for each in self._in(await self._review(path), path) if each.sessions - {self._session_id}]
        return "; ".join([await self._described(each) for each in found])

    async def _review(self, path: Path) -> Review | None:
        try:
            return await self._files.review_of(path)
        except (OSError, SouldError):
            return None  # then it is not written, either, and the write says why

    def _in(self, review: Review | None, path: Path) -> list[ReviewedHunk]:
        files = review.pending(Selection(paths=(str(path),))) if review is not None else []
        return [hunk for file in files for hunk in file.hunks if hunk.kind not in ("add", "mode")]

    def _of_others(self, review: Review | None, path: Path) -> list[ReviewedHunk]:
        return [each for each in self._in(review, path) if self._session_id not in each.sessions]

    def _is_at_work(self, hunk: ReviewedHunk) -> bool:
        return not self._at_work.isdisjoint(hunk.sessions)

    async def _described(self, hunk: ReviewedHunk) -> str:
        return await asyncio.to_thread(described, hunk, self._session_id, self._names)


def described(hunk: ReviewedHunk, session_id: str, names: SessionNames) -> str:
    """Its number, its place, and the sessions beside this one that had a part in it. Blocks."""
    others = " and ".join(f"“{names(each)}”" for each in sorted(hunk.sessions - {session_id}))
    place = f"hunk {hunk.id} at line {hunk.start + 1}" if hunk.kind == "text" else f"change {hunk.id} of the whole file"
    return f"{place}, by the session {others}"


def _overlaps(edit: LineEdit, hunk: ReviewedHunk) -> bool:
    if hunk.kind != "text":
        return hunk.kind != "rename"
    return edit.start < hunk.start + len(hunk.lines) and hunk.start < edit.stop
