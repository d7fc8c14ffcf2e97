"""The records of a journal with the lines they stand in, as far as it is written, and again from there when it has grown.

Reads any `wire.jsonl`, ours or kimi-cli's. Takes no lock and changes nothing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import orjson

from sould.agents.journal.records import JournalRecord, Scan, as_record
from sould.daemon.cli.output import CommandError


class ReadRecord(NamedTuple):
    """A record. `size`: the bytes of its line; 0 for a further one in a damaged line."""

    record: JournalRecord
    line: bytes
    size: int

    @property
    def kept(self) -> bytes:
        """Its line as it is kept; put together from what is known of it, without a checksum, where the line is damaged or open."""
        record = self.record
        try:
            fields = orjson.loads(self.line)
        except orjson.JSONDecodeError:
            fields = None
        if isinstance(fields, dict):
            given = cast("dict[str, Any]", fields)
            found = as_record(given, record.seq)
            if found is not None and found.type == record.type and given.get("n", record.seq) == record.seq:
                return self.line.removesuffix(b"\n")
        message = {"type": record.type, "payload": record.payload}
        cut = {"incomplete": True} if record.incomplete else {}
        return orjson.dumps({"timestamp": record.timestamp, "message": message, **cut, "n": record.seq})


class JournalReader:
    """Reads one journal, from its beginning on."""

    def __init__(self, path: Path, *, whole: bool) -> None:
        """`whole`: leave a line that has not ended to the next time. Raises OSError: it cannot be read."""
        self._path = path
        self._source = _Source(path, whole=whole)
        self._scan = Scan(self._source)
        self._named = 0

    @property
    def is_there(self) -> bool:
        """It was not deleted."""
        return self._path.exists()

    def read(self) -> Iterator[ReadRecord]:
        """The records that were not given yet.

        Raises:
            CommandError: it is another kind of file.
        """
        before = b""
        for record in self._scan:
            line = self._source.line
            yield ReadRecord(record, line, 0 if line is before else len(line))
            before = line
        if self._scan.size and not self._scan.good_end:
            raise CommandError(f"{self._path} is no journal of a session: no line of it is a Wire record.")

    def damage(self) -> Iterator[str]:
        """What was passed over since the last time, in sentences."""
        for bad in self._scan.damage[self._named :]:
            self._named += 1
            yield f"{self._path}: {bad.length} damaged bytes at {bad.position}; they are ignored."

    def ending(self) -> Iterator[str]:
        """What else there is to be said of it, in sentences, when all was read."""
        scan = self._scan
        if scan.newer:
            yield f"{self._path} was written by a newer sould (journal format {scan.newer}); update sould to read all of it."
        if scan.cut is not None:
            yield f"{self._path}: the last message is not whole: it is being written, or who wrote it was killed."
        elif scan.size > scan.good_end:
            yield f"{self._path}: the last {scan.size - scan.good_end} bytes are no whole record; they are ignored."


class _Source:
    """A file's lines, from where it was left. A daemon that repairs a journal may have cut its end off meanwhile."""

    def __init__(self, path: Path, *, whole: bool) -> None:
        self.line = b""
        """The last one that was given."""
        self._file = path.open("rb")
        self._whole = whole
        self._end = 0

    def __iter__(self) -> Iterator[bytes]:
        self._end = self._file.seek(min(self._end, self._file.seek(0, 2)))
        for line in self._file:
            if self._whole and not line.endswith(b"\n"):
                return
            self._end += len(line)
            self.line = line
            yield line
