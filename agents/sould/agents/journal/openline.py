"""The line of a message that streams: its beginning, its text as it comes, its end with the checksum.

In sum it is the line of any finished message, so that a stream costs the file nothing. Where the writer was killed the
line is open: what stands there is all that was shown, and `read_open` says what it is and how it is ended. Only bytes
and values; nothing here touches a file.
"""

import json
import re
from typing import Any
from zlib import crc32

import orjson
from msgspec import Struct

from sould.agents.wire.content import TextPart, ThinkPart
from sould.agents.wire.messages import ToolCall, ToolCallPart, WireMessage, dump
from sould.agents.wire.stream import joined, piece

_FIELDS: dict[type, str] = {TextPart: "text", ThinkPart: "think", ToolCall: "arguments", ToolCallPart: "arguments_part"}
"""Which field of a message streams; it is written as the last."""
_KEYS = tuple(b'"%b":' % field.encode() for field in _FIELDS.values())
_WHOLE_STRINGS = re.compile(rb'(?:[^"\\]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_WHOLE_CHARACTERS = re.compile(rb'(?:[^"\\]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_UNPRINTED = re.compile(rb"[\x00-\x1f]")
_TORN_END = re.compile(rb'(?:"|nu?l?l?)(?:\}{0,3}|\}{2,3},["a-z0-9:,]{0,64})$')
"""What of an end may be there: the text before it is whole."""
_LONGEST_END = 96


class OpenLine:
    """One message's line. `begin`, `more` and `end` return what is to be appended, in this order."""

    def __init__(self, seq: int, timestamp: float, first: WireMessage) -> None:
        self._seq = seq
        self._timestamp = timestamp
        self._first = first
        self._depth = 3 if isinstance(first, ToolCall) else 2
        self._quoted = False
        self._check = 0

    def begin(self) -> bytes:
        """Everything up to the text, and the text that the first delta brings."""
        envelope = dump(joined(self._first, [""]))
        holder: dict[str, Any] = envelope["payload"]
        if isinstance(self._first, ToolCall):
            function = holder.pop("function")
            holder["function"] = function
            holder = function
        field = _FIELDS[type(self._first)]
        del holder[field]
        holder[field] = None  # now it stands last
        body = encoded({"timestamp": self._timestamp, "message": envelope})
        head = body[: -len(b"null") - self._depth - 1]
        self._check = crc32(head)
        return head + self.more(piece(self._first))

    def more(self, text: str) -> bytes:
        """More of the text."""
        if not text:
            return b""
        added = encoded(text)[:-1] if not self._quoted else encoded(text)[1:-1]
        self._quoted = True
        self._check = crc32(added, self._check)
        return added

    def end(self) -> bytes:
        """The message is whole."""
        nothing = b"null" if isinstance(self._first, ToolCall) else b'""'
        return _end(b'"' if self._quoted else nothing, self._depth, self._seq, self._check)


class OpenTail(Struct, frozen=True):
    """An open line as it was found: the record's fields, how many of its bytes are good, and what ends it."""

    fields: dict[str, Any]
    length: int
    end: bytes


def read_open(line: bytes, seq: int) -> OpenTail | None:
    """What the writer was writing when it was killed, if that is a message that streamed; `seq` is its number.

    A character of which not all bytes are there does not count, nor does what no writer of ours puts into a line.
    """
    control = _UNPRINTED.search(line)
    line = line[: control.start()] if control else line
    found = _read_open(line, seq)
    if found is None:
        start = max(0, len(line) - _LONGEST_END)
        torn = _TORN_END.search(line, start)
        found = _read_open(line[: torn.start()], seq) if torn else None
    return found


def _read_open(line: bytes, seq: int) -> OpenTail | None:
    before = line[: _whole_strings(line)]
    if not before.endswith(_KEYS):
        return None
    text = line[len(before) + 1 :]
    text = text[: _whole_characters(text)]
    quoted = len(before) < len(line)
    good = before + b'"' + text if quoted else before
    value_end = b'"' if quoted else b"null" if before.endswith(b'"arguments":') else b'""'
    structure = _STRING.sub(b"", before)
    depth = structure.count(b"{") - structure.count(b"}") - 1
    try:
        fields = orjson.loads(good + value_end + b"}" * (depth + 1))
    except orjson.JSONDecodeError:
        return None
    return OpenTail(fields, len(good), _end(value_end, depth, seq, crc32(good), b',"incomplete":true'))


def _whole_strings(line: bytes) -> int:
    """Where the first string begins that does not end."""
    found = _WHOLE_STRINGS.match(line)
    return found.end() if found else 0


def _whole_characters(text: bytes) -> int:
    """Where the last whole character ends, escaped or not."""
    found = _WHOLE_CHARACTERS.match(text)
    length = found.end() if found else 0
    try:
        text[:length].decode()
    except UnicodeDecodeError as error:
        return error.start
    return length


def _end(value_end: bytes, depth: int, seq: int, check: int, extra: bytes = b"") -> bytes:
    body = b'%b%b%b,"n":%d' % (value_end, b"}" * depth, extra, seq)
    return b'%b,"c":"%08x"}\n' % (body, crc32(body, check))


def encoded(value: Any) -> bytes:
    """JSON. Lone surrogates (file names that are not UTF-8) become "?"."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
