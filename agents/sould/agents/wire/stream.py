"""Records of a session's stream, positions in it, and the rules by which deltas are joined.

Pure functions and values; nothing here publishes, writes or keeps state. The channel, the journal and the replay all
join deltas through this module, so that merged, recorded and live views always say the same (D35).
"""

from collections.abc import Sequence
from typing import NamedTuple

from sould.agents.wire.content import FunctionCall, TextPart, ThinkPart
from sould.agents.wire.messages import PromptQueued, SubagentEvent, ToolCall, ToolCallPart, ToolOutput, WireMessage

_OFFSET_BITS = 28
"""Of a position as a number: 268 million characters in a message, 33 million messages in 53 bits."""
_LARGEST_OFFSET = (1 << _OFFSET_BITS) - 1


class Cursor(NamedTuple):
    """The first thing a consumer has not seen: message `seq`, from `offset` on. Positions compare in stream order."""

    seq: int
    offset: int = 0

    @property
    def number(self) -> int:
        """The same as one number that grows as positions do, and that JSON carries exactly."""
        return (self.seq << _OFFSET_BITS) + min(self.offset, _LARGEST_OFFSET)


class Record(NamedTuple):
    """One published message, or one delta of a message that streams.

    `seq` counts messages from 1 without gaps; all deltas of one streaming message share it. `offset` is how much of that
    message came before this delta: characters, and for a tool call its opening counts as one (so that "the call was
    seen, no arguments yet" is a position of its own). `timestamp` is wall seconds, for display only. A `volatile` record
    is not journaled and carries the `seq` of the last durable one. `pieces`: when several deltas of a message came at
    once, their texts, which the message holds joined; empty when it is one. Whoever shows them shows each.
    """

    seq: int
    offset: int
    message: WireMessage
    timestamp: float
    volatile: bool = False
    pieces: tuple[str, ...] = ()

    @property
    def after(self) -> Cursor:
        """Where a consumer stands that took this record."""
        if not self.volatile and not is_delta(self.message):
            return Cursor(self.seq + 1)
        return Cursor(self.seq, self.offset + (0 if self.volatile else length(self.message)))


VOLATILE = (ToolOutput, PromptQueued)
"""Types that are shown but not kept."""


def is_volatile(message: object) -> bool:
    """Whether a message, or what a subagent's event holds, is shown but not kept."""
    while isinstance(message, SubagentEvent):
        message = message.event
    return isinstance(message, VOLATILE)


def is_delta(message: WireMessage) -> bool:
    """Whether further deltas may join this message: text, thinking that is not encrypted, a tool call and its parts."""
    if type(message) is TextPart:  # first in all of these: they are called for every piece that streams
        return True
    if isinstance(message, ThinkPart):
        return message.encrypted is None
    return isinstance(message, ToolCall | ToolCallPart)


def length(message: WireMessage) -> int:
    """How far a delta moves the offset; 0 for what does not stream."""
    if isinstance(message, TextPart):
        return len(message.text)
    if isinstance(message, ThinkPart):
        return len(message.think)
    if isinstance(message, ToolCallPart):
        return len(message.arguments_part or "")
    if isinstance(message, ToolCall):
        return 1 + len(message.function.arguments or "")
    return 0


def piece(message: WireMessage) -> str:
    """The characters a delta adds."""
    if isinstance(message, TextPart):
        return message.text
    if isinstance(message, ThinkPart):
        return message.think
    if isinstance(message, ToolCallPart):
        return message.arguments_part or ""
    assert isinstance(message, ToolCall)
    return message.function.arguments or ""


def joined(first: WireMessage, pieces: Sequence[str]) -> WireMessage:
    """The one message that `first` and its successors make; `pieces` holds the characters of all, `first` included."""
    text = "".join(pieces)
    if isinstance(first, TextPart):
        return TextPart(text=text)
    if isinstance(first, ThinkPart):
        return ThinkPart(think=text)
    if isinstance(first, ToolCallPart):
        return ToolCallPart(arguments_part=text, tool_call_id=first.tool_call_id)
    assert isinstance(first, ToolCall)
    if not text:
        return first
    return first.model_copy(update={"function": FunctionCall(name=first.function.name, arguments=text)})


def continuation(first: WireMessage, pieces: Sequence[str]) -> WireMessage:
    """The delta that adds `pieces` to a message that `first` began."""
    if isinstance(first, ToolCall):
        return ToolCallPart(arguments_part="".join(pieces), tool_call_id=first.id)
    return joined(first, pieces)


def rest(message: WireMessage, offset: int) -> WireMessage | None:
    """What of a whole message lies at and after `offset`; None when nothing does."""
    if offset == 0:
        return message
    if offset >= length(message):
        return None
    head = 1 if isinstance(message, ToolCall) else 0
    return continuation(message, (piece(message)[offset - head :],))


def head(message: WireMessage, offset: int) -> WireMessage:
    """What of a message lies before `offset`, which is past its beginning: what `rest` leaves out."""
    if offset >= length(message):
        return message
    if isinstance(message, ToolCall):
        arguments = piece(message)[: offset - 1] or None
        return message.model_copy(update={"function": FunctionCall(name=message.function.name, arguments=arguments)})
    return joined(message, (piece(message)[:offset],))
