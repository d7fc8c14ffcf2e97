"""One session as one ACP client sees and drives it: what it is shown, its dialogs, its prompts.

Says in the protocol's words what a `SessionFollower` feeds. It knows nothing of cursors, back-pressure or the journal.
"""

from collections.abc import Sequence

from sould.acp.connection.clienttools import ClientTools
from sould.acp.connection.dialogs import Dialogs
from sould.acp.connection.mcp_servers import ClientServers
from sould.acp.connection.prompts import AttachedPrompts
from sould.acp.features import Facts, Features, LiveState
from sould.acp.outbound import Json
from sould.acp.projection.projection import UpdatesV1
from sould.agents.base.rpc.connection import Connection
from sould.agents.clients.connections import AttachedSession
from sould.agents.journal.channel import Cursor, Record
from sould.agents.sessions.pendingprompts import PendingPrompts
from sould.agents.sessions.port import SessionPort
from sould.agents.wire import messages as wire
from sould.agents.wire.content import TextPart, ThinkPart
from sould.agents.wire.notice import describe_answer

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
        pending: PendingPrompts,
    ) -> None:
        """`missed_notifications`: notices that this client is to be told first. `pending`: prompts it still waits for."""
        self.session = session
        self._session_id = session.id
        self.servers = servers
        self._missed_notifications = () if features.sequence else missed_notifications
        self._connection = connection
        self._client_id = client_id
        self._features = features
        state = LiveState(lambda: session.queue.waiting, session.options.all, session.commands.all)
        self.updates = UpdatesV1(Facts(session.id, str(session.info.cwd), state), features, client_id)
        self._dialogs = Dialogs(
            connection, session, client_id, self.updates, features=features, cancel=self._cancelled_by_dialog
        )
        self._tools = tools
        self.follower = session.follow(self, connection)
        """What feeds it, and how far."""
        self.prompts = AttachedPrompts(
            session, connection, client_id, features, self.updates, self._dialogs, self.follower.shown, pending=pending
        )
        self._remembered: tuple[object, object, AttachedSession] | None = None

    # --- life -------------------------------------------------------------------------------------------------------

    @property
    def remembered(self) -> AttachedSession:
        """What the next daemon must know of it. Asked for with every write to the client, of all its sessions.

        Made anew when the client was sent something, or something of the session itself has changed.
        """
        place, info = self.follower.place, self.session.info
        known = self._remembered
        if known is None or known[0] is not place or known[1] is not info:
            cursor, servers = self.follower.cursor, self.servers
            added = tuple(map(str, info.additional))
            session = AttachedSession(str(info.cwd), added, cursor.seq, cursor.offset, servers.served, servers.names)
            known = self._remembered = (place, info, session)
        return known[2]

    @property
    def place(self) -> Json:
        """Where this client stands, for the answer that shows it the session; nothing where it does not ask."""
        return {"sequence": self.session.position.number} if self._features.sequence else {}

    @property
    def shared(self) -> bool:
        """Several surfaces of the client may show it: what each of them has, it knows by places."""
        return self._features.sequence

    async def show_history(self) -> None:
        """Send the whole conversation so far, as fast as the client takes it, and how the session stands.

        The client has caught up when this returns: nothing more belongs to what `session/load` answers.
        """
        await self.follower.show_history()
        self._write(self.updates.end_history())
        if not self._features.notices:
            self._missed_notifications = ()  # they stood in it, as words
        self.introduce()

    async def look_back(self) -> None:
        """Learn what is open in the session and how it stands, without sending anything."""
        usage = self.session.usage
        if usage is not None:
            self.updates.status.learn(usage)
        if self.session.turns.running or self.session.pending:
            await self.follower.look_back()

    async def catch_up(self, cursor: Cursor) -> None:
        """Send what came after `cursor`, as it would have been sent live."""
        self._missed_notifications = ()
        await self.follower.catch_up(cursor)

    def begin(self, *, introduce: bool = True, open_calls: bool = False) -> None:
        """From now on the client sees everything. Synchronous: nothing is published between the last replay and this."""
        self.follower.go_live()
        if introduce:
            self.introduce()
        if open_calls:
            self._write(self.updates.open_calls())

    def _offer(self, request: wire.WireRequest) -> None:
        if isinstance(request, wire.ToolCallRequest):
            self._tools.offer(self.session, request)
        else:
            self._dialogs.offer(request)

    def introduce(self) -> None:
        """Say how the session stands; again, when another surface of the same client shows it, too."""
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
        self.follower.end(successor.follower if successor is not None else None)
        if successor is not None:
            successor.updates.go_on(self.updates)
        else:
            self._tools.keep(self.session.id, ())
            self.prompts.pending.cancel()

    # --- beside the conversation ------------------------------------------------------------------------------------

    async def point(self, call_id: str, path: str, line: int) -> bool:
        """Say that an open call is at this place now, to this client; False: it was told of no such call."""
        await self.follower.shown()
        lines = self.updates.points(call_id, path, line)
        self._write(lines)
        return bool(lines)

    def tell(self, sentence: str) -> None:
        """Something about the client, to it alone; nothing when it is empty."""
        if sentence:
            self._write(self.updates.aside(sentence, f"c{self._client_id}"))

    def _cancelled_by_dialog(self) -> None:
        """Only the client whose turn it is can say that it was cancelled (D12)."""
        if self.prompts.pending:
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
        self.updates.miss()
        pending = self.session.pending
        self._tools.keep(self.session.id, {request.id for request in pending})
        for request in pending:
            self._offer(request)

    def _close_dialogs(self, message: wire.WireMessage) -> None:
        if isinstance(message, _CLOSINGS):
            self._dialogs.close(message.request_id, describe_answer(message))
            self._tools.close(message.request_id)
        elif isinstance(message, wire.TurnEnd):
            self._dialogs.end_of_turn()

    def _write(self, lines: bytes) -> None:
        if lines:
            self._connection.write(lines)
