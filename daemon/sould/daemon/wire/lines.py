"""A session's records as lines for one Wire client, in their order: as they stream, or each message once it is whole."""

from typing import Any, Final

import orjson
from msgspec import Struct, field

from sould.agents.base.rpc.framing import Dialect, LineSplitter
from sould.agents.wire.content import TextPart, ThinkPart
from sould.agents.wire.messages import (
    ApprovalRequest,
    HookRequest,
    QuestionRequest,
    StepBegin,
    ToolCall,
    ToolCallPart,
    ToolCallRequest,
    TurnEnd,
    WireMessage,
)
from sould.agents.wire.stream import Record, is_delta, joined, piece
from sould.daemon.wire.versions import WireReader

REQUESTS: Final = (ApprovalRequest, QuestionRequest, HookRequest, ToolCallRequest)


def encode(message: dict[str, Any]) -> bytes:
    """A line. Of errors `data` is always said, as Wire has it."""
    if "error" in message:
        message = {**message, "error": {"data": None, **message["error"]}}
    return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)


WIRE: Final = Dialect(LineSplitter, encode, string_ids=True)
"""Lines; ids are strings, and nothing that was asked is withdrawn."""


class StreamedLines(Struct):
    """The raw view: each piece is an event of its own."""

    reader: WireReader
    _calls: dict[str, tuple[ToolCall, list[str]]] = field(default_factory=dict[str, tuple[ToolCall, list[str]]])
    """Those of the running step, as they were opened, and the pieces of their arguments so far."""
    _opened: str = ""
    """The call that the model opened last: a fragment that names none is of it."""
    _last: str = ""
    """The call that the client was told of last: it takes each fragment for a part of that."""

    def feed(self, record: Record) -> bytes:
        """The lines of a record."""
        message = record.message
        match message:
            case TextPart() if record.pieces:
                return b"".join(line(self.reader, TextPart(text=text)) for text in record.pieces)
            case ThinkPart() if record.pieces:
                return b"".join(line(self.reader, ThinkPart(think=text)) for text in record.pieces)
            case ToolCall():
                self._calls[message.id] = (message, [piece(message)])
                self._opened = self._last = message.id
            case ToolCallPart():
                return self._fragment(message)
            case StepBegin() | TurnEnd():
                self._calls.clear()
            case _:
                pass
        return line(self.reader, message)

    def flush(self) -> bytes:
        """Nothing is held back."""
        return b""

    def _fragment(self, part: ToolCallPart) -> bytes:
        """Where a server goes back to an earlier call, the client is told of that again, with the arguments so far."""
        found = self._calls.get(part.tool_call_id or self._opened)
        if found is None:
            return line(self.reader, part)
        call, pieces = found
        pieces.append(piece(part))
        if call.id == self._last:
            return line(self.reader, part)
        self._last = call.id
        return line(self.reader, joined(call, pieces))


class WholeLines(Struct):
    """The merged view: text, thinking and calls are sent when they are whole."""

    reader: WireReader
    _open: dict[int, tuple[WireMessage, list[str]]] = field(default_factory=dict[int, tuple[WireMessage, list[str]]])
    """What streams, by the number of its message: how it began, and its pieces."""

    def feed(self, record: Record) -> bytes:
        """The lines that are whole by now."""
        message = record.message
        if record.volatile:
            return line(self.reader, message)
        if not is_delta(message):
            return self.flush() + line(self.reader, message)
        if record.seq in self._open:
            self._open[record.seq][1].append(piece(message))
            return b""
        # a model opens several calls at once; all else is over when something begins
        calls = isinstance(message, ToolCall) and all(isinstance(first, ToolCall) for first, _ in self._open.values())
        before = b"" if calls else self.flush()
        self._open[record.seq] = (message, [piece(message)])
        return before

    def flush(self) -> bytes:
        """The lines of what was held back."""
        whole = [joined(first, pieces) for first, pieces in self._open.values()]
        self._open.clear()
        return b"".join(line(self.reader, message) for message in whole)


def line(reader: WireReader, message: WireMessage) -> bytes:
    """The event of a message; nothing where the client does not read it."""
    envelope = reader.envelope(message)
    return encode({"jsonrpc": "2.0", "method": "event", "params": envelope}) if envelope is not None else b""
