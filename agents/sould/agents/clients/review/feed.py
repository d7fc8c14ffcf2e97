"""Tells one client what changes in the review of a project: the files as they are now, and who decided what.

What happens within a moment is told as one; while the client takes nothing, only which files changed is kept, and above
`MOST_KEPT` of them only that. A task of the connection sends it, and ends when there is nothing to tell.
"""

import asyncio
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Final

from sould.agents.base.rpc.connection import Connection
from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.reviewing.listing import FileReview
from sould.agents.files.reviewing.shapes import ReviewChanged, ShownComment, ShownDecision, ShownFile
from sould.agents.files.reviewing.shown import as_json, shown_comments, shown_decisions, shown_file, shown_round

CHANGED: Final = "_sould/review/changed"
TOGETHER: Final = 0.05
"""Seconds within which changes are told as one."""
MOST_KEPT: Final = 1_000
"""Changed files."""
MOST_SENT: Final = 256 * 1024
"""Characters of hunks in one notification, in 100 files at most; the client lists the others."""
MOST_FILES: Final = 100
MOST_DECISIONS: Final = 1_000


class ReviewFeed:
    """Of one project, from now until `end`."""

    def __init__(self, port: ProjectPort, connection: Connection) -> None:
        self._port = port
        self._connection = connection
        self._changed: dict[str, None] = {}
        self._everything = False
        self._shown = set(port.pending_files())
        """Files of which the client may show hunks."""
        self._comments = shown_comments(port.comments.open)
        """Those the client knows."""
        self._round = shown_round(port.comments.round)
        self._told = port.revision
        """Up to which event it knows of decisions."""
        self._waiting = {each.n: each.id for each in port.decisions(self._told)}
        """Decisions that it was told of as waiting."""
        self._sending: asyncio.Task[None] | None = None
        self._following = ExitStack()
        self._following.enter_context(port.following(self._note))

    def end(self) -> None:
        """The client is told no more."""
        self._following.close()
        if self._sending is not None:
            self._sending.cancel()

    def miss(self) -> None:
        """The client may have missed something: it is told to ask for everything."""
        self._everything = True
        self._changed.clear()
        self._begin()

    def _note(self, path: str) -> None:
        if not self._everything:
            self._changed[path] = None
        if len(self._changed) > MOST_KEPT:
            self._everything = True
            self._changed.clear()
        self._begin()

    def _begin(self) -> None:
        if (self._sending is None or self._sending.done()) and not self._connection.gone:
            self._sending = self._connection.spawn(self._send(), "review changed")

    async def _send(self) -> None:
        while self._changed or self._everything:
            await asyncio.sleep(TOGETHER)
            if self._connection.congested:
                await self._connection.drained()
            self._connection.notify(CHANGED, as_json(self._news()))

    def _news(self) -> ReviewChanged:
        changed, everything = self._changed, self._everything
        self._changed, self._everything = {}, False
        pending = set(self._port.pending_files())
        paths = changed.keys() | (self._shown - pending)  # a file that was moved is told by its new path only
        self._shown = pending
        files, others = _bounded(self._port.files(paths))
        return ReviewChanged(
            root=str(self._port.root),
            revision=self._port.revision,
            files=() if everything else tuple(files),
            others=() if everything else tuple(others),
            everything=everything,
            decisions=self._decisions(),
            comments=self._new_comments(),
            round=shown_round(self._port.comments.round),
        )

    def _new_comments(self) -> tuple[ShownComment, ...] | None:
        before, self._comments = self._comments, shown_comments(self._port.comments.open)
        round_before, self._round = self._round, shown_round(self._port.comments.round)
        # those that were made and sent within a moment the client knows by its answers only
        return self._comments if (self._comments, self._round) != (before, round_before) else None

    def _decisions(self) -> tuple[ShownDecision, ...]:
        """What was decided since, and what waited and is carried out now."""
        since = min(self._told, *(n - 1 for n in self._waiting)) if self._waiting else self._told
        known = self._port.decisions(since)
        news = [each for each in known if each.n > self._told or (each.n in self._waiting and not each.waits)]
        self._told = self._port.revision
        self._waiting = {each.n: each.id for each in known if each.waits}
        return shown_decisions(news[-MOST_DECISIONS:])


def _bounded(files: Iterable[FileReview]) -> tuple[list[ShownFile], list[str]]:
    """Those that are sent, and the paths of those that are too large or too many."""
    sent: list[ShownFile] = []
    others: list[str] = []
    room = MOST_SENT
    for file in files:
        room -= sum(sum(map(len, hunk.base)) + sum(map(len, hunk.texts)) for hunk in (*file.hunks, *file.streaming))
        if room >= 0 and len(sent) < MOST_FILES:
            sent.append(shown_file(file))
        else:
            others.append(file.path)
    return sent, others
