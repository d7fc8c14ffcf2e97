"""Subagents as child sessions (`subagent_update`), for clients that know these; elsewhere their calls are cards that name a parent.

A child session is shown as any session is: by its agent's own stream, which is in its parent's as `SubagentEvent`. Its id is
the agent's, it is begun by no request, and nothing can be asked of it. Pure.
"""

from collections.abc import Callable, Iterator
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from sould.acp.content import input_blocks
from sould.acp.features import STOP_REASONS
from sould.acp.outbound import Json
from sould.agents.journal.channel import Record
from sould.agents.wire import messages as wire
from sould.agents.wire.content import TextPart, ThinkPart
from sould.agents.wire.display import BackgroundTaskBlock


class ShownSession(Protocol):
    """What shows a session, as its parent's, which is of the same class."""

    session_id: str

    def feed(self, record: Record) -> bytes:
        """The lines that show a record."""
        ...

    def feed_history(self, record: Record) -> bytes:
        """The lines that show a record of the conversation so far."""
        ...

    def line(self, update: Json) -> bytes:
        """One `session/update`."""
        ...

    def open_calls(self) -> bytes:
        """Announce the calls that are still open."""
        ...

    def showing(self, call_id: str) -> object | None:
        """What shows an open call, in it or below; None: nothing does."""
        ...


SessionT = TypeVar("SessionT", bound=ShownSession)
MakeUpdates: TypeAlias = Callable[[str], SessionT]
"""Makes what shows the child session with an id."""
SayLine: TypeAlias = Callable[[Json], bytes]
"""One update of the parent session."""
TitleOf: TypeAlias = Callable[[str], str]
"""What the parent's call with an id is about; "" where it is not open."""
_PASSING: Final = (wire.StatusUpdate, wire.StepInterrupted, wire.MCPLoadingBegin, wire.MCPLoadingEnd)
"""Of an agent's stream, what says how a session stands that a client can choose things in."""


class _Child(Struct, Generic[SessionT]):
    """One child session. `told`: the client knows of it. `number`: of the record that the message began with which is streaming."""

    updates: SessionT
    call_id: str
    title: str
    told: bool = False
    running: bool = True
    number: int = 0
    kind: type | None = None

    def tell(self, *, known: bool) -> None:
        """The client knows of it, or may not."""
        self.told = known

    def work(self, *, running: bool) -> None:
        """Its turn has begun, or ended."""
        self.running = running

    def feed(self, record: Record, *, history: bool) -> bytes:
        """The lines that show more of its stream."""
        return self.updates.feed_history(record) if history else self.updates.feed(record)

    def numbered(self, record: Record, event: wire.WireMessage) -> Record:
        """The record of its own: pieces of one message have the number of its first."""
        streams = isinstance(event, TextPart | ThinkPart)
        if not (streams and type(event) is self.kind):
            self.number = record.seq
        self.kind = type(event) if streams else None
        return record._replace(seq=self.number, message=event)


