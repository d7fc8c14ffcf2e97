"""The projects that one client reviews: each opened with the first word about it, given up with the connection.

A project that nobody asks about and of which the client follows nothing and has nothing open is given up when there are too
many. Nothing here decides anything.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from sould.agents.base.errors import OptionError
from sould.agents.base.rpc.connection import Connection
from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.reviewing.listing import FileReview
from sould.agents.files.reviewing.shapes import ReviewChanged, ShownComment, ShownDecision, ShownFile
from sould.agents.files.reviewing.shown import as_json, shown_comments, shown_decisions, shown_file, shown_round
from sould.agents.sessions.hostport import HostPort

CHANGED: Final = "_sould/review/changed"
TOGETHER: Final = 0.05
"""Seconds within which changes are told as one."""
MOST_KEPT: Final = 1_000
"""Changed files."""
MOST_SENT: Final = 256 * 1024
"""Characters of hunks in one notification, in 100 files at most; the client lists the others."""
MOST_FILES: Final = 100
MOST_DECISIONS: Final = 1_000
MOST_OPEN: Final = 32
"""Projects of one client."""


class FollowedProject:
    """A project as one client reviews it. `feed` tells the client what changes, once it asked for that."""

    def __init__(self, port: ProjectPort, connection: Connection, stack: AsyncExitStack) -> None:
        """`stack` has all that is to be given up with it."""
        self.port = port
        self._users = 0
        """Requests that work with it now, and open files."""
        self._connection = connection
        self._stack = stack
        self._feed: ReviewFeed | None = None

    @property
    def is_idle(self) -> bool:
        """The client has nothing of it."""
        return not self._users and self._feed is None

    @property
    def is_followed(self) -> bool:
        """The client is told what changes."""
        return self._feed is not None

    def subscribe(self, *, again: bool = False) -> None:
        """From now on the client is told what changes; a second time changes nothing. `again`: it may have missed something."""
        if self._feed is None:
            self._feed = ReviewFeed(self.port, self._connection)
        if again:
            self._feed.miss()

    def unsubscribe(self) -> None:
        """The client is told no more."""
        if self._feed is not None:
            self._feed.end()
            self._feed = None

    def begin_use(self) -> None:
        """A request works with it, or a file of it is open, until `end_use`: it is not given up meanwhile."""
        self._users += 1

    def end_use(self) -> None:
        """What `begin_use` said is over."""
        self._users -= 1

    async def aclose(self) -> None:
        """Give it up."""
        self.unsubscribe()
        await self._stack.aclose()


class OpenProjects:
    """Of one client. `home` is its user's: no project."""

    def __init__(self, host: HostPort, connection: Connection, client_id: str, home: str) -> None:
        self._host = host
        self._connection = connection
        self._client_id = client_id
        self._home = Path(os.path.realpath(home))
        self._open: dict[Path, FollowedProject] = {}
        """By root, the one used last at the end."""
        self._one = asyncio.Lock()

    @asynccontextmanager
    async def of(self, path: Path) -> AsyncGenerator[FollowedProject, None]:
        """The project of a resolved directory or file, for a request.

        Raises:
            OSError, SouldError: it cannot be opened.
        """
        project = await self.hold(path)
        try:
            yield project
        finally:
            project.end_use()

    async def hold(self, path: Path) -> FollowedProject:
        """As `of`, until its `end_use`."""
        root = await self._host.project_root(path, self._home)
        async with self._one:
            project = self._open.pop(root, None) or await self._opened(root)
            self._open[root] = project
            project.begin_use()
        return project

    @property
    def followed(self) -> tuple[str, ...]:
        """The roots of those that the client follows."""
        return tuple(str(root) for root, project in self._open.items() if project.is_followed)

    async def _opened(self, root: Path) -> FollowedProject:
        await self._make_room()
        async with AsyncExitStack() as opening:
            port = await opening.enter_async_context(self._host.project(root, self._home, self._client_id))
            return FollowedProject(port, self._connection, opening.pop_all())

    async def _make_room(self) -> None:
        if len(self._open) < MOST_OPEN:
            return
        idle = next((root for root, project in self._open.items() if project.is_idle), None)
        if idle is None:
            raise OptionError(f"A client follows {MOST_OPEN} projects at most: unsubscribe from one first.")
        await self._open.pop(idle).aclose()

    async def aclose(self) -> None:
        """The client is gone; no request works any more."""
        while self._open:
            _, project = self._open.popitem()
            await project.aclose()


def resolve(paths: Iterable[Path]) -> list[Path]:
    """Paths as a project knows them. Blocks."""
    return [Path(os.path.realpath(path)) for path in paths]


class ReviewFeed:
    """Of one project, from now until `end`."""

    def __init__(self, port: ProjectPort, connection: Connection) -> None:
        self._port = port
        self._review = port.review
        self._connection = connection
        self._changed: dict[str, None] = {}
        self._everything = False
        self._shown = set(self._review.pending_files())
        """Files of which the client may show hunks."""
        self._comments = shown_comments(self._review.comments.open)
        """Those the client knows."""
        self._round = shown_round(self._review.comments.round)
        self._told = self._review.revision
        """Up to which event it knows of decisions."""
        self._waiting = {each.n: each.id for each in self._review.decisions(self._told)}
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
        pending = set(self._review.pending_files())
        paths = changed.keys() | (self._shown - pending)  # a file that was moved is told by its new path only
        self._shown = pending
        files, others = _bounded(self._port.files(paths))
        return ReviewChanged(
            root=str(self._review.root),
            revision=self._review.revision,
            files=() if everything else tuple(files),
            others=() if everything else tuple(others),
            everything=everything,
            decisions=self._decisions(),
            comments=self._new_comments(),
            round=shown_round(self._review.comments.round),
        )

    def _new_comments(self) -> tuple[ShownComment, ...] | None:
        before, self._comments = self._comments, shown_comments(self._review.comments.open)
        round_before, self._round = self._round, shown_round(self._review.comments.round)
        # those that were made and sent within a moment the client knows by its answers only
        return self._comments if (self._comments, self._round) != (before, round_before) else None

    def _decisions(self) -> tuple[ShownDecision, ...]:
        """What was decided since, and what waited and is carried out now."""
        since = min(self._told, *(n - 1 for n in self._waiting)) if self._waiting else self._told
        known = self._review.decisions(since)
        news = [each for each in known if each.n > self._told or (each.n in self._waiting and not each.waits)]
        self._told = self._review.revision
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
