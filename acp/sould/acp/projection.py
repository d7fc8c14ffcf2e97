"""Wire projected to `session/update` of protocol version 1: records in, JSON lines out.

Pure: it writes nothing, asks nobody and waits for nothing, so that protocol version 2 can be a second class of the same
kind over the same stream. It never invents: whatever is shown stood in the stream.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import assert_never

import orjson

from sould.acp.content import block, input_blocks, text_block
from sould.acp.options import config_options, session_modes
from sould.acp.outbound import Json
from sould.acp.toolcalls import Call, permission_call
from sould.agents.sessions.options import SessionOption
from sould.agents.sessions.slash import SlashCommand
from sould.agents.sessions.turns import Prompt
from sould.agents.wire import messages as wire
from sould.agents.wire.channel import Record
from sould.agents.wire.content import AudioPart, ImagePart, TextPart, ThinkPart, UserInput, VideoPart
from sould.agents.wire.display import TodoBlock, TodoItem

PIECE = 16_384
"""Characters of one text chunk; what was merged while the client was behind is sent in pieces of this size."""
_PLAN_STATUS = {"pending": "pending", "in_progress": "in_progress", "done": "completed"}
_SEVERITIES = frozenset({"info", "warning", "error"})
_ABOUT_NO_TURN = (
    wire.Notification,
    wire.PromptQueued,
    wire.SessionChanged,
    wire.StatusUpdate,
    wire.BtwBegin,
    wire.BtwEnd,
)


@dataclass(frozen=True, slots=True)
class Features:
    """What the client understands beyond the baseline."""

    notices: bool = False
    compaction: bool = False
    terminals: bool = False
    queue: bool = False
    """Ours: the prompts that wait, told with every change."""
    own_turns: bool = False
    """Ours: no turn but the client's own is shown."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What of the session is not in its stream."""

    session_id: str
    cwd: str
    options: Callable[[], Sequence[SessionOption]]
    commands: Callable[[], Sequence[SlashCommand]]
    queue: Callable[[], Sequence[Prompt]]


