"""A subagent's events in the stream of the agent that started it, as `SubagentEvent`.

Text is joined for a moment, so that a stream of single words is not a stream of records in two journals; the order of
what is shown is that of the subagent's own journal.
"""

import asyncio

from sould.agents.journal.channel import Record
from sould.agents.journal.log import SessionLog
from sould.agents.wire.messages import (
    Choice,
    ContextCleared,
    ContextNote,
    ContextReverted,
    MediaLeftOut,
    PromptQueued,
    ServerState,
    SessionChanged,
    SubagentEvent,
    SystemPrompt,
    ToolCall,
    ToolCallPart,
    WireMessage,
)
from sould.agents.wire.stream import continuation, is_delta, joined, length, piece

MOST_JOINED = 4096
"""Characters that wait at most, and"""
LONGEST_WAIT = 0.25
"""seconds."""
_OWN = (
    SystemPrompt,
    Choice,
    ContextNote,
    ServerState,
    MediaLeftOut,
    ContextCleared,
    ContextReverted,
    PromptQueued,
    SessionChanged,
)


class Forwarding:
    """Begins when made; `close` when the subagent's turn is over."""

    def __init__(self, child: SessionLog, parent: SessionLog, call_id: str, agent_id: str, kind: str) -> None:
        self._parent = parent
        self._call_id = call_id
        self._agent_id = agent_id
        self._kind = kind
        self._first: WireMessage | None = None
        self._begun = False
        """Something of `_first` has been sent."""
        self._pieces: list[str] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._subscription = child.channel.subscribe(self._take, merged=False, on_cut=lambda _: None)

    def close(self) -> None:
        """Send what waits, and stop."""
        self._end()
        self._subscription.close()

    def _take(self, record: Record) -> bool:
        message = record.message
        if self._first is not None and self._joins(self._first, message):
            self._pieces.append(piece(message))
            self._size += length(message)
            if self._size >= MOST_JOINED:
                self._flush()
            elif self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(LONGEST_WAIT, self._flush)
            return True
        self._end()
        if isinstance(message, _OWN):
            return True
        if is_delta(message) and not isinstance(message, ToolCallPart):
            self._first, self._begun, self._pieces, self._size = message, False, [piece(message)], length(message)
            self._timer = asyncio.get_running_loop().call_later(LONGEST_WAIT, self._flush)
        else:
            self._send(message)
        return True

    @staticmethod
    def _joins(first: WireMessage, message: WireMessage) -> bool:
        if isinstance(first, ToolCall):
            return isinstance(message, ToolCallPart) and message.tool_call_id in (None, first.id)
        return type(message) is type(first) and is_delta(message)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._first is not None and (self._pieces or not self._begun):
            whole = (continuation if self._begun else joined)(self._first, self._pieces)
            self._begun, self._pieces, self._size = True, [], 0
            self._send(whole)

    def _end(self) -> None:
        self._flush()
        self._first = None

    def _send(self, message: WireMessage) -> None:
        self._parent.publish(
            SubagentEvent(
                parent_tool_call_id=self._call_id, agent_id=self._agent_id, subagent_type=self._kind, event=message
            )
        )
