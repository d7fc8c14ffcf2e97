"""Who looks at a session, the registry of its attached clients, and what they answer; and what came while nobody looked."""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from sould.agents.journal.channel import Channel, Cursor, Record, Resolution
from sould.agents.soul.session_request import Client
from sould.agents.wire.messages import Notification, Response

MOST = 20
ClientsChanged: TypeAlias = Callable[[], None]
"""Called when other clients look at a session. Must not block, attach or detach."""


class AttachedClients:
    """Of one session, which asks through `channel`. Holds clients, tells them nothing of the session."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.by_id: dict[str, Client] = {}
        """All of them."""
        self._watching: list[ClientsChanged] = []

    @property
    def any(self) -> bool:
        """Somebody looks, a person or a program."""
        return bool(self.by_id)

    @property
    def person(self) -> bool:
        """A person looks; programs cannot be asked."""
        return any(client.speaks_for_user for client in self.by_id.values())

    def add(self, client: Client) -> None:
        """A client came."""
        self.by_id[client.id] = client
        self._tell()

    def remove(self, client_id: str) -> None:
        """A client left, if it was there."""
        if self.by_id.pop(client_id, None) is not None:
            self._tell()

    @contextmanager
    def watched(self, changed: ClientsChanged) -> Generator[None]:
        """Call `changed` when a client has come or left, as long as the block lasts."""
        self._watching.append(changed)
        try:
            yield
        finally:
            self._watching.remove(changed)

    def _tell(self) -> None:
        for changed in tuple(self._watching):
            changed()

    def name(self, client_id: str) -> str:
        """What people call it; its id when it is not there."""
        client = self.by_id.get(client_id)
        return client.name if client is not None else client_id

    def answer(self, response: Response, client_id: str) -> Resolution:
        """One of them answers a pending request; the first answer wins and everybody sees it."""
        return self._channel.resolve(response, self.name(client_id))

    def chooses_for_project(self, client_id: str) -> bool:
        """What is chosen there is remembered for the project, as what the user types is."""
        client = self.by_id.get(client_id)
        return client is None or client.chooses_for_project


class MissedNotifications:
    """Of one session. What comes while none of its `clients` is there, nobody has heard."""

    def __init__(self, channel: Channel, clients: AttachedClients) -> None:
        self._clients = clients
        self._latest: deque[Record] = deque(maxlen=MOST)
        self._unheard: set[int] = set()
        channel.listen((Notification,), self._take)

    def news(self, since: Cursor | None) -> Sequence[Record]:
        """Those that nobody has heard, and those from `since` on; heard now."""
        found = [
            record for record in self._latest if record.seq in self._unheard or (since and record.seq >= since.seq)
        ]
        self._unheard.clear()
        return found

    def _take(self, record: Record) -> None:
        self._latest.append(record)
        if not self._clients.any:
            self._unheard.add(record.seq)