class UpdatesV1:
    """One session as one client sees it. Feed it every record, in order."""

    def __init__(self, facts: Facts, features: Features, client_id: str) -> None:
        self._facts = facts
        self._features = features
        self._client_id = client_id
        self.replaying = False
        """What is fed is history: the user's own prompts are shown, passing states are not."""
        self._head = (
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":'
            + orjson.dumps(facts.session_id)
            + b',"update":'
        )
        self._chunk_of: tuple[type, int] | None = None
        self._chunk_head = b""
        self._calls: dict[str, Call] = {}
        self._asked: dict[str, str] = {}
        self._last_call = ""
        self._used: int | None = None
        self._size: int | None = None
        self._cost: Json | None = None
        self._mine = False
        self._asides: set[str] = set()  # those of others, while only the client's own turns are shown
        self._steered: list[UserInput] = []
        self._compaction = ""
        self._sent: dict[str, UserInput] = {}
        """What this client asked for in the prompts of its own that waited, before anybody changed them."""
        self._queue: list[Json] = []
        """The waiting prompts this client was told of."""

    def feed(self, record: Record) -> bytes:
        """The lines that show this record; empty when there is nothing to show."""
        message = record.message
        if type(message) is wire.StepBegin or (self.elsewhere and isinstance(message, TextPart | ThinkPart)):
            return b""  # steps are as frequent as text when a session is read again
        if type(message) is TextPart:
            return self._text(message.text, record.seq, TextPart)
        if type(message) is ThinkPart:
            return self._text(message.think, record.seq, ThinkPart) if message.think else b""
        updates = list(self._updates(record))  # what is not shown is learnt all the same
        hidden = self.elsewhere and not isinstance(message, _ABOUT_NO_TURN)
        lines = b"" if hidden else b"".join(map(self.line, updates))
        if self._features.queue and isinstance(message, wire.PromptQueued | wire.TurnBegin) and not self.replaying:
            return self._changed_queue() + lines
        return lines

    @property
    def elsewhere(self) -> bool:
        """What happens is of another client's turn, and this one wants to see its own only."""
        return self._features.own_turns and not self._mine

    def line(self, update: Json) -> bytes:
        """One `session/update`."""
        return self._head + orjson.dumps(update) + b"}}\n"

    # --- beyond the stream ------------------------------------------------------------------------------------------

    def introduction(self, title: str, updated: float) -> bytes:
        """What follows the response that introduces the session: commands, title, usage."""
        updates = [self._commands()]
        if title:
            updates.append({"sessionUpdate": "session_info_update", "title": title, "updatedAt": iso_time(updated)})
        updates += self._usage()
        queue = self._changed_queue() if self._features.queue else b""
        return b"".join(map(self.line, updates)) + queue

    def options(self) -> bytes:
        """All options, to a client that knew them under an earlier daemon: full access ended with that."""
        return b"".join(map(self.line, self._options()))

    def waiting(self) -> list[Json]:
        """The prompts that wait, next first."""
        return [
            {
                "id": prompt.turn_id,
                "position": number,
                "mine": prompt.client_id == self._client_id,
                "prompt": input_blocks(prompt.user_input),
            }
            for number, prompt in enumerate(self._facts.queue(), 1)
        ]

    def _changed_queue(self) -> bytes:
        """`_sould/queue`, a notification of ours with the whole list; nothing when it is as this client knows it."""
        queue = self.waiting()
        if queue == self._queue:
            return b""
        self._queue = queue
        params = {"sessionId": self._facts.session_id, "prompts": queue}
        return orjson.dumps({"jsonrpc": "2.0", "method": "_sould/queue", "params": params}) + b"\n"

    def open_calls(self) -> bytes:
        """Announce the calls that are still open, to a client that has not seen them."""
        return b"".join(self.line({**call.announcement()}) for call in self._calls.values())

    def knows(self, call_id: str) -> bool:
        """Whether this is an open call that the client was told of."""
        return call_id in self._calls

    def permission(self, request: wire.ApprovalRequest) -> Json:
        """Params of `session/request_permission`, self-contained. The request has been fed."""
        options: list[Json] = [{"optionId": "approve", "name": "Allow once", "kind": "allow_once"}]
        if request.scope:
            options.append(
                {"optionId": "approve_for_session", "name": f"Always allow {request.scope}", "kind": "allow_always"}
            )
        options.append({"optionId": "reject", "name": "Reject", "kind": "reject_once"})
        call = self._calls[request.tool_call_id]
        return {
            "sessionId": self._facts.session_id,
            "toolCall": permission_call(call, request),
            "options": options,
        }

    def choice(
        self, request: wire.QuestionRequest, item: wire.QuestionItem, chosen: Collection[int] | None = None
    ) -> Json:
        """Params of `session/request_permission` that ask one question of a client without forms.

        `chosen`: of a question with several answers, those given so far, which are not offered again.
        """
        options: list[Json] = [
            {"optionId": f"option_{number}", "name": option.label, "kind": "allow_once"}
            for number, option in enumerate(item.options)
            if not chosen or number not in chosen
        ]
        if chosen is not None:
            options.append({"optionId": "done", "name": "Done" if chosen else "None of these", "kind": "allow_once"})
        elif item.other_label:
            options.append({"optionId": "other", "name": item.other_label, "kind": "allow_once"})
        options.append({"optionId": "dismiss", "name": "Dismiss", "kind": "reject_once"})
        lines = [item.body, *(f"{each.label}: {each.description}" for each in item.options if each.description)]
        call: Json = {"toolCallId": request.tool_call_id, "title": item.question, "kind": "think", "status": "pending"}
        body = "\n\n".join(line for line in lines if line)
        if body:
            call["content"] = [{"type": "content", "content": text_block(body)}]
        return {"sessionId": self._facts.session_id, "toolCall": call, "options": options}

    def expect_steer(self, given: UserInput) -> None:
        """This client steers: it shows its own words itself."""
        self._steered.append(given)

    # --- the table --------------------------------------------------------------------------------------------------

    def _updates(self, record: Record) -> Iterator[Json]:
        message = record.message
        match message:
            case wire.TurnBegin():
                yield from self._turn_begin(message, record.seq)
            case wire.TurnEnd():
                yield from self._turn_end(message, record)
            case wire.SteerInput():
                if message.user_input in self._steered:
                    self._steered.remove(message.user_input)
                else:
                    yield from _user(message.user_input, record.seq)
            case wire.ToolCall() | wire.ToolCallPart() | wire.ToolCallDetail() | wire.ToolOutput() | wire.ToolResult():
                yield from self._tool(message, None)
            case wire.SubagentEvent():
                yield from self._subagent(message)
            case wire.ApprovalRequest():
                yield from self._asks(message)
            case wire.ApprovalResponse():
                yield from self._decided(message)
            case wire.StatusUpdate():
                yield from self._status(message)
            case wire.CompactionBegin() | wire.CompactionEnd():
                yield from self._compacting(message, record)
            case wire.SessionChanged():
                yield from () if self.replaying else self._changed(message, record.timestamp)
            case ImagePart() | AudioPart() | VideoPart() | TextPart() | ThinkPart():
                yield _chunk("agent_message_chunk", block(message), f"m{record.seq}")
            case wire.PlanUpdate():
                yield _plan(message.items)
            case wire.PlanDisplay():
                yield _chunk("agent_message_chunk", text_block(message.content), f"m{record.seq}")
            case wire.BtwBegin() if self._features.own_turns and message.client_id != self._client_id:
                self._asides.add(message.id)
            case wire.BtwEnd() if message.id in self._asides:
                self._asides.discard(message.id)
            case wire.BtwBegin():
                if self.replaying or message.client_id != self._client_id:
                    yield from _user(f"/btw {message.question}", record.seq)
            case wire.BtwEnd():
                yield _chunk(
                    "agent_message_chunk", text_block(message.response or message.error or ""), f"m{record.seq}"
                )
            case wire.StepRetry() | wire.Notification() | wire.HookResolved() | wire.PromptQueued():
                yield from () if self.replaying else self._notice_of(message, record)
            case (
                wire.StepBegin() | wire.StepInterrupted() | wire.MCPLoadingBegin() | wire.MCPLoadingEnd()
                | wire.HookTriggered() | wire.ToolCallRequest()
                | wire.QuestionRequest() | wire.QuestionResponse() | wire.HookRequest() | wire.HookResponse()
                | wire.RequestClosed() | wire.SubagentCreated() | wire.DirectoryAdded() | wire.SystemPrompt()
                | wire.ContextNote() | wire.ContextCleared()
                | wire.ContextReverted() | wire.ContextReturned() | wire.FilesRestoring() | wire.FilesRestored()
                | wire.DMailHeld() | wire.DMailTaken()
            ):  # fmt: skip
                return
            case _:
                assert_never(message)

    # --- text, the hot path -----------------------------------------------------------------------------------------

    def _text(self, text: str, seq: int, kind: type) -> bytes:
        if self._chunk_of != (kind, seq):
            self._begin_chunks(seq, kind)
        if len(text) <= PIECE:
            return self._chunk_head + orjson.dumps(text) + b"}}}}\n"
        pieces = (text[start : start + PIECE] for start in range(0, len(text), PIECE))
        return b"".join(self._chunk_head + orjson.dumps(piece) + b"}}}}\n" for piece in pieces)

    def _begin_chunks(self, seq: int, kind: type) -> None:
        self._chunk_of = (kind, seq)
        name = b"agent_message_chunk" if kind is TextPart else b"agent_thought_chunk"
        self._chunk_head = (
            self._head + b'{"sessionUpdate":"' + name + b'","messageId":"m%d","content":{"type":"text","text":' % seq
        )

    # --- turns ------------------------------------------------------------------------------------------------------

    def _turn_begin(self, message: wire.TurnBegin, seq: int) -> Iterator[Json]:
        self._mine = message.client_id == self._client_id
        changed = self._sent.pop(message.turn_id, message.user_input) != message.user_input
        if self.replaying or not self._mine or changed:
            yield from _user(message.user_input, seq)

    def _turn_end(self, message: wire.TurnEnd, record: Record) -> Iterator[Json]:
        for call in list(self._calls.values()):
            if call.status in ("pending", "in_progress"):
                closing = wire.ToolReturn(is_error=True, message="Interrupted.")
                yield from map(_json, call.ended(closing))
        self._calls.clear()
        self._asked.clear()
        self._steered.clear()
        if message.error is not None and (self.replaying or not self._mine):
            yield self._notice("error", message.error.message, "", record)

    # --- tool calls -------------------------------------------------------------------------------------------------

    def _tool(
        self,
        message: wire.ToolCall | wire.ToolCallPart | wire.ToolCallDetail | wire.ToolOutput | wire.ToolResult,
        parent: str | None,
    ) -> Iterator[Json]:
        match message:
            case wire.ToolCall():
                call = Call.opened(message, self._facts.cwd, terminals=self._features.terminals, parent=parent)
                self._calls[message.id] = call
                self._last_call = message.id
                yield _json(call.announcement())
            case wire.ToolCallPart():
                call = self._calls.get(message.tool_call_id or self._last_call)
                if call is not None and message.arguments_part:
                    call.fragments.append(message.arguments_part)
            case wire.ToolCallDetail():
                call = self._calls.get(message.tool_call_id)
                if call is not None:
                    yield _json(call.describe(message))
            case wire.ToolOutput():
                call = self._calls.get(message.tool_call_id)
                if call is not None:
                    yield _json(call.printed(message.text))
            case wire.ToolResult():
                yield from self._tool_result(message)

    def _tool_result(self, message: wire.ToolResult) -> Iterator[Json]:
        call = self._calls.pop(message.tool_call_id, None)
        if call is not None:
            if call.arguments is None and (raw := call.raw_input()) is not None:
                yield {"sessionUpdate": "tool_call_update", "toolCallId": call.id, "rawInput": raw}
            yield from map(_json, call.ended(message.return_value))
        for item in message.return_value.display:
            if isinstance(item, TodoBlock):
                yield _plan(item.items)

    def _subagent(self, message: wire.SubagentEvent) -> Iterator[Json]:
        """A subagent's calls are shown as calls of their own that name their parent; its words are in the parent's result."""
        match message.event:
            case (
                wire.ToolCall() | wire.ToolCallPart() | wire.ToolCallDetail() | wire.ToolOutput() | wire.ToolResult()
            ) as event:
                yield from self._tool(event, message.parent_tool_call_id)
            case wire.SubagentEvent() as event:
                yield from self._subagent(event)
            case _:
                return

    def _asks(self, request: wire.ApprovalRequest) -> Iterator[Json]:
        """The call waits; one that nobody announced is announced by what the request says of it."""
        self._asked[request.id] = request.tool_call_id
        call = self._calls.get(request.tool_call_id)
        if call is not None:
            yield _json(call.now("pending"))
            return
        call = Call(request.tool_call_id, request.sender, self._facts.cwd, title=request.description or request.action)
        self._calls[call.id] = call
        yield _json(call.announcement())

    def _decided(self, message: wire.ApprovalResponse) -> Iterator[Json]:
        """An approved call runs on; a rejected one is closed by its result."""
        call = self._calls.get(self._asked.pop(message.request_id, ""))
        if call is not None and message.response != "reject":
            yield _json(call.now("in_progress"))

    # --- status -----------------------------------------------------------------------------------------------------

    def _status(self, message: wire.StatusUpdate) -> Iterator[Json]:
        if message.context_tokens is not None:
            self._used = message.context_tokens
        if message.max_context_tokens is not None:
            self._size = message.max_context_tokens
        if message.cost is not None:
            self._cost = {"amount": message.cost, "currency": message.currency or "USD"}
        if not self.replaying and (message.context_tokens, message.max_context_tokens, message.cost) != (None,) * 3:
            yield from self._usage()

    def _usage(self) -> list[Json]:
        if self._used is None or self._size is None:
            return []
        update: Json = {"sessionUpdate": "usage_update", "used": self._used, "size": self._size}
        if self._cost is not None:
            update["cost"] = self._cost
        return [update]

    def _changed(self, message: wire.SessionChanged, timestamp: float) -> Iterator[Json]:
        if message.title is not None:
            title = message.title or None
            yield {"sessionUpdate": "session_info_update", "title": title, "updatedAt": iso_time(timestamp)}
        if message.options is not None:
            yield from self._options()
        if message.commands:
            yield self._commands()

    def _options(self) -> Iterator[Json]:
        options = self._facts.options()
        yield {"sessionUpdate": "config_option_update", "configOptions": config_options(options)}
        modes = session_modes(options)
        if modes is not None:
            yield {"sessionUpdate": "current_mode_update", "currentModeId": modes["currentModeId"]}

    def _commands(self) -> Json:
        commands: list[Json] = []
        for command in self._facts.commands():
            shown: Json = {"name": command.name, "description": command.description}
            if command.hint:
                shown["input"] = {"hint": command.hint}
            commands.append(shown)
        return {"sessionUpdate": "available_commands_update", "availableCommands": commands}

    # --- what old clients read as text ------------------------------------------------------------------------------

    def _compacting(self, message: wire.CompactionBegin | wire.CompactionEnd, record: Record) -> Iterator[Json]:
        if isinstance(message, wire.CompactionBegin):
            self._compaction = message.compaction_id or f"c{record.seq}"
            state, said = "in_progress", "Condensing the conversation…"
        elif message.failed:
            state, said = "failed", f"The conversation could not be condensed: {message.error}"
        else:
            state = "completed"
            said = f"The conversation was condensed from {message.tokens_before} to {message.tokens_after} tokens. "
            said = (said + message.note).strip()
        if not self._features.compaction:
            yield _chunk("agent_thought_chunk", text_block(said), f"m{record.seq}")
            return
        compaction_id = message.compaction_id or self._compaction
        update: Json = {"sessionUpdate": "compaction_update", "compactionId": compaction_id, "status": state}
        if isinstance(message, wire.CompactionEnd):
            if message.summary:
                update["summary"] = [text_block(message.summary)]
            if message.error:
                update["error"] = message.error
            if not message.failed:
                keys = {"kept", "also_kept", "tokens_before", "tokens_after", "strategy", "note"}
                # the protocol has no place for them
                update["_meta"] = {"sould": message.model_dump(mode="json", include=keys)}
        yield update

    def _notice_of(
        self, message: wire.StepRetry | wire.Notification | wire.HookResolved | wire.PromptQueued, record: Record
    ) -> Iterator[Json]:
        match message:
            case wire.StepRetry():
                status = f" (HTTP {message.status_code})" if message.status_code else ""
                title = f"The model did not answer{status}; trying again"
                attempt = f"Attempt {message.next_attempt} of {message.max_attempts} in {message.wait_s:.1f} s."
                yield self._notice("info", title, attempt, record)
            case wire.Notification():
                yield self._notice(message.severity, message.title, message.body, record)
            case wire.HookResolved():
                if message.action == "block":
                    yield self._notice("warning", f"A hook blocked {message.target}", message.reason, record)
            case wire.PromptQueued():
                if not message.position:
                    self._sent.pop(message.turn_id, None)
                elif message.client_id == self._client_id:
                    self._sent.setdefault(message.turn_id, message.user_input)
                    place = f"Position {message.position} in the queue."
                    yield self._notice("info", "Your prompt waits for the running turn", place, record)

    def _notice(self, severity: str, title: str, description: str, record: Record) -> Json:
        title = title or "Notice"
        if self._features.notices:
            known = severity if severity in _SEVERITIES else "info"
            update: Json = {"sessionUpdate": "notice", "severity": known, "title": title}
            if description:
                update["description"] = description
            return update
        kind = "agent_thought_chunk" if severity == "info" else "agent_message_chunk"
        said = f"{title}: {description}" if description else title
        return _chunk(kind, text_block(f"[{severity}] {said}\n"), f"n{record.seq}")


def iso_time(seconds: float) -> str:
    """Wall seconds as RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _user(given: UserInput, seq: int) -> Iterator[Json]:
    for item in input_blocks(given):
        yield _chunk("user_message_chunk", item, f"m{seq}")


def _plan(items: Sequence[TodoItem]) -> Json:
    entries: list[Json] = [
        {"content": item.title, "priority": "medium", "status": _PLAN_STATUS[item.status]} for item in items
    ]
    return {"sessionUpdate": "plan", "entries": entries}


def _chunk(kind: str, content: Json, message_id: str) -> Json:
    return {"sessionUpdate": kind, "messageId": message_id, "content": content}


def _json(fields: object) -> Json:
    return fields  # pyright: ignore[reportReturnType] -- a TypedDict is the JSON object it describes
