"""One session as one ACP client sees and drives it: its subscription, its dialogs, its prompts.

Everything is pushed in the order of the stream; an answer to a prompt leaves after the last update of its turn. While
the client reads too slowly the channel holds back; a client that fell behind the channel's bound goes on from disk.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence

from sould.acp.clienttools import ClientTools
from sould.acp.content import user_input
from sould.acp.dialogs import Dialogs, answered
from sould.acp.features import Facts, Features
from sould.acp.outbound import Json
from sould.acp.projection import UpdatesV1
from sould.acp.schema import ClientCapabilities, ContentBlock
from sould.agents.opening.opening import McpServer
from sould.agents.rpc.connection import Connection
from sould.agents.rpc.errors import INTERNAL_ERROR, RpcError
from sould.agents.sessionlog.channel import Cursor, Record, Subscription
from sould.agents.sessions.session import Session
from sould.agents.turns.turns import INTERRUPTED, Prompt, not_begun
from sould.agents.wire import messages as wire
from sould.agents.wire.content import TextPart, ThinkPart, input_text

logger = logging.getLogger(__name__)

AUTH_REQUIRED = -32000
_SIGN_IN = {"no_model": "no_model", "auth_required": "auth"}
"""Kinds of errors that signing in mends, and what clients and programs call them (D17)."""
YIELD_EVERY = 200
"""Replayed records between two looks at the rest of the daemon."""
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
    """Made with a live session; `begin` starts the updates, `end` stops them."""

    def __init__(
        self,
        session: Session,
        connection: Connection,
        client_id: str,
        capabilities: ClientCapabilities,
        tools: ClientTools,
        missed_notifications: Sequence[Record] = (),
        *,
        names: bool = True,
    ) -> None:
        """`missed_notifications`: notices that this client is to be told first. `names`: see `Features`."""
        self.session = session
        self.missed_notifications = missed_notifications
        self.served: tuple[tuple[str, str], ...] = ()
        """The MCP servers its client serves itself: name and id."""
        self.brought: tuple[McpServer, ...] = ()
        """The others it brought to the session."""
        self.missed: tuple[str, ...] = ()
        """Those it had brought to a daemon that was killed."""
        self._connection = connection
        self._client_id = client_id
        features = Features(
            notices=capabilities.session.notices is not None,
            compaction=capabilities.session.compaction is not None,
            terminals=capabilities.display_terminals,
            forms=capabilities.elicitation.form is not None,
            names=names,
            pages=capabilities.elicitation.url is not None,
            queue=capabilities.own.queue,
            custom=capabilities.own.custom,
            own_turns=capabilities.own.own_turns,
        )
        facts = Facts(session.id, str(session.info.cwd), session.options.all, session.commands, lambda: session.queue)
        self._features = features
        self._offers_tools = capabilities.own.tools
        self.updates = UpdatesV1(facts, features, client_id)
        self._dialogs = Dialogs(
            connection, session, client_id, self.updates, features=features, cancel=self._cancelled_by_dialog
        )
        self._tools = tools
        self._prompts: dict[Prompt, None] = {}
        """What the client asked for and was not answered, in the order in which it came."""
        self._successor: Attachment | None = None
        self._subscription: Subscription | None = None
        self._cursor = session.log.channel.position
        self._flowing = asyncio.Event()
        """Set while everything published has been written."""

    # --- life -------------------------------------------------------------------------------------------------------

    @property
    def cursor(self) -> Cursor:
        """The first thing this client has not been sent."""
        return self._subscription.cursor if self._subscription else self._cursor

    async def show_history(self) -> None:
        """Send the whole conversation so far, as fast as the client takes it, and how the session stands.

        The client has caught up when this returns: nothing more belongs to what `session/load` answers.
        """
        await self._replay(None, show=True)
        if not self._features.notices:
            self.missed_notifications = ()  # they stood in it, as words
        self._introduce()

    async def look_back(self) -> None:
        """Learn what is open in the session and how it stands, without sending anything."""
        usage = self.session.usage
        if usage is not None:
            self.updates.status.learn(usage)
        if self.session.running or self.session.log.channel.pending:
            await self._replay(None, show=False)

    async def catch_up(self, cursor: Cursor) -> None:
        """Send what came after `cursor`, as it would have been sent live."""
        self.missed_notifications = ()
        await self._replay(None, show=False, until=cursor)
        await self._replay(cursor, show=True, history=False)

    def begin(self, *, introduce: bool = True, open_calls: bool = False) -> None:
        """From now on the client sees everything. Synchronous: nothing is published between the last replay and this."""
        channel = self.session.log.channel
        self._subscription = channel.subscribe(self._sink, on_cut=self._on_cut)
        self.updates.calls.miss()
        self._flowing.set()
        if introduce:
            self._introduce()
        if open_calls:
            self._write(self.updates.open_calls())
        self._tools.keep(self.session.id, {request.id for request in channel.pending})
        for request in channel.pending:
            self._offer(request)

    def _offer(self, request: wire.WireRequest) -> None:
        if isinstance(request, wire.ToolCallRequest):
            self._tools.offer(self.session, request)
        else:
            self._dialogs.offer(request)

    def _introduce(self) -> None:
        self._write(self.updates.introduction(self.session.info.title, self.session.info.updated))
        for record in self.missed_notifications:
            self._write(self.updates.feed(record))
        self.missed_notifications = ()

    def begin_again(self) -> None:
        """`begin` for a client that an earlier daemon served."""
        self.begin(introduce=False)
        self._write(self.updates.options())
        if self._offers_tools:
            self._connection.notify("_sould/tools/forgotten", {"sessionId": self.session.id})

    def end(self, successor: "Attachment | None" = None) -> None:
        """No more updates; dialogs close. Prompts without an answer are the successor's to answer, or cancelled."""
        if self._subscription is not None:
            self._cursor = self._subscription.cursor
            self._subscription.close()
            self._subscription = None
        self._dialogs.close_all()
        self._flowing.set()
        self._successor = successor
        if successor is not None:
            successor._prompts.update(self._prompts)
            return
        self._tools.keep(self.session.id, ())
        for prompt in tuple(self._prompts):
            prompt.settle(wire.TurnEnd(turn_id=prompt.turn_id, stop_reason="cancelled"))

    # --- prompts ----------------------------------------------------------------------------------------------------

    @property
    def turns(self) -> list[str]:
        """The turns of the prompts that are not answered, in the order in which these came."""
        return [prompt.turn_id for prompt in self._prompts]

    def ask(self, blocks: Sequence[ContentBlock]) -> Prompt:
        """Take a prompt, or the answer to what was asked in words, which is its turn's. Synchronous, so that a cancel finds it (F33)."""
        given = user_input(blocks)
        if self._dialogs.in_words.is_set() and self.session.running:
            self._dialogs.say(input_text(given))
            prompt = self.session.prompts[0]
        else:
            prompt = self.session.prompt(given, self._client_id)
        self._prompts[prompt] = None
        return prompt

    def tell(self, sentence: str) -> None:
        """Something about the client, to it alone; nothing when it is empty."""
        if sentence:
            self._write(self.updates.aside(sentence, f"c{self._client_id}"))

    async def answer(self, prompt: Prompt) -> Json:
        """The answer to a prompt, when its turn has ended and all of it was shown.

        For the client also a question asked in words ends it, because only then the user can type.
        """
        self._prompts[prompt] = None
        try:
            end = await self._end_or_question(prompt)
            await self._shown()
        except asyncio.CancelledError:
            if not self._connection.gone:  # withdrawn by the client; a client that vanished leaves the turn running
                self.session.cancel(self._client_id)
            raise
        finally:
            for attachment in self._line():
                attachment._prompts.pop(prompt, None)
        return self._result(end)

    async def answer_again(self, turn_id: str) -> Json:
        """The answer to a prompt that an earlier daemon left without one: its turn goes on (D16), has ended, or never began."""
        resumed = self.session.resumed
        if resumed is not None and resumed.turn_id == turn_id:
            return await self.answer(resumed)
        for number, record in enumerate(self.session.log.replay(), 1):
            if isinstance(record.message, wire.TurnEnd) and record.message.turn_id == turn_id:
                return self._result(record.message)
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
        return self._result(not_begun(turn_id))

    def _result(self, end: wire.TurnEnd) -> Json:
        """Being interrupted is no failure: the conversation says what happened, and the turn is over."""
        if end.stop_reason != "interrupted":
            return prompt_result(end)
        told = end.error.message if end.error else INTERRUPTED
        self._write(self.updates.aside(told, f"t{end.turn_id}"))
        return {"stopReason": "cancelled", "_meta": {"sould": {"kind": "interrupted", "details": told}}}

    async def _end_or_question(self, prompt: Prompt) -> wire.TurnEnd:
        ended, asked = asyncio.ensure_future(prompt.outcome()), asyncio.ensure_future(self._asked_during(prompt))
        try:
            await asyncio.wait((ended, asked), return_when=asyncio.FIRST_COMPLETED)
            return ended.result() if ended.done() else wire.TurnEnd(turn_id=prompt.turn_id)
        finally:
            ended.cancel()
            asked.cancel()

    async def _asked_during(self, prompt: Prompt) -> None:
        """Prompts of this client that wait are not at an end with it."""
        await self._dialogs.in_words.wait()
        if prompt not in self.session.prompts[:1]:
            await asyncio.get_running_loop().create_future()

    def _line(self) -> "Iterator[Attachment]":
        """This and those that took its place: the client may load a session again in which its own turn runs."""
        attachment: Attachment | None = self
        while attachment is not None:
            yield attachment
            attachment = attachment._successor

    async def _shown(self) -> None:
        """Everything published has been written to the client."""
        for attachment in self._line():
            await attachment._flowing.wait()

    def steer(self, blocks: Sequence[ContentBlock]) -> bool:
        """More input for the running turn; False when none runs."""
        given = user_input(blocks)
        if not self.session.steer(given):
            return False
        self.updates.expect_steer(given)
        return True

    def edit_waiting(self, prompt_id: str, blocks: Sequence[ContentBlock]) -> bool:
        """Give a prompt that waits another content; False when it does not wait."""
        return self.session.waiting.edit(prompt_id, user_input(blocks))

    def _cancelled_by_dialog(self) -> None:
        """Only the client whose turn it is can say that it was cancelled (D12)."""
        if self._prompts:
            self.session.cancel(self._client_id)

    # --- the stream -------------------------------------------------------------------------------------------------

    def _sink(self, record: Record) -> bool:
        lines = self.updates.feed(record)
        if lines:
            self._connection.write(lines)
        message = record.message
        if type(message) is TextPart or type(message) is ThinkPart:
            return self._go_on_or_hold()
        if isinstance(message, _REQUESTS):
            self._offer(message)
        elif isinstance(message, _CLOSINGS):
            self._dialogs.close(message.request_id, answered(message))
            self._tools.close(message.request_id)
        elif isinstance(message, wire.TurnEnd):
            self._dialogs.end_of_turn()
        return self._go_on_or_hold()

    def _go_on_or_hold(self) -> bool:
        if not self._connection.congested:
            return True
        self._flowing.clear()
        self._connection.on_drain(self._resume)
        return False

    def _resume(self) -> None:
        if self._subscription is not None:
            self._flowing.set()
            self._subscription.resume()  # may hold again

    def _on_cut(self, cursor: Cursor) -> None:
        """Too far behind: go on from disk once the client has taken what it has (F37)."""
        logger.info("session %s: the client is too far behind and will go on from the journal", self.session.id)
        self._cursor = cursor
        self._subscription = None
        self._flowing.clear()
        self._connection.on_drain(self._return_from_cut)

    def _return_from_cut(self) -> None:
        if not self._connection.gone:
            self._connection.spawn(self._go_on(), f"catch up {self.session.id}")

    async def _go_on(self) -> None:
        await self._replay(self._cursor, show=True, history=False)
        self.begin(introduce=False)

    async def _replay(
        self, since: Cursor | None, *, show: bool, history: bool = True, until: Cursor | None = None
    ) -> None:
        self.updates.replaying = history
        opened = self._cursor.seq
        for number, record in enumerate(self.session.log.replay(since), 1):
            if until is not None and Cursor(record.seq) >= until:
                break
            if record.seq >= opened:
                self.updates.replaying = False  # it happened while the session was opened for this client
            lines = self.updates.feed(record)
            if show and lines:
                self._connection.write(lines)
            if self._connection.congested:
                await self._connection.drained()
            elif number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
        self.updates.replaying = False

    def _write(self, lines: bytes) -> None:
        if lines:
            self._connection.write(lines)


def prompt_result(end: wire.TurnEnd) -> Json:
    """The answer to `session/prompt`.

    Raises:
        RpcError: the turn failed; `data` says how (D17).
    """
    reason = _STOP_REASONS.get(end.stop_reason)
    if reason is not None and end.error is None:
        return {"stopReason": reason}
    error = end.error or wire.TurnError(kind="internal", message="The turn ended without a reason; see `sould logs`.")
    data: Json = {"kind": _SIGN_IN.get(error.kind, error.kind), "details": error.message}
    if error.status is not None:
        data["status"] = error.status
    if error.retry_after is not None:
        data["retryAfter"] = error.retry_after
    raise RpcError(AUTH_REQUIRED if error.kind in _SIGN_IN else INTERNAL_ERROR, error.message, data)
