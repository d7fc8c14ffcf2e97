"""The session's channel: one producer, many subscribers, requests answered once.

Publishing pushes synchronously: no task and no queue per subscriber, no copy of the message. A subscriber that cannot
take more says so and is held for; what is held is merged and bounded, and a subscriber beyond the bound is cut and told
where to resume. The channel never waits for a subscriber and never loses a record silently. One event loop only.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Literal, TypeAlias

from msgspec import Struct, field

from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    HookRequest,
    HookResponse,
    QuestionRequest,
    QuestionResponse,
    RequestClosed,
    Response,
    SubagentEvent,
    ToolCall,
    ToolCallPart,
    ToolCallRequest,
    ToolResult,
    WireMessage,
    WireRequest,
)
from sould.agents.wire.stream import VOLATILE, Cursor, Record, is_delta, is_volatile, joined, length, piece

__all__ = ["MIB", "Channel", "ChannelSubscription", "Cursor", "Record", "RequestClosedError", "Resolution", "Sink"]

MIB = 1024 * 1024
REMEMBERED_ANSWERS = 1000
"""How many answered requests are remembered, to tell a late answer from an unknown one."""
HELD_OVERHEAD = 256
"""What a held record costs besides its characters."""

Sink: TypeAlias = Callable[[Record], bool]
"""Takes the record, always, and never raises. True: keep pushing. False: hold the next ones until `resume`."""


OnCut: TypeAlias = Callable[[Cursor], None]
"""Told that a subscription ended because too much was held for it. `cursor`: where to resume."""


Listener: TypeAlias = Callable[[Record], None]
"""Takes records of some kinds, before any subscriber. Never raises or blocks; it may publish."""


Tap: TypeAlias = Callable[[Record], None]
"""Sees every record before any subscriber does. What it raises goes to whoever publishes."""


class RequestClosedError(Exception):
    """The request ended without an answer."""

    def __init__(self, reason: Literal["cancelled", "expired"]) -> None:
        super().__init__(reason)
        self.reason: Literal["cancelled", "expired"] = reason


class Resolution(Struct, frozen=True):
    """What became of an answer. `by`: who had answered before (empty: nobody, the request was withdrawn), or is to answer."""

    outcome: Literal["accepted", "already", "not_yours", "unknown"]
    by: str = ""


class _Held(Struct):
    """A record that waits, and the characters of the deltas merged into it."""

    record: Record
    weight: int
    pieces: list[str] = field(default_factory=list[str])

    def add(self, text: str) -> int:
        """Join a delta's text to it; how many bytes that adds, counted without encoding it."""
        self.pieces.append(text)
        added = len(text) if text.isascii() else 3 * len(text)
        self.weight += added
        return added

    def taken(self) -> Record:
        if len(self.pieces) < 2:
            return self.record
        first = self.record
        return Record(first.seq, first.offset, joined(first.message, self.pieces), first.timestamp)