class ShownSubagents(Generic[SessionT]):
    """Those that an agent's own calls began, in one client."""

    def __init__(self, session_id: str, line: SayLine, title_of: TitleOf, make: MakeUpdates[SessionT]) -> None:
        self._session_id = session_id
        self._line = line
        self._title_of = title_of
        self._make = make
        self._children: dict[str, _Child[SessionT]] = {}
        self._asked: dict[str, _Child[SessionT]] = {}
        """Whose call an open request is about."""

    def take(self, record: Record, *, history: bool) -> bytes | None:
        """The lines that show a record; None: it is about no subagent."""
        message = record.message
        match message:
            case wire.SubagentEvent(agent_id=str(agent_id)):
                return b"".join(self._event(agent_id, message, record, history=history))
            case wire.ApprovalRequest():
                calls = ((each, each.updates.showing(message.tool_call_id)) for each in self._children.values())
                asks = next((each for each, shown in calls if shown is not None), None)
                if asks is None:
                    return None
                self._asked[message.id] = asks
                return asks.feed(record, history=history) + self._state(asks, {"state": "requires_action"})
            case wire.ApprovalResponse() | wire.RequestClosed() if message.request_id in self._asked:
                asked = self._asked.pop(message.request_id)
                return asked.feed(record, history=history) + self._state(asked, {"state": "running"})
            case _:
                return None

    def end(self, record: Record, result: wire.ToolResult) -> bytes:
        """Those that the call began and that never said that they ended, as when the daemon died: nothing of them goes on."""
        if any(isinstance(each, BackgroundTaskBlock) for each in result.return_value.display):
            return b""
        cut_off = [each for each in self._children.values() if each.call_id == result.tool_call_id and each.running]
        over = record._replace(message=wire.TurnEnd(stop_reason="finished"))
        return b"".join(each.updates.feed(over) + self._stop(each, {"state": "idle"}) for each in cut_off)

    def forget(self) -> None:
        """What was shown so far was learnt, and not sent."""
        for child in self._children.values():
            child.tell(known=False)

    def announcements(self) -> bytes:
        """Those that work, with their open calls, for a client that has not seen them."""
        working = [child for child in self._children.values() if child.running]
        return b"".join(self._announced(child) + child.updates.open_calls() for child in working)

    @property
    def all(self) -> Iterator[SessionT]:
        """What shows each of them."""
        return (child.updates for child in self._children.values())

    def _event(self, agent_id: str, message: wire.SubagentEvent, record: Record, *, history: bool) -> Iterator[bytes]:
        event = message.event
        if not isinstance(event, wire.WireMessage) or isinstance(event, _PASSING):
            return
        child = self._children.get(agent_id)
        if child is None:
            title = self._title_of(message.parent_tool_call_id) or message.subagent_type or "Subagent"
            child = self._children[agent_id] = _Child(self._make(agent_id), message.parent_tool_call_id, title)
        if isinstance(event, wire.TurnBegin):
            child.work(running=True)
        yield self._announced(child, message.subagent_type or "") if not child.told else b""
        own = child.numbered(record, event)
        if isinstance(event, wire.TurnBegin):
            yield from self._prompt(child, agent_id, event, record.seq)
            own = own._replace(message=event.model_copy(update={"user_input": ""}))
        yield child.feed(own, history=history)
        if isinstance(event, wire.TurnEnd):
            yield self._stop(child, _ended(event))

    def _announced(self, child: _Child[SessionT], kind: str = "") -> bytes:
        child.tell(known=True)
        update: Json = {"sessionUpdate": "subagent_update", "sessionId": child.updates.session_id, "title": child.title}
        if kind:
            update["description"] = kind
        state = "running" if child.running else "idle"
        return self._line({**update, "state": {"state": state}, "_meta": {"sould": {"toolCallId": child.call_id}}})

    def _prompt(self, child: _Child[SessionT], agent_id: str, begun: wire.TurnBegin, number: int) -> Iterator[bytes]:
        """What the parent tells its child: in both, each with the number of the other's."""
        if not begun.user_input:
            return
        ends: Json = {"senderSessionId": self._session_id, "recipientSessionId": agent_id}
        said: Json = {"sessionUpdate": "session_message", "messageId": f"m{number}", **ends}
        content = list(input_blocks(begun.user_input))
        yield self._line({**said, "recipientMessageId": f"m{number}", "content": content})
        yield child.updates.line({**said, "senderMessageId": f"m{number}", "content": content})

    def _stop(self, child: _Child[SessionT], state: Json) -> bytes:
        child.work(running=False)
        return self._state(child, state)

    def _state(self, child: _Child[SessionT], state: Json) -> bytes:
        return self._line({"sessionUpdate": "subagent_update", "sessionId": child.updates.session_id, "state": state})


def _ended(end: wire.TurnEnd) -> Json:
    if end.error is not None:
        error: Json = {"code": -32603, "message": end.error.message}
        return {"state": "idle", "stopReason": "error", "error": error}
    reason = STOP_REASONS.get(end.stop_reason)
    return {"state": "idle", **({"stopReason": reason} if reason else {})}
