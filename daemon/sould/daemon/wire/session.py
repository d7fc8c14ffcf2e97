"""One session as one Wire client sees and drives it: its events, requests, prompts, and its replay."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from msgspec import UNSET, to_builtins

from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import RpcError
from sould.agents.clients.connections import AttachedSession
from sould.agents.journal.channel import Cursor, Record
from sould.agents.sessions.pendingprompts import PendingPrompts
from sould.agents.sessions.port import SessionPort
from sould.agents.sessions.turns.turns import Prompt
from sould.agents.wire import messages as wire
from sould.agents.wire.content import UserInput
from sould.agents.wire.notice import answered_elsewhere_notice
from sould.daemon.wire.lines import REQUESTS, StreamedLines, WholeLines, encode, line
from sould.daemon.wire.params import Own
from sould.daemon.wire.requests import AskedRequests
from sould.daemon.wire.results import Prompted, Replayed
from sould.daemon.wire.versions import Json, WireReader

INVALID_STATE: Final = -32000
NO_MODEL: Final = -32001
NOT_TAKEN: Final = -32002
PROVIDER: Final = -32003
SIGN_IN: Final = -32004
OURS: Final = -32603
_CODES: Final[dict[str, int]] = {
    "no_model": NO_MODEL,
    "auth_required": SIGN_IN,
    "disk_full": OURS,
    "internal": OURS,
}
"""By the kind of a turn's error; all others are the provider's."""
_CLOSINGS: Final = (wire.ApprovalResponse, wire.QuestionResponse, wire.HookResponse, wire.RequestClosed)


class WireSession:
    """Made with a live session; `begin` starts the events, `end` stops them. The sink of its own follower."""

    def __init__(
        self,
        session: SessionPort,
        connection: Connection,
        client_id: str,
        reader: WireReader,
        own: Own,
        pending: PendingPrompts,
    ) -> None:
        """`pending`: prompts that wait for their answer."""
        self.session = session
        self._connection = connection
        self._client_id = client_id
        self._reader = reader
        self._lines = WholeLines(reader) if own.view == "merged" else StreamedLines(reader)
        self._queues = own.queue
        self._observes = own.role == "observer"
        self._requests = AskedRequests(session, connection, client_id, reader)
        self._steps = 0
        """Of the running turn, as far as the client was told."""
        self._replay: Replay | None = None
        self._held: list[Record] | None = None
        """What happened while the client was not to be told anything yet."""
        self.follower = session.follow(self, connection)
        self.pending = pending

    # --- life ---------------------------------------------------------------------------------------------------------

    @property
    def remembered(self) -> AttachedSession:
        """What the next daemon must know of it."""
        info, cursor = self.session.info, self.follower.cursor
        return AttachedSession(str(info.cwd), tuple(map(str, info.additional)), cursor.seq, cursor.offset)

    def hold(self) -> None:
        """Keep what happens from now on until `begin`."""
        self._held = []
        self.follower.go_live()

    def begin(self, missed_notifications: Sequence[Record]) -> None:
        """Tell the client what nobody has heard and what was held, then everything as it happens; ask what is pending."""
        held, self._held = self._held or [], None
        for record in (*missed_notifications, *held):
            self.feed_missed(record)
        self.went_live()

    async def begin_again(self, cursor: Cursor) -> None:
        """Go on where an earlier daemon stopped."""
        await self.follower.catch_up(cursor)
        self.follower.go_live()

    def end(self) -> None:
        """The client is gone, or looks elsewhere."""
        self._requests.close_all()
        self.follower.end()
        self.pending.cancel()

    # --- what the client does -----------------------------------------------------------------------------------------

    def prompt(self, user_input: UserInput) -> Prompt:
        """Take a prompt. Synchronous, so that a cancel right behind finds it.

        Raises:
            RpcError: it has to wait, and cannot; or the model does not take what is in it.
        """
        self._require_control()
        if self.session.turns.busy and not self._queues:
            raise RpcError(INVALID_STATE, "An agent turn is already in progress.")
        self._require_taken(user_input)
        prompt = self.session.turns.prompt(user_input, self._client_id)
        self.pending.add(prompt)
        return prompt

    def steer(self, user_input: UserInput) -> None:
        """More input for the running turn. Raises RpcError: none runs, or the model does not take it."""
        self._require_control()
        self._require_taken(user_input)
        if not self.session.turns.steer(user_input):
            raise RpcError(INVALID_STATE, "No agent turn is in progress.")

    def require_work(self) -> None:
        """Refuse a cancel of nothing. Raises RpcError."""
        if self._replay is None:
            self._require_control()
            if not self.session.turns.busy:
                raise RpcError(INVALID_STATE, "No agent turn is in progress.")

    def cancel(self) -> None:
        """Cancel the replay, else the prompts of this client; where it gave none, the running turn."""
        if self._replay is not None:
            self._replay.cancel()
        elif not self._withdraw():
            self.session.turns.cancel(self._client_id)

    def _withdraw(self) -> bool:
        """Take out the prompts of this client behind the turn of another one. False: none waits there."""
        own = self.pending.turns
        if any(prompt.turn_id in own for prompt in self.session.turns.prompts[:1]):
            return False
        removed = [self.session.queue.remove(turn_id) for turn_id in own]
        return "removed" in removed

    async def set_plan_mode(self, *, enabled: bool) -> None:
        """Begin to plan, or go back to the mode before."""
        self._require_control()
        plan = self.session.plan_mode
        await (plan.enter() if enabled else plan.leave())

    async def answer(self, prompt: Prompt) -> Json:
        """The answer to a prompt, when its turn has ended and all of it was sent.

        Raises:
            RpcError: the turn failed.
        """
        try:
            end = await prompt.outcome()
            await self.follower.shown()
        except asyncio.CancelledError:
            if not self._connection.gone:
                self.session.turns.cancel(self._client_id)
            raise
        finally:
            self.pending.discard(prompt)
        return self._result(end)

    def answer_again(self, turn_id: str) -> Coroutine[Any, Any, Json]:
        """The answer to a prompt that an earlier daemon left without one. Synchronous up to taking it."""
        return self._answer_again(self.pending.take_up(turn_id, self.session.turns.resumed))

    async def _answer_again(self, prompt: Prompt) -> Json:
        if not prompt.resumes:
            prompt.settle(await self.session.end_of(prompt.turn_id))
        return await self.answer(prompt)

    async def replay(self, since: int, limit: int | None) -> Json:
        """Send what was said so far. Raises RpcError: a turn, or another replay, runs."""
        if self.session.turns.running or self._replay is not None:
            raise RpcError(INVALID_STATE, "An agent turn is already in progress.")
        self._replay = replay = Replay(self.session, self._connection, self._reader, since, limit)
        try:
            return await replay.run()
        finally:
            self._replay = None

    def _require_control(self) -> None:
        if self._observes:
            raise RpcError(INVALID_STATE, "This client observes the session: it said so when it introduced itself.")

    def _require_taken(self, user_input: UserInput) -> None:
        """Other clients are told what was left out; Wire has a code for it, and nothing is begun."""
        if problem := self.session.turns.not_taken(user_input):
            raise RpcError(NOT_TAKEN, f"{problem}; choose another model, or send text.")

    def _result(self, end: wire.TurnEnd) -> Json:
        if end.error is not None and end.stop_reason != "interrupted":
            data = {"kind": end.error.kind, "status": end.error.status, "retry_after": end.error.retry_after}
            raise RpcError(_CODES.get(end.error.kind, PROVIDER), end.error.message, data)
        if end.stop_reason in ("max_steps_reached", "repeated_calls"):
            return to_builtins(Prompted("max_steps_reached", self._steps))
        return to_builtins(Prompted("cancelled" if end.stop_reason in ("cancelled", "interrupted") else "finished"))

    # --- what the follower feeds --------------------------------------------------------------------------------------

    def feed(self, record: Record) -> None:
        """See `FollowerSink`."""
        if self._held is not None:
            self._held.append(record)
            return
        message = record.message
        if isinstance(message, REQUESTS):
            self._write(self._lines.flush())
            self._offer(message)
            return
        if isinstance(message, wire.StepBegin):
            self._steps = message.n
        self._write(self._lines.feed(record))
        if isinstance(message, _CLOSINGS) and self._requests.close(message.request_id):
            news = answered_elsewhere_notice(message, message.request_id)
            self._write(line(self._reader, news) if news is not None else b"")

    def feed_missed(self, record: Record) -> None:
        """See `FollowerSink`."""
        if not isinstance(record.message, REQUESTS):
            self.feed(record)

    def feed_history(self, record: Record) -> None:
        """See `FollowerSink`: nothing is shown before the client asks for it."""

    def learn(self, record: Record) -> None:
        """See `FollowerSink`: a line says all that is to be known of it."""

    def went_live(self) -> None:
        """See `FollowerSink`."""
        if self._held is None:
            for request in self.session.pending:
                self._offer(request)

    def _offer(self, request: wire.WireRequest) -> None:
        if not self._observes:
            self._requests.offer(request)

    def _write(self, lines: bytes) -> None:
        if lines:
            self._connection.write(lines, self.session.id)


class Replay:
    """The records of a session from one of them on, sent as they were said: events and requests, each message whole."""

    def __init__(
        self, session: SessionPort, connection: Connection, reader: WireReader, since: int, limit: int | None
    ) -> None:
        self._follower = session.follow(self, connection)
        self._connection = connection
        self._reader = reader
        self._since = max(1, since)
        self._limit = limit
        self._events = self._requests = 0
        self._next: int | None = None
        self._cancelled = False

    async def run(self) -> Json:
        """What `replay` answers, when all is sent."""
        try:
            await self._follower.show_history(self._since)
        finally:
            self._follower.end()
        status = "cancelled" if self._cancelled else "finished"
        following = self._next if self._limit is not None else UNSET
        return to_builtins(Replayed(status, self._events, self._requests, following))

    def cancel(self) -> None:
        """Send nothing more."""
        self._cancelled = True
        self._follower.end()

    def feed_history(self, record: Record) -> None:
        """See `FollowerSink`."""
        if self._next is not None:
            return
        if self._events + self._requests == self._limit:
            self._next = record.seq
            self._follower.end()
            return
        envelope = self._reader.envelope(record.message)
        if envelope is None:
            return
        said: Json = {"jsonrpc": "2.0", "method": "event", "params": envelope}
        if isinstance(record.message, REQUESTS):
            self._requests += 1
            said |= {"method": "request", "id": record.message.id}
        else:
            self._events += 1
        self._connection.write(encode(said))

    def feed_missed(self, record: Record) -> None:
        """See `FollowerSink`."""
        self.feed_history(record)

    def feed(self, record: Record) -> None:
        """See `FollowerSink`: what happens now is sent as it happens, by the session."""

    def learn(self, record: Record) -> None:
        """See `FollowerSink`."""

    def went_live(self) -> None:
        """See `FollowerSink`."""
