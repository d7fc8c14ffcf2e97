"""The latest notices of a session, for the client that comes next: a notice is an event, and nobody reads it up later.

Keeps a few and publishes nothing. One of them is told twice only where that is asked for.
"""

from collections import deque
from collections.abc import Sequence

from sould.agents.journal.channel import Channel, Cursor, Record
from sould.agents.soul.attachedclients import AttachedClients
from sould.agents.wire.messages import Notification

MOST = 20


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
