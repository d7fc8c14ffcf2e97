"""Wire projected to `session/update` of protocol version 1: records in, JSON lines out.

Pure: it writes nothing, asks nobody and waits for nothing, so that protocol version 2 can be a second class of the same
kind over the same stream. It never invents: whatever is shown stood in the stream. Here is the table of all messages,
and what depends on whose turn it is; each family of updates has a module beside.
"""

from collections.abc import Iterator
from typing import TypeAlias, assert_never

import orjson
from msgspec import structs

from sould.acp.content import (
    END,
    TextChunks,
    beside,
    block,
    chunk,
    input_blocks,
    numbered,
    text_block,
    update_line,
    user_chunks,
)
from sould.acp.features import SIGN_IN, Facts, Features, LiveState
from sould.acp.outbound import Json
from sould.acp.projection.calls import ShownCalls
from sould.acp.projection.notices import STOPPED, Notices, ShownPlan, ShownQueue, custom_in, custom_line, restored
from sould.acp.projection.status import SessionStatus
from sould.acp.projection.subagents import ShownSubagents
from sould.agents.journal.channel import Record
from sould.agents.wire import messages as wire
from sould.agents.wire.content import AudioPart, ImagePart, TextPart, ThinkPart, UserInput, VideoPart
from sould.agents.wire.display import TodoBlock
from sould.agents.wire.notice import ANSWER

BesideTurns: TypeAlias = (
    wire.CompactionBegin | wire.CompactionEnd | wire.StepRetry | wire.Notification | wire.HookResolved
)
"""What happens beside the conversation."""
_ABOUT_NO_TURN = (
    wire.Notification,
    wire.PromptQueued,
    wire.SessionChanged,
    wire.StatusUpdate,
    wire.BtwBegin,
    wire.BtwEnd,
)
_OF_CALLS = (
    wire.ToolCall,
    wire.ToolCallPart,
    wire.ToolCallDetail,
    wire.CommandBegin,
    wire.ToolOutput,
    wire.ToolResult,
    wire.SubagentEvent,
    wire.ApprovalRequest,
    wire.ApprovalResponse,
    wire.QuestionRequest,
    wire.QuestionResponse,
    wire.RequestClosed,
    wire.TurnEnd,
)
"""What `ShownCalls` puts in order itself."""
_OFTEN = (wire.ToolCall, wire.ToolCallPart, wire.ToolCallDetail)
"""Taken before the table is looked at: as frequent as text when a session is read again."""


