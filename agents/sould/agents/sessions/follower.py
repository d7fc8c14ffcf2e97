"""A session as one client follows it: what was said so far, then what happens, without a gap and without a repetition.

For every frontend: it knows the stream and its cursors, and what the frontend does with a record is the frontend's. While the
client takes its bytes too slowly nothing more is fed; one that fell behind the channel's bound goes on from the journal.
It starts no task but that one, never waits for a client while something is published, and never drops a record.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Protocol

from sould.agents.journal.channel import ChannelSubscription, Cursor, Record
from sould.agents.journal.log import SessionLog
from sould.agents.wire.stream import head

logger = logging.getLogger(__name__)

YIELD_EVERY = 200
"""Records read between two looks at the rest of the daemon."""
SLICE = 0.001
"""Seconds of replaying between two of them."""
_LOOKS = 8
"""Records replayed between two looks at the clock."""


class FollowerSink(Protocol):
    """What a frontend does with the records of a session. None of its methods waits or raises."""

    def feed(self, record: Record) -> None:
        """It happens now. The only call on the hot path: once for each record."""
        ...

    def feed_missed(self, record: Record) -> None:
        """It happened while the client could not be told. What it asks may be answered by now: see `went_live`."""
        ...

    def feed_history(self, record: Record) -> None:
        """It is part of the conversation so far, which is shown to somebody who has not seen it."""
        ...

    def learn(self, record: Record) -> None:
        """It happened and is not shown; what comes next may be about it."""
        ...

    def went_live(self) -> None:
        """Everything before is fed; from here on it is `feed`. Requests that are pending now are to be offered."""
        ...


class Outlet(Protocol):
    """The connection to the client; `rpc.Connection` is one."""

    @property
    def congested(self) -> bool:
        """The client takes less than it is given."""
        ...

    @property
    def gone(self) -> bool:
        """There is no client any more."""
        ...

    def on_drain(self, callback: Callable[[], None]) -> None:
        """Call `callback` once when everything written has left."""
        ...

    async def drained(self) -> None:
        """Return when everything written has left."""
        ...

    def spawn(self, work: Coroutine[None, None, None], name: str) -> "asyncio.Task[None]":
        """Run `work` for at most the life of the connection."""
        ...


class SessionFollower:
    """First at most one of `show_history`, `look_back` and `catch_up`, then `go_live`, then `end`."""

    def __init__(self, log: SessionLog, sink: FollowerSink, outlet: Outlet, name: str) -> None:
        """`name` says in the daemon's own log which session it is."""
        self._log = log
        self._sink = sink
        self._feed = sink.feed
        self._outlet = outlet
        self._name = name
        self._opened = log.channel.position
        self._cursor = self._opened
        self._subscription: ChannelSubscription | None = None
        self._successor: SessionFollower | None = None
        self._ended = False
        self._flowing = asyncio.Event()
        """Set while everything published has been fed."""

    @property
    def cursor(self) -> Cursor:
        """The first thing that has not been fed: where to go on, also in another process."""
        return self._subscription.cursor if self._subscription else self._cursor

    @property
    def place(self) -> object:
        """The same object as long as the cursor is the same: quicker to ask for than the cursor."""
        return self._subscription.place if self._subscription else self._cursor

    async def show_history(self, since: int = 1) -> None:
        """Feed the conversation so far, from message `since` on, as fast as the client takes it; what happens meanwhile is no history.

        Raises OSError: the journal cannot be read.
        """
        position = await asyncio.to_thread(self._log.place, since) if since > 1 else 0
        await self._replay(self._log.replay(Cursor(since), position), self._show)

    async def look_back(self) -> None:
        """Learn the whole conversation so far."""
        await self._replay(self._log.replay(), self._sink.learn)

    async def catch_up(self, cursor: Cursor) -> None:
        """Learn what was fed before `cursor`, then feed what came since."""
        self._cursor = cursor
        await self._replay(_before(cursor, self._log.replay()), self._sink.learn)
        await self._replay(self._log.replay(cursor), self._miss)

    def go_live(self) -> None:
        """Feed everything from now on. Synchronous: nothing is published between the last replayed record and this."""
        self._subscription = self._log.channel.subscribe(self._take, on_cut=self._on_cut)
        self._flowing.set()
        self._sink.went_live()

    def end(self, successor: "SessionFollower | None" = None) -> None:
        """Feed nothing more. Whoever waits for `shown` then waits for the `successor`, if the same client has one."""
        if self._subscription is not None:
            self._cursor = self._subscription.cursor
            self._subscription.close()
            self._subscription = None
        self._ended = True
        self._successor = successor
        self._flowing.set()

    @property
    def at_rest(self) -> bool:
        """Everything published has been fed."""
        return self._flowing.is_set()

    async def shown(self) -> None:
        """Return when everything published has been fed, here and by those that took its place."""
        follower: SessionFollower | None = self
        while follower is not None:
            await follower._flowing.wait()
            follower = follower._successor

    # --- live -------------------------------------------------------------------------------------------------------

    def _take(self, record: Record) -> bool:
        self._feed(record)
        if not self._outlet.congested:
            return True
        self._flowing.clear()
        self._outlet.on_drain(self._resume)
        return False

    def _resume(self) -> None:
        if self._subscription is not None:
            self._flowing.set()
            self._subscription.resume()  # may hold again

    def _on_cut(self, cursor: Cursor) -> None:
        """Too far behind: go on from disk once the client has taken what it has."""
        logger.info("session %s: the client is too far behind and will go on from the journal", self._name)
        self._cursor = cursor
        self._subscription = None
        self._flowing.clear()
        self._outlet.on_drain(self._return_from_cut)

    def _return_from_cut(self) -> None:
        if not self._outlet.gone and not self._ended:
            self._outlet.spawn(self._go_on(), f"catch up {self._name}")

    async def _go_on(self) -> None:
        await self._replay(self._log.replay(self._cursor), self._miss)
        if not self._ended:
            self.go_live()

    # --- from the journal -------------------------------------------------------------------------------------------

    async def _replay(self, records: Iterable[Record], take: Callable[[Record], None]) -> None:
        pause = time.monotonic() + SLICE
        for number, record in enumerate(records, 1):
            take(record)
            if self._outlet.congested:
                await self._outlet.drained()
            elif number % _LOOKS == 0 and time.monotonic() > pause:
                await asyncio.sleep(0)
                pause = time.monotonic() + SLICE
            if self._ended:
                return

    def _show(self, record: Record) -> None:
        if record.seq >= self._opened.seq:
            self._miss(record)
        else:
            self._sink.feed_history(record)

    def _miss(self, record: Record) -> None:
        self._sink.feed_missed(record)
        self._cursor = max(self._cursor, record.after)


def _before(cursor: Cursor, records: Iterable[Record]) -> Iterator[Record]:
    """The records before `cursor`; of the message it points into, what lies before it."""
    for record in records:
        if Cursor(record.seq) >= cursor:
            return
        yield record if record.seq < cursor.seq else record._replace(message=head(record.message, cursor.offset))
