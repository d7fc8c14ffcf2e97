"""One session as an editor window sees it: its turns as progress, what it asks, and what it said in the end.

The sink of its own follower; knows nothing of cursors, back-pressure or the journal.
"""

import asyncio
from contextlib import ExitStack
from typing import Final

from lsprotocol import types

from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.clients.connections import AttachedSession
from sould.agents.journal.channel import Cursor, Record
from sould.agents.sessions.port import SessionPort
from sould.agents.tools.editor.site import SHARED
from sould.agents.wire import messages as wire
from sould.agents.wire.content import TextPart
from sould.agents.wire.display import BriefBlock
from sould.editors.lsp.connection import EditorConnection
from sould.editors.lsp.dialogs import EditorDialogs
from sould.editors.lsp.words import tell

PREFIX: Final = "sould-"


class TurnProgress:
    """A running turn as work in progress, which the editor's user can cancel; shown from `begin` to `end`. Its token is the turn's."""

    def __init__(self, client: EditorConnection, turn_id: str) -> None:
        self._client = client
        self._token = PREFIX + turn_id
        self._said = ""
        self._over = False
        self._news = asyncio.Event()

    def begin(self, title: str) -> None:
        """Show it."""
        self._client.connection.spawn(self._show(title), "turn progress")

    def take_up(self) -> None:
        """It is shown: an earlier daemon began it."""
        self._client.connection.spawn(self._follow(), "turn progress")

    def say(self, message: str) -> None:
        """What happens now."""
        self._said = message
        self._news.set()

    def end(self, message: str) -> None:
        """The turn is over."""
        self._said, self._over = message, True
        self._news.set()

    async def _show(self, title: str) -> None:
        try:
            await self._client.lsp.window_work_done_progress_create_async(
                types.WorkDoneProgressCreateParams(self._token)
            )
        except (RpcError, ConnectionGoneError):
            return
        self._tell(types.WorkDoneProgressBegin(title=title, cancellable=True))
        await self._follow()

    async def _follow(self) -> None:
        while not self._over:
            await self._news.wait()
            self._news.clear()
            if not self._over:
                self._tell(types.WorkDoneProgressReport(cancellable=True, message=self._said))
        self._tell(types.WorkDoneProgressEnd(message=self._said))

    def _tell(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        self._client.lsp.progress(types.ProgressParams(self._token, value))


_CLOSINGS = (wire.ApprovalResponse, wire.QuestionResponse, wire.RequestClosed)


class EditorAttachment:
    """Made with a live session; `begin` or `go_on` starts it, `end` stops it."""

    def __init__(self, client: EditorConnection, session: SessionPort) -> None:
        self.session = session
        self._client = client
        self.dialogs = EditorDialogs(client, session)
        self._watching = ExitStack()
        """Who else looks at it."""
        self._watching.enter_context(session.clients.watched(self.dialogs.clients_changed))
        self._follower = session.follow(self, client.connection)
        self.turn_id = ""
        """The turn that runs, as far as the editor was told."""
        self._progress: TurnProgress | None = None
        self._said: list[str] = []
        """What the agent said in this step."""
        self._sharing: set[str] = set()
        """The calls that tell the agent what the user has open: its user is told what that was."""
        self._mine: set[str] = set()
        """Turns that were asked for here."""

    @property
    def remembered(self) -> AttachedSession:
        """What the next daemon must know of it."""
        cursor = self._follower.cursor
        return AttachedSession(str(self.session.info.cwd), (), cursor.seq, cursor.offset)

    def begin(self) -> None:
        """From now on the editor is told what happens."""
        self._follower.go_live()

    async def go_on(self, cursor: Cursor) -> None:
        """As an earlier daemon left it."""
        await self._follower.catch_up(cursor)
        self._follower.go_live()

    def end(self) -> None:
        """Nothing more is told or asked."""
        self._watching.close()
        self.dialogs.close_all()
        self._follower.end()

    def prompt(self, text: str) -> str:
        """Ask for a turn, by the id of which its end is told. Synchronous, so that a cancel finds it."""
        prompt = self.session.turns.prompt(text, self._client.id)
        self._mine.add(prompt.turn_id)
        return prompt.turn_id

    # --- what the follower feeds ------------------------------------------------------------------------------------

    def feed(self, record: Record) -> None:
        """See `FollowerSink`."""
        message = record.message
        if isinstance(message, TextPart):
            self._said.append(message.text)
        elif isinstance(message, wire.ApprovalRequest | wire.QuestionRequest):
            self.dialogs.offer(message)
        elif isinstance(message, _CLOSINGS):
            self.dialogs.close(message.request_id)
        else:
            self._follow_turn(message)

    def feed_missed(self, record: Record) -> None:
        """See `FollowerSink`."""
        message = record.message
        if isinstance(message, wire.ApprovalRequest | wire.QuestionRequest):
            return  # what is still pending is offered by `went_live`
        self.feed(record)

    def feed_history(self, record: Record) -> None:
        """See `FollowerSink`: nobody asks for it here."""

    def learn(self, record: Record) -> None:
        """See `FollowerSink`."""
        message = record.message
        if isinstance(message, wire.TurnBegin):
            self.turn_id, self._said = message.turn_id, []
            if message.client_id == self._client.id:
                self._mine.add(message.turn_id)
            self._progress = TurnProgress(self._client, message.turn_id) if self._client.can.progress else None
        elif isinstance(message, TextPart):
            self._said.append(message.text)
        elif isinstance(message, wire.TurnEnd):
            self._progress = None

    def went_live(self) -> None:
        """See `FollowerSink`."""
        if self._progress is not None:
            self._progress.take_up()
        for request in self.session.pending:
            self.dialogs.offer(request)

    def _follow_turn(self, message: wire.WireMessage) -> None:
        match message:
            case wire.TurnBegin():
                self.turn_id, self._said, self._sharing = message.turn_id, [], set()
                if self._client.can.progress and not message.command:
                    self._progress = TurnProgress(self._client, message.turn_id)
                    self._progress.begin("sould")
            case wire.StepBegin():
                self._said = []
            case wire.ToolCall():
                if message.function.name in SHARED:
                    self._sharing.add(message.id)
                if self._progress is not None:
                    self._progress.say(message.function.name)
            case wire.ToolResult() if message.tool_call_id in self._sharing:
                self._sharing.remove(message.tool_call_id)
                for block in message.return_value.display:
                    if isinstance(block, BriefBlock):
                        tell(self._client, "info", block.text)
            case wire.TurnEnd():
                self._end_turn(message)
            case _:
                pass

    def _end_turn(self, end: wire.TurnEnd) -> None:
        self.dialogs.close_all()
        if self._progress is not None:
            self._progress.end(end.stop_reason.replace("_", " "))
            self._progress = None
        if end.turn_id in self._mine:
            self._mine.discard(end.turn_id)
            text = "".join(self._said).strip()
            if end.error is not None:
                tell(self._client, "error", end.error.message)
            elif text:
                tell(self._client, "info", text)
