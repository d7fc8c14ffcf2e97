"""One session as one ACP client sees and drives it: what it is shown, its dialogs, its prompts.

Says in the protocol's words what a `SessionFollower` feeds; an answer to a prompt leaves after the last update of its
turn. It knows nothing of cursors, back-pressure or the journal.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any

from sould.acp.connection.clienttools import ClientTools
from sould.acp.connection.dialogs import Dialogs, answered
from sould.acp.connection.mcp_servers import ClientServers
from sould.acp.content import user_input
from sould.acp.features import SIGN_IN, Facts, Features, LiveState
from sould.acp.outbound import Json
from sould.acp.projection.projection import UpdatesV1
from sould.acp.schema import ContentBlock
from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import INTERNAL_ERROR, RpcError
from sould.agents.base.tasks import first_of
from sould.agents.clients.connections import AttachedSession
from sould.agents.journal.channel import Cursor, Record
from sould.agents.sessions.pendingprompts import PendingPrompts
from sould.agents.sessions.port import SessionPort
from sould.agents.sessions.turns.queueing import Edited
from sould.agents.sessions.turns.turns import INTERRUPTED, Prompt
from sould.agents.wire import messages as wire
from sould.agents.wire.content import TextPart, ThinkPart, input_text, typed_text

logger = logging.getLogger(__name__)

AUTH_REQUIRED = -32000
_STOP_REASONS: dict[wire.StopReason, str] = {
    "finished": "end_turn",
    "tool_rejected": "end_turn",
    "cancelled": "cancelled",
    "max_tokens": "max_tokens",
    "max_steps_reached": "max_turn_requests",
    "repeated_calls": "max_turn_requests",
    "refusal": "refusal",
}
_REQUESTS = (wire.ApprovalRequest, wire.QuestionRequest, wire.HookRequest, wire.ToolCallRequest)
_CLOSINGS = (wire.ApprovalResponse, wire.QuestionResponse, wire.HookResponse, wire.RequestClosed)


class Attachment:
    """Made with a live session; `begin` starts the updates, `end` stops them. The sink of its own follower."""

    def __init__(
        self,
        session: SessionPort,
        connection: Connection,
        client_id: str,
        features: Features,
        tools: ClientTools,
        *,
        missed_notifications: Sequence[Record] = (),
        servers: ClientServers,
        prompts: PendingPrompts,
    ) -> None:
        """`missed_notifications`: notices that this client is to be told first. `prompts`: those it still waits for."""
        self.session = session
        self._session_id = session.id
        self.servers = servers
        self._missed_notifications = () if features.sequence else missed_notifications
        self._connection = connection
        self._client_id = client_id
        self._features = features
        state = LiveState(lambda: session.queue.waiting, session.options.all, session.commands)
        self.updates = UpdatesV1(Facts(session.id, str(session.info.cwd), state), features, client_id)
        self._dialogs = Dialogs(
            connection, session, client_id, self.updates, features=features, cancel=self._cancelled_by_dialog
        )
        self._tools = tools
        self.prompts = prompts
        self._follower = session.follow(self, connection)
        self._remembered: tuple[object, object, AttachedSession] | None = None

    # --- life -------------------------------------------------------------------------------------------------------

    @property
    def cursor(self) -> Cursor:
        """The first thing this client has not been sent."""
        return self._follower.cursor

    @property
    def remembered(self) -> AttachedSession:
        """What the next daemon must know of it. Asked for with every write to the client, of all its sessions.

        Made anew when the client was sent something, or something of the session itself has changed.
        """
        place, info = self._follower.place, self.session.info
        known = self._remembered
        if known is None or known[0] is not place or known[1] is not info:
            cursor, servers = self._follower.cursor, self.servers
            added = tuple(map(str, info.additional))
            session = AttachedSession(str(info.cwd), added, cursor.seq, cursor.offset, servers.served, servers.names)
            known = self._remembered = (place, info, session)
        return known[2]

    @property
    def place(self) -> Json:
        """Where this client stands, for the answer that shows it the session; nothing where it does not ask."""
        return {"sequence": self.session.position.number} if self._features.sequence else {}

    @property
    def at_rest(self) -> bool:
        """All that was said in the session was sent."""
        return self._follower.at_rest

    async def at_rest_again(self) -> None:
        """Return when it was."""
        await self._follower.shown()

    def introduce_again(self) -> None:
        """Another surface of the same client shows the session from now on, too."""
        self._introduce()

    @property
    def shared(self) -> bool:
        """Several surfaces of the client may show it: what each of them has, it knows by places."""
        return self._features.sequence

    async def show_history(self) -> None:
        """Send the whole conversation so far, as fast as the client takes it, and how the session stands.

        The client has caught up when this returns: nothing more belongs to what `session/load` answers.
        """
        await self._follower.show_history()
        self._write(self.updates.end_history())
        if not self._features.notices:
            self._missed_notifications = ()  # they stood in it, as words
        self._introduce()

    async def look_back(self) -> None:
        """Learn what is open in the session and how it stands, without sending anything."""
        usage = self.session.usage
        if usage is not None:
            self.updates.status.learn(usage)
        if self.session.turns.running or self.session.pending:
            await self._follower.look_back()

    async def catch_up(self, cursor: Cursor) -> None:
        """Send what came after `cursor`, as it would have been sent live."""
        self._missed_notifications = ()
        await self._follower.catch_up(cursor)

    def begin(self, *, introduce: bool = True, open_calls: bool = False) -> None:
        """From now on the client sees everything. Synchronous: nothing is published between the last replay and this."""
        self._follower.go_live()
        if introduce:
            self._introduce()
        if open_calls:
            self._write(self.updates.open_calls())

    def _offer(self, request: wire.WireRequest) -> None:
        if isinstance(request, wire.ToolCallRequest):
            self._tools.offer(self.session, request)
        else:
            self._dialogs.offer(request)

    def _introduce(self) -> None:
        self._write(self.updates.introduction(self.session.info.title, self.session.info.updated))
        self._write(self.updates.turn(running=self.session.turns.running))
        for record in self._missed_notifications:
            self._write(self.updates.feed(record))
        self._missed_notifications = ()

    def begin_again(self) -> None:
        """`begin` for a client that an earlier daemon served."""
        self.begin(introduce=False)
        self._write(self.updates.options())
        self._write(self.updates.turn(running=self.session.turns.running))
        if self._features.tools:
            self._connection.notify("_sould/tools/forgotten", {"sessionId": self.session.id})

    def end(self, successor: "Attachment | None" = None) -> None:
        """No more updates; dialogs close. Prompts without an answer are the successor's to answer, or cancelled."""
        self._dialogs.close_all()
        self._follower.end(successor._follower if successor is not None else None)
        if successor is not None:
            successor.updates.go_on(self.updates)
        else:
            self._tools.keep(self.session.id, ())
            self.prompts.cancel()

    # --- prompts ----------------------------------------------------------------------------------------------------

    def ask(self, blocks: Sequence[ContentBlock]) -> Prompt:
        """Take a prompt, or the answer to what was asked in words, which is its turn's. Synchronous, so that a cancel finds it."""
        given = user_input(blocks)
        if self._dialogs.in_words.is_set() and self.session.turns.running:
            self._dialogs.say(typed_text(given) or input_text(given))
            prompt = self.session.turns.prompts[0]
        else:
            prompt = self.session.turns.prompt(given, self._client_id)
        self.prompts.add(prompt)
        return prompt

    async def point(self, call_id: str, path: str, line: int) -> bool:
        """Say that an open call is at this place now, to this client; False: it was told of no such call."""
        await self._follower.shown()
        lines = self.updates.points(call_id, path, line)
        self._write(lines)
        return bool(lines)

    def tell(self, sentence: str) -> None:
        """Something about the client, to it alone; nothing when it is empty."""
        if sentence:
            self._write(self.updates.aside(sentence, f"c{self._client_id}"))

    async def answer(self, prompt: Prompt) -> Json:
        """The answer to a prompt, when its turn has ended and all of it was shown.

        For the client also a question asked in words ends it, because only then the user can type.
        """
        self.prompts.add(prompt)
        try:
            end = await self._end_or_question(prompt)
            await self._follower.shown()
        except asyncio.CancelledError:
            if not self._connection.gone:  # withdrawn by the client; a client that vanished leaves the turn running
                self.session.turns.cancel(self._client_id)
            raise
        finally:
            self.prompts.discard(prompt)
        return self._result(end)

    def answer_again(self, turn_id: str) -> Coroutine[Any, Any, Json]:
        """The answer to a prompt that an earlier daemon left without one: its turn goes on (D16), has ended, or never began.

        Synchronous up to taking it, so that prompts stay in the order in which they came.
        """
        return self._answer_again(self.prompts.take_up(turn_id, self.session.turns.resumed))

    async def _answer_again(self, prompt: Prompt) -> Json:
        try:
            if not prompt.resumes:
                prompt.settle(await self.session.end_of(prompt.turn_id))
            return await self.answer(prompt)
        finally:
            self.prompts.discard(prompt)

    def _result(self, end: wire.TurnEnd) -> Json:
        """Being interrupted is no failure: the conversation says what happened, and the turn is over.

        A client that keeps to what is kept finds it there, as the end of the turn.
        """
        if end.stop_reason != "interrupted":
            return prompt_result(end, signs_in=self._features.signs_in)
        told = end.error.message if end.error else INTERRUPTED
        if not self._features.sequence:
            self._write(self.updates.aside(told, f"t{end.turn_id}"))
        return {"stopReason": "cancelled", "_meta": {"sould": {"kind": "interrupted", "details": told}}}

    async def _end_or_question(self, prompt: Prompt) -> wire.TurnEnd:
        ended = await first_of(prompt.outcome(), self._asked_during(prompt))
        return ended if ended is not None else wire.TurnEnd(turn_id=prompt.turn_id)

    async def _asked_during(self, prompt: Prompt) -> None:
        """Prompts of this client that wait are not at an end with it."""
        await self._dialogs.in_words.wait()
        if prompt not in self.session.turns.prompts[:1]:
            await asyncio.get_running_loop().create_future()

    def steer(self, blocks: Sequence[ContentBlock]) -> bool:
        """More input for the running turn; False when none runs."""
        given = user_input(blocks)
        if not self.session.turns.steer(given):
            return False
        self.updates.expect_steer(given)
        return True

    def edit_waiting(self, prompt_id: str, blocks: Sequence[ContentBlock]) -> Edited:
        """Give a prompt that waits another content."""
        return self.session.queue.edit(prompt_id, user_input(blocks))

    def _cancelled_by_dialog(self) -> None:
        """Only the client whose turn it is can say that it was cancelled (D12)."""
        if self.prompts:
            self.session.turns.cancel(self._client_id)

    # --- what the follower feeds ------------------------------------------------------------------------------------

    def feed(self, record: Record) -> None:
        """See `FollowerSink`."""
        lines = self.updates.feed(record)
        message = record.message
        if type(message) is TextPart or type(message) is ThinkPart:
            if lines:
                self._connection.write(lines, self._session_id)
            return
        if lines:
            self._connection.write(lines)
        if isinstance(message, _REQUESTS):
            self._offer(message)
        else:
            self._close_dialogs(message)

    def feed_missed(self, record: Record) -> None:
        """See `FollowerSink`."""
        self._write(self.updates.end_history())
        self._write(self.updates.feed(record))
        self._close_dialogs(record.message)

    def feed_history(self, record: Record) -> None:
        """See `FollowerSink`."""
        self._write(self.updates.feed_history(record))

    def learn(self, record: Record) -> None:
        """See `FollowerSink`."""
        self.updates.learn(record)

    def went_live(self) -> None:
        """See `FollowerSink`."""
        self.updates.calls.miss()
        pending = self.session.pending
        self._tools.keep(self.session.id, {request.id for request in pending})
        for request in pending:
            self._offer(request)

    def _close_dialogs(self, message: wire.WireMessage) -> None:
        if isinstance(message, _CLOSINGS):
            self._dialogs.close(message.request_id, answered(message))
            self._tools.close(message.request_id)
        elif isinstance(message, wire.TurnEnd):
            self._dialogs.end_of_turn()

    def _write(self, lines: bytes) -> None:
        if lines:
            self._connection.write(lines)


def prompt_result(end: wire.TurnEnd, *, signs_in: bool) -> Json:
    """The answer to `session/prompt`. A client that cannot be asked to sign in (`signs_in`) was told in the conversation what to do.

    Raises:
        RpcError: the turn failed; `data` says how (D17).
    """
    reason = _STOP_REASONS.get(end.stop_reason)
    if reason is not None and end.error is None:
        failed: Json = {"_meta": {"sould": {"kind": "command_failed"}}} if end.failed else {}
        return {"stopReason": reason, **failed}
    error = end.error or wire.TurnError(kind="internal", message="The turn ended without a reason; see `sould logs`.")
    data: Json = {"kind": SIGN_IN.get(error.kind, error.kind), "details": error.message}
    if error.kind in SIGN_IN and not signs_in:
        return {"stopReason": "end_turn", "_meta": {"sould": data}}
    if error.status is not None:
        data["status"] = error.status
    if error.retry_after is not None:
        data["retryAfter"] = error.retry_after
    raise RpcError(AUTH_REQUIRED if error.kind in SIGN_IN else INTERNAL_ERROR, error.message, data)
