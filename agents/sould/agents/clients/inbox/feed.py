"""The inbox as one client is shown it: the list, and news of it from when it asks for them.

What happens within a moment is told as one; while the client takes nothing, only which requests changed is kept, and above
`MOST_KEPT` of them only that. A task of the connection sends it, and ends when there is nothing to tell.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sould.agents.base.rpc.connection import Connection
from sould.agents.clients.inbox.shapes import EndedItem, InboxChanged, InboxItem, InboxList
from sould.agents.clients.inbox.shown import shortened, shown_end, shown_item
from sould.agents.files.reviewing.shown import as_json
from sould.agents.sessions.hostport import HostPort
from sould.agents.sessions.inbox import Following, Waiting

CHANGED: Final = "_sould/inbox/changed"
TOGETHER: Final = 0.02
"""Seconds within which changes are told as one."""
MOST_KEPT: Final = 1_000
"""Requests that changed."""


class FollowedInbox:
    """Of one client; `end` it with the connection."""

    def __init__(self, host: HostPort, connection: Connection, home: str) -> None:
        """`home` is its user's: no project."""
        self._host = host
        self._connection = connection
        self._home = Path(home)
        self._roots: dict[Path, str] = {}
        """By directory."""
        self._changed: dict[str, None] = {}
        self._everything = False
        self._held = False
        """The list is on its way, and nothing overtakes it."""
        self._sending: asyncio.Task[None] | None = None
        self._following: Following | None = None

    @property
    def is_followed(self) -> bool:
        """The client is told what changes."""
        return self._following is not None

    async def list(self) -> InboxList:
        """All that waits."""
        return InboxList(shortened(await self._shown(await self._host.inbox.all())))

    async def show(self, waiting: Waiting) -> InboxItem:
        """One request, whole."""
        [item] = await self._shown([waiting])
        return item

    async def subscribe(self) -> InboxList:
        """All that waits. Of what changes from here on the client is told, but not before `go_on`."""
        self._held = True
        if self._following is None:
            self._following = self._host.inbox.follow(self._note)
        return await self.list()

    def go_on(self) -> None:
        """The client has the list that `subscribe` gave."""
        self._held = False
        self._begin()

    def subscribe_again(self) -> None:
        """As `subscribe`, for a client that has an older list: it is told to ask for everything."""
        self._following = self._host.inbox.follow(self._note)
        self._miss()

    def end(self) -> None:
        """The client is told no more."""
        if self._following is not None:
            self._following.close()
            self._following = None
        if self._sending is not None:
            self._sending.cancel()

    def _note(self, request_id: str) -> None:
        if not self._everything:
            self._changed[request_id] = None
        if len(self._changed) > MOST_KEPT:
            self._miss()
        self._begin()

    def _miss(self) -> None:
        self._everything = True
        self._changed.clear()
        self._begin()

    def _begin(self) -> None:
        due = not self._held and (self._changed or self._everything)
        if due and (self._sending is None or self._sending.done()) and not self._connection.gone:
            self._sending = self._connection.spawn(self._send(), "inbox changed")

    async def _send(self) -> None:
        while self._changed or self._everything:
            await asyncio.sleep(TOGETHER)
            if self._connection.congested:
                await self._connection.drained()
            self._connection.notify(CHANGED, as_json(await self._news()))

    async def _news(self) -> InboxChanged:
        changed, everything = self._changed, self._everything
        self._changed, self._everything = {}, False
        if everything:
            return InboxChanged(everything=True)
        inbox = self._host.inbox
        waiting = [each for each in inbox.live if each.request.id in changed]
        items = await self._shown(waiting)
        ended = [found for each in changed if (found := inbox.ended(each)) is not None]
        gone: tuple[EndedItem, ...] = tuple(map(shown_end, ended))
        told = {each.id for each in gone}
        return InboxChanged(shortened(tuple(item for item in items if item.id not in told)), gone)

    async def _shown(self, waiting: Iterable[Waiting]) -> tuple[InboxItem, ...]:
        return tuple([shown_item(each, await self._root(each.session.cwd)) for each in waiting])

    async def _root(self, directory: Path) -> str:
        """Looked for once: what waits is to be told at once."""
        if directory not in self._roots:
            self._roots[directory] = str(await self._host.project_root(directory, self._home))
        return self._roots[directory]
