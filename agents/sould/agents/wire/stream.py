"""Records of a session's stream, positions in it, and the rules by which deltas are joined.

Pure functions and values; nothing here publishes, writes or keeps state. The channel, the journal and the replay all
join deltas through this module, so that merged, recorded and live views always say the same (D35).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sould.agents.wire.content import FunctionCall, TextPart, ThinkPart
from sould.agents.wire.messages import PromptQueued, ToolCall, ToolCallPart, ToolOutput, WireMessage


class Cursor(NamedTuple):
    """The first thing a consumer has not seen: message `seq`, from `offset` on. Positions compare in stream order."""

    seq: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """One published message, or one delta of a message that streams.

    `seq` counts messages from 1 without gaps; all deltas of one streaming message share it. `offset` is how much of that
    message came before this delta: characters, and for a tool call its opening counts as one (so that "the call was
    seen, no arguments yet" is a position of its own). `timestamp` is wall seconds, for display only. A `volatile` record
    is not journaled and carries the `seq` of the last durable one.
    """

    seq: int
    offset: int
    message: WireMessage
    timestamp: float
    volatile: bool = False

    @property
    def after(self) -> Cursor:
        """Where a consumer stands that took this record."""
        if not self.volatile and not is_delta(self.message):
            return Cursor(self.seq + 1)
        return Cursor(self.seq, self.offset + (0 if self.volatile else length(self.message)))


VOLATILE = (ToolOutput, PromptQueued)


def is_delta(message: WireMessage) -> bool:
    """Whether further deltas may join this message: text, thinking that is not encrypted, a tool call and its parts."""
    if isinstance(message, ThinkPart):
        return message.encrypted is None
    return isinstance(message, TextPart | ToolCall | ToolCallPart)


def continues(previous: WireMessage | None, call_id: str, message: WireMessage) -> bool:
    """Whether `message` belongs to the streaming message that `previous` (its first delta) began.

    `call_id` is the tool call that `previous` opened or continued, or "".
    """
    if previous is None:
        return False
    if isinstance(message, ToolCallPart):
        opened = isinstance(previous, ToolCall | ToolCallPart)
        return opened and (not message.tool_call_id or message.tool_call_id == call_id)
    if isinstance(message, TextPart):
        return isinstance(previous, TextPart)
    return isinstance(message, ThinkPart) and isinstance(previous, ThinkPart) and not message.encrypted


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


def rest(message: WireMessage, offset: int) -> WireMessage | None:
    """What of a whole streaming message lies at and after `offset`; None when nothing does."""
    if offset == 0:
        return message
    if offset >= length(message):
        return None
    if isinstance(message, ToolCall):
        return ToolCallPart(arguments_part=piece(message)[offset - 1 :], tool_call_id=message.id)
    return joined(message, (piece(message)[offset:],))