class UpdatesV1:
    """One session as one client sees it. Feed it every record, in order."""

    def __init__(self, facts: Facts, features: Features, client_id: str) -> None:
        self._features = features
        self._client_id = client_id
        self.session_id = facts.session_id
        self._cwd = facts.cwd
        self._replaying = False
        """What is fed is history: the user's own prompts are shown, passing states are not."""
        self._holding = False
        """Calls are held until their results come: to be shown at once with them."""
        self._head = (
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":'
            + orjson.dumps(facts.session_id)
            + b',"update":'
        )
        self._end = END
        """What ends each update: while a record is fed, with its place."""
        self._chunks = TextChunks(self._head)
        self.calls = ShownCalls(facts, features)
        self.waiting = ShownQueue(facts, client_id)
        self.status = SessionStatus(facts)
        self._notices = Notices(features)
        self._told_once = features.notices and not features.sequence
        """Notices are events to this client, and no part of what is kept."""
        self._subagents = self._shown_subagents(facts) if features.subagents else None
        self._plan = ShownPlan()
        self._in_turn = self._mine = False
        self._late: dict[int, Record] = {}
        """What was said since the last turn, where that is shown with the next one."""
        self._side_questions: set[str] = set()  # those of others, while only the client's own turns are shown
        self._steered: list[UserInput] = []

    def _shown_subagents(self, facts: Facts) -> "ShownSubagents[UpdatesV1]":
        def title_of(call_id: str) -> str:
            return self.calls[call_id].title if call_id in self.calls else ""

        def make(agent_id: str) -> UpdatesV1:
            own = structs.replace(self._features, queue=False, custom=False, between_turns=True)
            return UpdatesV1(Facts(agent_id, facts.cwd, LiveState()), own, agent_id)

        return ShownSubagents(facts.session_id, self.line, title_of, make)

    def feed(self, record: Record) -> bytes:
        """The lines that show this record; empty when there is nothing to show."""
        if not self._features.sequence or record.volatile:
            return self._feed(record)
        self._end = numbered(record.after.number)
        try:
            return self._feed(record)
        finally:
            self._end = END

    def _feed(self, record: Record) -> bytes:
        message = record.message
        if type(message) is TextPart:
            if self.elsewhere:
                return b""
            return self._chunks.lines(message.text, record.seq, TextPart, record.pieces, self._end)
        if type(message) is ThinkPart:
            if self.elsewhere or not message.think:
                return b""
            return self._chunks.lines(message.think, record.seq, ThinkPart, record.pieces, self._end)
        if isinstance(message, _OFTEN):
            updates = list(self.calls.take(message, hold=self._holding))
            return b"" if self.elsewhere or not updates else b"".join(map(self.line, updates))
        if type(message) is wire.StepBegin:
            return b""
        if type(message) is wire.TurnBegin:
            self._in_turn = True
            return self.turn(running=True) + self._turn_begin(message, record.seq)
        custom = custom_in(message)
        if custom is not None:
            known = self._features.custom and not self.elsewhere
            return custom_line(self.session_id, *custom) if known else b""
        ended = b""
        if self._subagents is not None:
            shown = self._subagents.take(record, history=self._holding)
            if shown is not None:
                return b"".join(map(self.line, self.calls.release())) + shown
            ended = self._subagents.end(record, message) if isinstance(message, wire.ToolResult) else b""
        updates = list(self._updates(record))  # what is not shown is learnt all the same
        hidden = self.elsewhere and not isinstance(message, _ABOUT_NO_TURN)
        lines = ended + (b"" if hidden or not updates else b"".join(map(self.line, updates)))
        if self._features.queue and isinstance(message, wire.PromptQueued) and not self._replaying:
            return self.waiting.news() + lines
        return lines + self.turn(running=False) if isinstance(message, wire.TurnEnd) else lines

    def feed_history(self, record: Record) -> bytes:
        """The lines that show this record as a part of the conversation so far; `end_history` is its end.

        A call that has ended is one update, unless something else was shown in between.
        """
        self._replaying = self._holding = True
        try:
            lines = self.feed(record)
        finally:
            self._replaying = self._holding = False
        return self.end_history() + lines if lines and not isinstance(record.message, _OF_CALLS) else lines

    def end_history(self) -> bytes:
        """What of the history was held until now."""
        updates = list(self.calls.release())
        lines = b"" if self.elsewhere else b"".join(map(self.line, updates))
        return lines + b"".join(child.end_history() for child in self._children)

    def learn(self, record: Record) -> None:
        """Take in what this client was shown before."""
        self._replaying = True
        try:
            self.feed(record)
        finally:
            self._replaying = False
        if self._subagents is not None:
            self._subagents.forget()

    @property
    def _children(self) -> "Iterator[UpdatesV1]":
        return self._subagents.all if self._subagents is not None else iter(())

    def showing(self, call_id: str) -> "UpdatesV1 | None":
        """What shows an open call: this, or one of the subagents' below; None: nothing does."""
        if call_id in self.calls:
            return self
        return next(filter(None, (child.showing(call_id) for child in self._children)), None)

    def miss(self) -> None:
        """What is open has printed things that this client was not sent."""
        self.calls.miss()
        for child in self._children:
            child.miss()

    @property
    def elsewhere(self) -> bool:
        """What happens is of another client's turn, and this one wants to see its own only."""
        return self._features.own_turns and not self._mine

    def line(self, update: Json) -> bytes:
        """One `session/update`."""
        return update_line(self._head, update, self._end)

    def whole(self, record: Record) -> list[Json]:
        """What a record of the conversation so far shows, nothing of it in pieces. For clients that are told places."""
        message = record.message
        self._replaying = True
        try:
            if type(message) is TextPart:
                return [chunk("agent_message_chunk", text_block(message.text), f"m{record.seq}")]
            if type(message) is ThinkPart:
                thought = chunk("agent_thought_chunk", text_block(message.think), f"m{record.seq}")
                return [thought] if message.think else []
            if type(message) is wire.TurnBegin:
                blocks = input_blocks(message.user_input) if message.user_input else []
                return [chunk("user_message_chunk", each, f"m{record.seq}") for each in blocks]
            if isinstance(message, _OFTEN):
                return list(self.calls.take(message))
            return list(self._updates(record))
        finally:
            self._replaying = False

    # --- beyond the stream ------------------------------------------------------------------------------------------

    def introduction(self, title: str, updated: float) -> bytes:
        """What introduces the session: commands, title, usage, and the queue."""
        queue = self.waiting.news() if self._features.queue else b""
        return b"".join(map(self.line, self.status.introduction(title, updated))) + queue

    def turn(self, *, running: bool) -> bytes:
        """`_sould/running`, a notification of ours: whether a turn runs, whoever began it."""
        if self._replaying or not self._features.sequence:
            return b""
        params: Json = {"sessionId": self.session_id, "running": running}
        return orjson.dumps({"jsonrpc": "2.0", "method": "_sould/running", "params": params}) + b"\n"

    def aside(self, sentence: str, message_id: str) -> bytes:
        """A sentence to this client alone, which no journal keeps."""
        if self._features.notices:
            return self.line({"sessionUpdate": "notice", "severity": "warning", "title": sentence})
        return self.line(chunk("agent_message_chunk", text_block(f"\n\n{sentence}\n\n"), message_id))

    def options(self) -> bytes:
        """All options, to a client that knew them under an earlier daemon: full access ended with that."""
        return b"".join(map(self.line, self.status.options()))

    def open_calls(self) -> bytes:
        """Announce the calls that are still open, to a client that has not seen them and wants to see other turns than its own."""
        if self._features.own_turns:
            return b""
        lines = b"".join(map(self.line, self.calls.announcements()))
        return lines + (self._subagents.announcements() if self._subagents is not None else b"")

    def points(self, call_id: str, path: str, line: int) -> bytes:
        """An open call is at this place now; nothing where the client was told of no such call."""
        shown = self.showing(call_id)
        return b"".join(map(shown.line, shown.calls.points(call_id, path, line))) if shown is not None else b""

    def expect_steer(self, given: UserInput) -> None:
        """This client steers: it shows its own words itself."""
        if not self._features.sequence:
            self._steered.append(given)

    def _own(self, client_id: str) -> bool:
        """This client said it, and shows it itself."""
        return client_id == self._client_id and not self._features.sequence

    # --- the table --------------------------------------------------------------------------------------------------

    def _updates(self, record: Record) -> Iterator[Json]:
        message = record.message
        match message:
            case wire.TurnEnd():
                yield from self._turn_end(message, record)
            case wire.SteerInput():
                yield from self._steer(message, record.seq)
            case wire.CommandBegin() | wire.ToolOutput():
                yield from self.calls.take(message)
            case wire.ToolResult():
                yield from self.calls.take(message, hold=self._holding)
                for item in message.return_value.display:
                    if isinstance(item, TodoBlock):
                        yield self._plan.show(item.items)
            case wire.SubagentEvent():
                yield from self.calls.of_subagent(message, hold=self._holding)
            case wire.ApprovalRequest():
                yield from self.calls.asks(message, hold=self._holding)
            case wire.ApprovalResponse():
                yield from self.calls.decided(message)
            case wire.QuestionRequest():
                yield from self.calls.question(message, hold=self._holding)
            case wire.QuestionResponse() | wire.RequestClosed():
                yield from self.calls.answered(message)
            case wire.StatusUpdate():
                yield from self._status(message)
            case wire.SessionChanged():
                yield from () if self._replaying else self.status.changed(message, record.timestamp)
            case ImagePart() | AudioPart() | VideoPart() | TextPart() | ThinkPart():
                yield chunk("agent_message_chunk", block(message), f"m{record.seq}")
            case wire.FilesRestored():
                yield from [restored(message, self._cwd)] if message.files else []
            case wire.PlanUpdate():
                yield self._plan.show(message.items)
            case wire.PlanDisplay():
                yield chunk("agent_message_chunk", text_block(message.content), f"m{record.seq}")
            case wire.BtwBegin() | wire.BtwEnd():
                yield from self._aside(message, record.seq)
            case wire.Notification(category=category) if category == ANSWER:
                yield from self._answer(message, record)
            case (
                wire.CompactionBegin() | wire.CompactionEnd()
                | wire.StepRetry() | wire.Notification() | wire.HookResolved()
            ):  # fmt: skip
                yield from self._beside(message, record)
            case wire.PromptQueued():
                yield from self._queued(message, record)
            case (
                wire.StepBegin() | wire.StepInterrupted() | wire.MCPLoadingBegin() | wire.MCPLoadingEnd()
                | wire.HookTriggered() | wire.ToolCallRequest() | wire.HookRequest() | wire.HookResponse()
                | wire.SubagentCreated() | wire.DirectoryAdded() | wire.SystemPrompt()
                | wire.Choice() | wire.ContextNote() | wire.ServerState() | wire.MediaLeftOut() | wire.ContextCleared()
                | wire.ContextReverted() | wire.ContextReturned() | wire.FilesRestoring()
                | wire.DMailHeld() | wire.DMailTaken() | wire.Custom() | wire.TurnBegin()
                | wire.ToolCall() | wire.ToolCallPart() | wire.ToolCallDetail()
            ):  # fmt: skip
                return
            case _:
                assert_never(message)

    # --- what depends on whose turn it is, and on whether it is over ------------------------------------------------

    def go_on(self, before: "UpdatesV1") -> None:
        """This client was shown the session by another one of these: what is to come with the next turn still is."""
        self._late |= before._late

    def _beside(self, message: BesideTurns, record: Record) -> Iterator[Json]:
        """What happens beside the conversation; between turns it waits for the next one where the client shows nothing then."""
        if self._holding:
            self._late.pop(record.seq, None)
        elif not self._in_turn and not self._features.between_turns:
            self._late[record.seq] = record
            return
        if isinstance(message, wire.CompactionBegin | wire.CompactionEnd):
            yield self._notices.compacting(message, record)
        elif not (self._replaying and self._told_once):
            # a notice is an event and no history; the words in place of one are part of the conversation
            yield from self._notices.of(message, record)

    def _answer(self, message: wire.Notification, record: Record) -> Iterator[Json]:
        own = not self._replaying and self._own(message.source_id)
        if own or not self._features.own_turns:
            yield from self._notices.answer(message, record, own=own)

    def _told_late(self) -> bytes:
        late, self._late = self._late, {}
        return b"".join(map(self.line, (each for record in late.values() for each in self._updates(record))))

    def _turn_begin(self, message: wire.TurnBegin, seq: int) -> bytes:
        given = message.user_input
        self._mine = self._own(message.client_id)
        changed = self.waiting.was_changed(message)
        queue = self.waiting.news() if self._features.queue and not self._replaying else b""
        if self.elsewhere:
            return queue
        return queue + self._prompt(given, seq, shown=self._replaying or not self._mine or changed) + self._told_late()

    def _prompt(self, given: UserInput, seq: int, *, shown: bool) -> bytes:
        if not given or not shown:
            return b""
        if isinstance(given, str):
            return self._chunks.lines(given, seq, wire.TurnBegin, end=self._end)
        return b"".join(map(self.line, user_chunks(given, seq)))

    def _turn_end(self, message: wire.TurnEnd, record: Record) -> Iterator[Json]:
        yield from self.calls.end_turn()
        if message.stop_reason != "finished":
            yield from self._plan.put_down()
        self._steered.clear()
        self._in_turn = False
        kept = self._replaying and not self._features.sequence
        said = self._notices.words if kept else self._notices.notice
        if message.error is not None and message.error.kind in SIGN_IN and self._mine and not self._features.signs_in:
            yield chunk("agent_message_chunk", text_block(message.error.message), f"n{record.seq}")
        elif message.error is not None and (self._replaying or not self._mine):
            yield said("error", message.error.message, "", record)
        if message.stop_reason in STOPPED and not self._features.own_turns:
            yield said("warning", *STOPPED[message.stop_reason], record)

    def _steer(self, message: wire.SteerInput, seq: int) -> Iterator[Json]:
        if message.user_input in self._steered:
            self._steered.remove(message.user_input)
        else:
            yield from user_chunks(message.user_input, seq)

    def _aside(self, message: wire.BtwBegin | wire.BtwEnd, seq: int) -> Iterator[Json]:
        """A side question is shown to those who did not ask it, its answer to all; nothing of others' to those who want it so."""
        if isinstance(message, wire.BtwEnd):
            if message.id in self._side_questions:
                self._side_questions.discard(message.id)
            else:
                answer = text_block(message.response or message.error or "")
                yield {**chunk("agent_message_chunk", answer, f"m{seq}"), **beside(message.id)}
        elif self._features.own_turns and message.client_id != self._client_id:
            self._side_questions.add(message.id)
        elif self._replaying or not self._own(message.client_id):
            for shown in user_chunks(f"/btw {message.question}", seq):
                yield {**shown, **beside(message.id)}

    def _status(self, message: wire.StatusUpdate) -> Iterator[Json]:
        if self._replaying:
            self.status.learn(message)
        else:
            yield from self.status.status(message)

    def _queued(self, message: wire.PromptQueued, record: Record) -> Iterator[Json]:
        """Passing: once the turn has begun, or the prompt was taken out, there is nothing of it to tell."""
        place = self.waiting.moved(message)
        if place and not self._features.queue:
            yield self._notices.notice("info", place, "", record)
