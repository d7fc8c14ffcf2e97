"""The projects that one client reviews: each opened with the first word about it, given up with the connection.

A project that nobody asks about and of which the client follows nothing and has nothing open is given up when there are too
many. Nothing here decides anything.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from sould.agents.base.errors import OptionError
from sould.agents.base.rpc.connection import Connection
from sould.agents.clients.review.feed import ReviewFeed
from sould.agents.files.projects.port import ProjectPort
from sould.agents.sessions.hostport import HostPort

MOST_OPEN: Final = 32
"""Projects of one client."""


class ReviewedProject:
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
        self._open: dict[Path, ReviewedProject] = {}
        """By root, the one used last at the end."""
        self._one = asyncio.Lock()

    @asynccontextmanager
    async def of(self, path: Path) -> AsyncGenerator[ReviewedProject, None]:
        """The project of a resolved directory or file, for a request.

        Raises:
            OSError, SouldError: it cannot be opened.
        """
        project = await self.hold(path)
        try:
            yield project
        finally:
            project.end_use()

    async def hold(self, path: Path) -> ReviewedProject:
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

    async def _opened(self, root: Path) -> ReviewedProject:
        await self._make_room()
        async with AsyncExitStack() as opening:
            port = await opening.enter_async_context(self._host.project(root, self._home, self._client_id))
            return ReviewedProject(port, self._connection, opening.pop_all())

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
