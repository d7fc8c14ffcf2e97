"""The session's channel: one producer, many subscribers, requests answered once.

Publishing pushes synchronously: no task and no queue per subscriber, no copy of the message. A subscriber that cannot
take more says so and is held for; what is held is merged and bounded, and a subscriber beyond the bound is cut and told
where to resume. The channel never waits for a subscriber and never loses a record silently. One event loop only.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import (
    ApprovalResponse,
    QuestionResponse,
    RequestClosed,
    Response,
    ToolCall,
    ToolCallPart,
    ToolResult,
    WireMessage,
    WireRequest,
)
from sould.agents.wire.stream import VOLATILE, Cursor, Record, continues, is_delta, joined, length, piece

__all__ = ["MIB", "Channel", "Cursor", "Record", "RequestClosedError", "Resolution", "Sink", "Subscription"]

MIB = 1024 * 1024
REMEMBERED_ANSWERS = 1000
"""How many answered requests are remembered, to tell a late answer from an unknown one."""
HELD_OVERHEAD = 256
"""What a held record costs besides its characters."""

Sink: TypeAlias = Callable[[Record], bool]
"""Takes the record, always, and never raises. True: keep pushing. False: hold the next ones until `resume`."""


class RequestClosedError(Exception):
    """The request ended without an answer."""

    def __init__(self, reason: Literal["cancelled", "expired"]) -> None:
        super().__init__(reason)
        self.reason: Literal["cancelled", "expired"] = reason


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of an answer. `by`: who had answered before (empty: nobody, the request was withdrawn)."""

    outcome: Literal["accepted", "already", "unknown"]
    by: str = ""


@dataclass(slots=True)
class _Held:
    """A record that waits, and the characters of the deltas merged into it."""

    record: Record
    pieces: list[str] | None = None

    def taken(self) -> Record:
        if self.pieces is None or len(self.pieces) == 1:
            return self.record
        first = self.record
        return Record(first.seq, first.offset, joined(first.message, self.pieces), first.timestamp)


class Subscription:
    """One subscriber of a channel. Made by `Channel.subscribe`."""

    __slots__ = (
        "_channel",
        "_held",
        "_held_size",
        "_last",
        "_limit",
        "_merged",
        "_on_cut",
        "_ready",
        "_sink",
        "_start",
    )

    def __init__(
        self, channel: "Channel", sink: Sink, *, merged: bool, limit: int, on_cut: Callable[[Cursor], None]
    ) -> None:
        self._channel: Channel | None = channel
        self._sink = sink
        self._merged = merged
        self._limit = limit
        self._on_cut = on_cut
        self._ready = True
        self._held: deque[_Held] = deque()
        self._held_size = 0
        self._start = channel.position
        self._last: Record | None = None

    @property
    def cursor(self) -> Cursor:
        """Where to resume: just after the last durable record the sink took."""
        return self._last.after if self._last else self._start

    @property
    def held(self) -> int:
        """Bytes held for this subscriber, roughly."""
        return self._held_size

    def resume(self) -> None:
        """The sink can take more: what was held follows at once, as far as it goes."""
        self._ready = True
        while self._ready and self._held:
            held = self._held.popleft()
            self._held_size = self._held_size - _weight(held) if self._held else 0
            self._give(held.taken())

    def close(self) -> None:
        """No more records. Idempotent."""
        if self._channel:
            self._channel._drop(self)  # noqa: SLF001 -- two halves of one thing  # pyright: ignore[reportPrivateUsage]
            self._channel = None
        self._held.clear()
        self._held_size = 0
        self._ready = False

    def push(self, record: Record) -> None:
        """For the channel: deliver now, or hold."""
        if self._ready and not self._held:
            self._give(record)
        elif self._channel:
            self._hold(record)

    def _give(self, record: Record) -> None:
        if not record.volatile:
            self._last = record
        if not self._sink(record):
            self._ready = False

    def _hold(self, record: Record) -> None:
        delta = not record.volatile and is_delta(record.message)
        tail = self._held[-1] if self._held else None
        if self._merged and delta and tail and tail.pieces is not None and tail.record.seq == record.seq:
            added = piece(record.message)
            tail.pieces.append(added)
            self._held_size += _size(added)
        else:
            held = _Held(record, [piece(record.message)] if delta else None)
            self._held.append(held)
            self._held_size += _weight(held)
        if self._held_size > self._limit:
            cursor, on_cut = self.cursor, self._on_cut
            self.close()
            on_cut(cursor)


class Channel:
    """The stream of one session."""

    def __init__(self, *, next_seq: int = 1, tap: Callable[[Record], None] | None = None) -> None:
        """`tap` sees every record before any subscriber does: the journal and the context."""
        self._next = next_seq
        self._tap = tap
        self._subscribers: tuple[Subscription, ...] = ()
        self._open: WireMessage | None = None
        self._open_call = ""
        self._last_call = ""
        self._offset = 0
        self._pushing = False
        self._backlog: deque[Record] = deque()
        self._requests: dict[str, tuple[WireRequest, asyncio.Future[Response]]] = {}
        self._answered: dict[str, str] = {}

    @property
    def position(self) -> Cursor:
        """Where a subscriber stands that has seen everything."""
        return Cursor(self._next - 1, self._offset) if self._open else Cursor(self._next)

    def publish(self, message: WireMessage) -> Record:
        """Number the message, give it to the tap, push it to every subscriber. Safe to call from within a sink."""
        raise NotImplementedError

    def subscribe(
        self, sink: Sink, *, merged: bool = True, limit: int = 8 * MIB, on_cut: Callable[[Cursor], None]
    ) -> Subscription:
        """Push every record published from now on into `sink`.

        `merged`: while the sink is behind, deltas of one message are joined. More than `limit` bytes held: the
        subscription ends and `on_cut` gets the cursor to resume from.
        """
        raise NotImplementedError

    @property
    def pending(self) -> tuple[WireRequest, ...]:
        """Requests nobody has answered, oldest first."""
        return tuple(request for request, _ in self._requests.values())

    async def request(self, request: WireRequest) -> Response:
        """Publish and wait, without limit, for the first answer. Cancelling the caller withdraws the request.

        Raises:
            RequestClosedError: it was withdrawn.
        """
        raise NotImplementedError

    def resolve(self, response: Response, by: str) -> Resolution:
        """Answer a request; the first answer wins and is published, so that everybody's dialog closes.

        A `ToolResult` is not published here: the soul publishes results itself, in the order of the calls.
        """
        raise NotImplementedError

    def withdraw(self, request_id: str, reason: Literal["cancelled", "expired"]) -> None:
        """End a request without an answer: publishes `RequestClosed`. No-op when it is not pending."""
        raise NotImplementedError
