"""The lines of `wire.jsonl`: how one is written, read and checked, and what a damaged file still says.

Wire's record shape `{timestamp, message}` plus `n` (sequence) and, last, `c` (CRC-32 of the bytes before it). The line
of a message that streams is written as it comes (`openline`). Pure reading: nothing here changes a file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast
from zlib import crc32

import orjson
from msgspec import Struct, field

from sould.agents.journal.openline import OpenTail, encoded, read_open
from sould.agents.wire.messages import PROTOCOL_VERSION, UnknownMessageError, WireMessage, dump, parse, parse_payload
from sould.agents.wire.stream import is_delta, joined, length, piece

FORMAT = 1
"""Our format's version, in the metadata line; its absence means another Wire writer's file, without `n` and `c`."""
PARTIAL = "Partial"
"""What early versions wrote: a piece of a streaming message, in a line of its own; the finished record supersedes it."""
_BOM = b"\xef\xbb\xbf"
_CHECK = b',"c":"'
_CHECK_LENGTH = len(_CHECK) + 8 + len(b'"}')
_RECORD_START = b'{"timestamp":'


class Damage(Struct, frozen=True):
    """Bytes in the middle of a journal that are no record: left in place and passed over."""

    position: int
    length: int


class JournalRecord(NamedTuple):
    """One record as it stands in the file.

    `incomplete`: the message was still streaming when the writer stopped; this is what of it was saved.
    """

    seq: int
    timestamp: float
    type: str
    payload: Any
    incomplete: bool = False

    @property
    def message(self) -> WireMessage | None:
        """The message, parsed anew each time; None when this version does not know its type."""
        try:
            return parse_payload(self.type, self.payload)
        except UnknownMessageError:
            return None


# --- writing ------------------------------------------------------------------------------------------------------


def metadata_line(ours: Mapping[str, Any]) -> bytes:
    """The first line of a journal: Wire's metadata and ours."""
    return seal({"type": "metadata", "protocol_version": PROTOCOL_VERSION, "format": FORMAT, **ours})


def record_line(seq: int, timestamp: float, message: WireMessage, *, incomplete: bool = False) -> bytes:
    """A finished message's line."""
    extra = {"incomplete": True} if incomplete else {}
    return seal({"timestamp": timestamp, "message": dump(message), **extra, "n": seq})


def is_partial(line: bytes) -> bool:
    """Whether a line of ours is an early version's piece of a message."""
    return line.find(b',"message":{"type":"Partial",', 0, 80) > 0


def seal(fields: dict[str, Any]) -> bytes:
    """A line with its checksum."""
    body = encoded(fields)[:-1]
    return b'%b,"c":"%08x"}\n' % (body, crc32(body))


# --- reading ------------------------------------------------------------------------------------------------------


def unseal(line: bytes) -> dict[str, Any] | None:
    """The object in a line (without its newline) of ours; None when it is not exactly what was written."""
    body = line[:-_CHECK_LENGTH]
    if line[-_CHECK_LENGTH : -len(b'12345678"}')] != _CHECK or line[-10:] != b'%08x"}' % crc32(body):
        return None
    return _object(line)


def sequence_of(line: bytes) -> int:
    """`n` of a line of ours, without parsing it; 0 when there is none."""
    _, found, digits = line[-_CHECK_LENGTH - 24 : -_CHECK_LENGTH].rpartition(b',"n":')
    return int(digits) if found and digits.isdigit() else 0


def as_record(fields: dict[str, Any], seq: int) -> JournalRecord | None:
    """The record in a parsed line; None when it has not the shape of one."""
    message = fields.get("message")
    if not isinstance(message, dict):
        return None
    envelope = cast("dict[str, Any]", message)
    timestamp, kind = fields.get("timestamp"), envelope.get("type")
    if not isinstance(timestamp, int | float) or not isinstance(kind, str):
        return None
    return JournalRecord(seq, timestamp, kind, envelope.get("payload"), incomplete=fields.get("incomplete") is True)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _format(metadata: Mapping[str, Any]) -> int:
    found = metadata.get("format")
    return found if isinstance(found, int) else 0


