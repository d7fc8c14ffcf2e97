"""What a client asks of a review: decide something about some hunks. As decisions of the log it is still only asked for."""

import time
from collections.abc import Mapping

from msgspec import Struct

from sould.agents.files.edits.editlog import Decided
from sould.agents.files.review.decisions import Choice
from sould.agents.files.review.filedecisions import ConflictChoice
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.shapes import Verdict


class Order(Struct, frozen=True):
    """What a client asks for: one verdict about some hunks.

    `digests`: what it saw of them, by id; a hunk without one is decided as it is now. `lines`, `base_lines`: see `Decision`, of one hunk.
    """

    verdict: Verdict
    selection: Selection
    by: str
    """The client, as people know it."""
    reason: str = ""
    choice: Choice | ConflictChoice | None = None
    digests: Mapping[int, str] = {}
    lines: tuple[int, int] | None = None
    base_lines: tuple[int, int] | None = None
    answered_in: str = ""
    """The session whose clients are shown the outcome anyway."""

    def draft(self, path: str, number: int, hunk: ReviewedHunk | None, before: Decided | None) -> Decided:
        """A decision of it about a hunk, as it is now, None when it is not pending; `before`: the last decision about it."""
        return Decided(
            n=0,
            path=path,
            verdict=self.verdict,
            hunk_id=number,
            digest=self.digests.get(number) or (hunk.digest if hunk is not None else ""),
            lines=self.lines,
            base_lines=self.base_lines,
            choice=self.choice,
            by=self.by,
            reason=self.reason,
            sessions=tuple(sorted(hunk.sessions))
            if hunk is not None
            else before.sessions
            if before is not None
            else (),
            writers=hunk.writers if hunk is not None else before.writers if before is not None else (),
            timestamp=time.time(),
        )