class ChannelSubscription:
    """One subscriber of a channel. Made by `Channel.subscribe`."""

    __slots__ = (
        "_channel",
        "_draining",
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

    def __init__(self, channel: "Channel", sink: Sink, *, merged: bool, limit: int, on_cut: OnCut) -> None:
        self._channel: Channel | None = channel
        self._sink = sink
        self._merged = merged
        self._limit = limit
        self._on_cut = on_cut
        self._ready = True
        self._draining = False
        self._held: deque[_Held] = deque()
        self._held_size = 0
        self._start = channel.position
        self._last: Record | None = None

    @property
    def cursor(self) -> Cursor:
        """Where to resume: just after the last durable record the sink took."""
        return self._last.after if self._last else self._start

    @property
    def place(self) -> object:
        """The same object as long as the cursor is the same."""
        return self._last or self._start

    @property
    def held(self) -> int:
        """Bytes held for this subscriber, roughly."""
        return self._held_size

    def resume(self) -> None:
        """The sink can take more: what was held follows at once, as far as it goes."""
        self._ready = True
        if self._draining:
            return
        self._draining = True
        try:
            while self._ready and self._held:
                held = self._held.popleft()
                self._held_size -= held.weight
                self._give(held.taken())
        finally:
            self._draining = False

    def close(self) -> None:
        """No more records. Idempotent."""
        if self._channel:
            self._channel.unsubscribe(self)
            self._channel = None
        self._held.clear()
        self._held_size = 0
        self._ready = False

    def push(self, record: Record) -> None:
        """For the channel: deliver now, or hold."""
        if self._ready and not self._held and not self._draining:
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
        if self._merged and delta and tail and tail.pieces and tail.record.seq == record.seq:
            added = tail.add(piece(record.message))
        elif delta:
            held = _Held(record, HELD_OVERHEAD)
            added = HELD_OVERHEAD + held.add(piece(record.message))
            self._held.append(held)
        else:
            added = HELD_OVERHEAD + len(record.message.model_dump_json())
            self._held.append(_Held(record, added))
        self._held_size += added
        if self._held_size > self._limit:
            cursor, on_cut = self.cursor, self._on_cut
            self.close()
            on_cut(cursor)


class Listening(Struct, frozen=True, eq=False):
    """That a listener is told of records, until `close`. Made by `Channel.listen`."""

    channel: "Channel"
    kinds: tuple[type[WireMessage], ...]
    listener: Listener

    def close(self) -> None:
        """Tell it nothing more."""
        self.channel.unlisten(self)


class Channel:
    """The stream of one session."""

    def __init__(self, *, next_seq: int = 1, tap: Tap | None = None) -> None:
        """`tap` sees every record before any subscriber does: the journal and the context."""
        self._next = next_seq
        self._tap = tap
        self._subscribers: tuple[ChannelSubscription, ...] = ()
        self._listeners: dict[type[WireMessage], tuple[Listening, ...]] = {}
        self._open: type[WireMessage] | None = None
        """What kind of message streams, if one does; `_open_call` is its tool call's id, `_offset` its length so far."""
        self._open_call = ""
        self._last_call = ""
        self._offset = 0
        self._pushing = False
        self._frozen = False
        self._kept: Collection[str] = ()
        self._backlog: deque[tuple[Record, tuple[ChannelSubscription, ...]]] = deque()
        self._requests: dict[str, tuple[WireRequest, asyncio.Future[Response]]] = {}
        self._answered: dict[str, str] = {}

    @property
    def position(self) -> Cursor:
        """Where a subscriber stands that has seen everything."""
        return Cursor(self._next - 1, self._offset) if self._open else Cursor(self._next)

    @property
    def pending(self) -> tuple[WireRequest, ...]:
        """Requests nobody has answered, oldest first."""
        return tuple(request for request, _ in self._requests.values())

    def publish(self, message: WireMessage, pieces: tuple[str, ...] = ()) -> Record:
        """Number the message, give it to the tap, push it to every listener and subscriber. Safe to call from a sink.

        `pieces`: see `Record`.
        """
        if self._frozen:
            return Record(self.position.seq, 0, message, time.time(), volatile=True)
        record = self._number(message, pieces)
        if self._tap:
            self._tap(record)
        if self._pushing:
            self._backlog.append((record, self._subscribers))
            return record
        self._pushing = True
        try:
            self._push(record, self._subscribers)
            while self._backlog:
                self._push(*self._backlog.popleft())
        finally:
            self._pushing = False
        return record

    def _push(self, record: Record, subscribers: tuple[ChannelSubscription, ...]) -> None:
        for listening in self._listeners.get(type(record.message), ()):
            listening.listener(record)
        for subscription in subscribers:
            subscription.push(record)

    @property
    def frozen(self) -> bool:
        """Nothing more is recorded."""
        return self._frozen

    def freeze(self) -> None:
        """Nothing more is recorded or shown: this process leaves, and the next one takes things up as they stand (D16)."""
        self._frozen = True

    def keep(self, request_ids: Collection[str]) -> None:
        """These requests end here without a word, because the next process asks them again (D16)."""
        self._kept = request_ids

    def subscribe(self, sink: Sink, *, merged: bool = True, limit: int = 8 * MIB, on_cut: OnCut) -> ChannelSubscription:
        """Push every record published from now on into `sink`.

        `merged`: while the sink is behind, deltas of one message are joined. More than `limit` bytes held: the
        subscription ends and `on_cut` gets the cursor to resume from.
        """
        subscription = ChannelSubscription(self, sink, merged=merged, limit=limit, on_cut=on_cut)
        self._subscribers = (*self._subscribers, subscription)
        return subscription

    def listen(self, kinds: Collection[type[WireMessage]], listener: Listener) -> Listening:
        """Tell `listener` of every record of these kinds from now on; of others it costs nothing."""
        listening = Listening(self, tuple(kinds), listener)
        for kind in listening.kinds:
            self._listeners[kind] = (*self._listeners.get(kind, ()), listening)
        return listening

    def unlisten(self, listening: Listening) -> None:
        """Tell it nothing more; `Listening.close` calls this."""
        for kind in listening.kinds:
            self._listeners[kind] = tuple(other for other in self._listeners.get(kind, ()) if other is not listening)

    def unsubscribe(self, subscription: ChannelSubscription) -> None:
        """Push nothing more to it; `ChannelSubscription.close` calls this."""
        self._subscribers = tuple(other for other in self._subscribers if other is not subscription)

    async def request(self, request: WireRequest) -> Response:
        """Publish and wait, without limit, for the first answer. Cancelling the caller withdraws the request.

        Raises:
            RequestClosedError: it was withdrawn.
            ValueError: a request with this id is pending.
        """
        if request.id in self._requests:
            raise ValueError(f"request {request.id} is pending already")
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._requests[request.id] = (request, answer)
        self.publish(request)
        try:
            return await answer
        except asyncio.CancelledError:
            self.withdraw(request.id, "cancelled")
            raise

    def resolve(self, response: Response, by: str) -> Resolution:
        """Answer a request; the first answer wins and is published, so that everybody's dialog closes.

        A `ToolResult` is not published here: the soul publishes results itself, in the order of the calls.
        """
        request_id = response.tool_call_id if isinstance(response, ToolResult) else response.request_id
        asked = self._requests.get(request_id)
        if asked is None or not isinstance(response, _ANSWERS[type(asked[0])]):
            return (
                Resolution("already", self._answered[request_id])
                if request_id in self._answered
                else Resolution("unknown")
            )
        if isinstance(response, ApprovalResponse | QuestionResponse):
            response = response.model_copy(update={"answered_by": by})
        self._close(request_id, by)
        if not isinstance(response, ToolResult):
            self.publish(response)
        if not asked[1].done():
            asked[1].set_result(response)
        return Resolution("accepted", by)

    def withdraw(self, request_id: str, reason: Literal["cancelled", "expired"]) -> None:
        """End a request without an answer: publishes `RequestClosed`. No-op when it is not pending."""
        if request_id not in self._requests:
            return
        answer = self._requests[request_id][1]
        self._close(request_id, "")
        if request_id not in self._kept:
            self.publish(RequestClosed(request_id=request_id, reason=reason))
        if not answer.done():
            answer.set_exception(RequestClosedError(reason))

    def _close(self, request_id: str, by: str) -> None:
        del self._requests[request_id]
        self._answered[request_id] = by
        if len(self._answered) > REMEMBERED_ANSWERS:
            del self._answered[next(iter(self._answered))]

    def _number(self, message: WireMessage, pieces: tuple[str, ...]) -> Record:
        kind = type(message)
        now = time.time()
        if self._open is kind and self._continues(message):
            offset = self._offset
            self._offset = offset + length(message)
            return Record(self._next - 1, offset, message, now, False, pieces)
        if kind in _VOLATILE or (kind is SubagentEvent and is_volatile(message)):
            return Record(self._next - 1, 0, message, now, volatile=True)
        seq = self._next
        self._next = seq + 1
        self._open = None
        if is_delta(message):
            self._offset = length(message)
            self._open = kind
            if isinstance(message, ToolCall):
                self._open, self._open_call, self._last_call = ToolCallPart, message.id, message.id
            elif isinstance(message, ToolCallPart):
                self._open_call = message.tool_call_id or self._last_call
        return Record(seq, 0, message, now, pieces=pieces)

    def _continues(self, message: WireMessage) -> bool:
        """Whether `message`, of the open kind, is a delta of the open message."""
        if isinstance(message, ToolCallPart):
            return (message.tool_call_id or self._last_call) == self._open_call
        return is_delta(message)


_VOLATILE = frozenset(VOLATILE)
_ANSWERS: dict[type[WireRequest], type[Response]] = {
    ApprovalRequest: ApprovalResponse,
    ToolCallRequest: ToolResult,
    QuestionRequest: QuestionResponse,
    HookRequest: HookResponse,
}
