"""The user's review as an agent reads it: what waits, what was decided, and waiting for that. Decides nothing."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress

from sould.agents.files.reviewing.listing import FileReview, KnownDecision
from sould.agents.files.reviewing.review import Review
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import PendingHunk, ReviewState, Verdict


def state_of(files: Sequence[FileReview], decisions: Sequence[KnownDecision], hunks: Collection[int]) -> ReviewState:
    """What waits, and what was decided about `hunks`; with some given, of these only."""
    pending = [each for file in files for each in _pending(file) if not hunks or each.hunk_id in hunks]
    verdicts = [Verdict(each.id, each.path, each.verdict, each.by, each.reason) for each in decisions]
    return ReviewState(tuple(pending), tuple(each for each in verdicts if each.hunk_id in hunks))


def asked_about(files: Sequence[FileReview], hunks: Collection[int]) -> list[int]:
    """Those of the hunks, or of all, that wait.

    Raises:
        EditorToolError: not_found: none of them does.
    """
    found = [each.hunk_id for file in files for each in _pending(file) if not hunks or each.hunk_id in hunks]
    if not found:
        raise EditorToolError("not_found", "Nothing of that waits for review; it may be decided already.")
    return found


async def decided(reviews: Sequence[Review], hunks: Collection[int], seconds: float) -> None:
    """Return when none of the hunks waits any more, or when the time is over."""
    changed = asyncio.Event()

    def hear(path: str) -> None:
        changed.set()

    with ExitStack() as stack, suppress(TimeoutError):
        for review in reviews:
            stack.enter_context(review.following(hear))
        async with asyncio.timeout(seconds):
            while any(
                each.hunk_id in hunks for review in reviews for file in review.pending() for each in _pending(file)
            ):
                await changed.wait()
                changed.clear()


def _pending(file: FileReview) -> list[PendingHunk]:
    return [
        PendingHunk(hunk.id, hunk.path, hunk.start + 1, hunk.state, len(hunk.base), len(hunk.lines))
        for hunk in file.hunks
        if hunk.state == "pending"
    ]