class _Unfinished(Struct):
    """A message put together from its partial lines."""

    seq: int
    timestamp: float
    first: WireMessage
    pieces: list[str]
    offset: int

    def extend(self, offset: int, delta: WireMessage) -> None:
        if offset == self.offset:  # a hole left by damage ends what can be known of the message
            self.pieces.append(piece(delta))
            self.offset += length(delta)

    def record(self) -> JournalRecord:
        envelope = dump(joined(self.first, self.pieces))
        return JournalRecord(self.seq, self.timestamp, envelope["type"], envelope["payload"], incomplete=True)


class Scan(Struct):
    """One pass over a journal's bytes: iterate it for its records, then read what it found.

    A line is good if its checksum matches, it parses, and its sequence goes on; a gap after damage is accepted.
    """

    source: Iterable[bytes]
    """Its lines. When more have come, iterating again goes on."""
    metadata: Mapping[str, Any] | None = None
    last_seq: int = 0
    records: int = 0
    good_end: int = 0
    """Where the last good line ends, or what is good of an open one."""
    whole_end: int = 0
    """Where the last good whole line ends."""
    size: int = 0
    unterminated: bool = False
    """The last good line lacks its newline."""
    cut: JournalRecord | None = None
    """The last message, when its writer was killed while it streamed."""
    open_end: bytes = b""
    """What ends the open line that it stands in."""
    _bad: list[Damage] = field(default_factory=list[Damage])
    _ours: bool = True
    _unfinished: _Unfinished | None = None

    @property
    def damage(self) -> tuple[Damage, ...]:
        """Bad bytes before the last good line."""
        return tuple(bad for bad in self._bad if bad.position < self.good_end)

    def __iter__(self) -> Iterator[JournalRecord]:
        """The records in order, the unfinished last one included."""
        for line in self.source:
            record = self._next(line)
            if record is not None:
                yield record
            else:
                yield from self._look_closer(line)
        if self._unfinished:
            self.cut = self._unfinished.record()
            yield self.cut

    def _next(self, line: bytes) -> JournalRecord | None:
        """The record of a line like nearly all lines: ours, whole, finished, in order. None: look closer."""
        # a line whose checksum matches is what `seal` made, so its shape needs no second look
        if line[-11:] != b'%08x"}\n' % crc32(line[: -_CHECK_LENGTH - 1]) or self._unfinished or not self._ours:
            return None
        try:
            fields = orjson.loads(line)
            message, seq = fields["message"], fields["n"]
            kind = message["type"]
            if seq <= self.last_seq or kind == PARTIAL:
                return None
            found = JournalRecord(seq, fields["timestamp"], kind, message["payload"], "incomplete" in fields)
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return None
        self.last_seq = seq
        self.records += 1
        self.size = self.good_end = self.whole_end = self.size + len(line)
        self.unterminated = False
        return found

    def _look_closer(self, line: bytes) -> Iterator[JournalRecord]:
        """The records of a line, whatever it is."""
        start = self.size
        self.size += len(line)
        content = line.removesuffix(b"\n")
        if start == 0 and self._read_first(content.removeprefix(_BOM)):
            self._mark_good(line)
            return
        found = self._accept(content)
        if found is not None:
            self._mark_good(line)
            yield from found
        elif opened := self._opened(line):
            yield from self._accept_open(*opened, start)
        elif self._ours:
            # a lost newline or junk before a record spoils the line, not the records in it
            before = self.good_end
            yield from self._salvage(content, start)
            if self.good_end == start + len(content) and content:
                self._mark_good(line)
            elif self.good_end > before:
                self.unterminated = True
        else:
            self._bad.append(Damage(start, len(line)))

    @property
    def ours(self) -> bool:
        """Whether the file is a journal of this format, and not another Wire writer's."""
        return self._ours

    @property
    def newer(self) -> int:
        """The format of a newer version of ours that the file says it has; 0: one that is known."""
        found = _format(self.metadata or {})
        return found if found > FORMAT else 0

    def _opened(self, line: bytes) -> tuple[JournalRecord, OpenTail] | None:
        """What was streaming when the writer was killed, if the last line of the file is open."""
        opened = read_open(line, self.last_seq + 1) if self._ours and not line.endswith(b"\n") else None
        record = as_record(opened.fields, self.last_seq + 1) if opened else None
        message = record.message if record else None
        return (record, opened) if record and opened and message is not None and is_delta(message) else None

    def _accept_open(self, record: JournalRecord, opened: OpenTail, start: int) -> Iterator[JournalRecord]:
        before, self._unfinished = self._unfinished, None
        if before:
            yield before.record()
        self.last_seq = record.seq
        self.good_end = start + opened.length
        self.open_end = opened.end
        self.unterminated = False
        self.cut = record._replace(incomplete=True)
        yield self.cut

    def _mark_good(self, line: bytes) -> None:
        self.good_end = self.whole_end = self.size
        self.unterminated = not line.endswith(b"\n")

    def _read_first(self, line: bytes) -> bool:
        fields = unseal(line)
        if fields is None:
            fields = _object(line)
            if fields is None or (_format(fields) <= FORMAT and ("format" in fields or "c" in fields)):
                return False
            self._ours = "format" in fields
        if fields.get("type") == "metadata":
            self.metadata = fields
            return True
        return False

    def _salvage(self, line: bytes, start: int) -> Iterator[JournalRecord]:
        position = 0
        while position < len(line):
            following = line.find(_RECORD_START, position + 1)
            limit = len(line) if following < 0 else following
            check = line.rfind(_CHECK, position, limit)
            end = check + _CHECK_LENGTH if check >= 0 else position
            found = self._accept(line[position:end])
            if found is None:
                end = position
            else:
                self.good_end = self.whole_end = start + end
                yield from found
            if end < limit:
                self._bad.append(Damage(start + end, limit - end))
            position = limit

    def _accept(self, line: bytes) -> Sequence[JournalRecord] | None:
        """What a good line gives: nothing (a partial), a record, or an unfinished record and the next one. None: a bad line."""
        fields = unseal(line) if self._ours else _object(line)
        if fields is None:
            return None
        seq = fields.get("n") if self._ours else self.last_seq + 1
        record = as_record(fields, seq) if isinstance(seq, int) else None
        if record is None or record.seq < self.last_seq or (record.seq == self.last_seq and not self._unfinished):
            return None
        before = self._unfinished
        if record.type == PARTIAL:
            return self._accept_partial(record)
        self._unfinished = None
        self.last_seq = record.seq
        self.records += 1
        return (before.record(), record) if before and before.seq != record.seq else (record,)

    def _accept_partial(self, record: JournalRecord) -> Sequence[JournalRecord] | None:
        payload = cast("dict[str, Any]", record.payload) if isinstance(record.payload, dict) else {}
        offset = payload.get("offset")
        try:
            delta = parse(payload.get("message"))
        except UnknownMessageError:
            return None
        if not isinstance(offset, int) or not is_delta(delta):
            return None
        before = self._unfinished
        if before and before.seq == record.seq:
            before.extend(offset, delta)
            return ()
        self.last_seq = record.seq
        # when its beginning was lost to damage, the message begins with what there is
        self._unfinished = _Unfinished(record.seq, record.timestamp, delta, [piece(delta)], offset + length(delta))
        return (before.record(),) if before else ()


def read_records(path: Path) -> Iterator[JournalRecord]:
    """The records of a journal, ours or another Wire writer's, in order; damage is passed over, unknown types are kept.

    Needs no lock: a line that is being written is not there yet.
    """
    with path.open("rb") as source:
        yield from Scan(source)
