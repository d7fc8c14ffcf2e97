"""Where the pages of a journal begin, found from its end: what opens a long conversation without reading it.

A page begins where nothing that the agent had begun is open: with a turn, or a step of one. Nothing here parses a line
whose page it is not, keeps an index, or changes a file.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from sould.agents.base.errors import OptionError
from sould.agents.journal.records import Scan, as_record, sequence_of, unseal
from sould.agents.wire.stream import Record

FAR = 4 * 1024 * 1024
"""Bytes after which a page has enough, however few messages they are."""
PLAN_FAR = 8 * 1024 * 1024
"""Bytes before a page among which its plan is looked for."""
_BLOCK = 256 * 1024
_HEAD = 512
"""Bytes of a line that say what it is."""
_TYPE = re.compile(rb'\{"timestamp":[^,]{1,40},"message":\{"type":"(\w+)"')
_SHOWN = frozenset({b"TurnBegin", b"ContentPart", b"ToolCall", b"SteerInput", b"Notification"})
_OF_SUBAGENT = b'"event":{"type":"ToolCall",'
_PLANS = (b'"type":"todo"', b'"message":{"type":"PlanUpdate"')
_OF_PLAN = frozenset({b"ToolResult", b"PlanUpdate"})
_TURN_END = b'"message":{"type":"TurnEnd"'
_BEGINS = frozenset({b"TurnBegin", b"StepBegin"})


class Page(Struct, frozen=True):
    """Positions in a journal's file. `stop`: the number of the first message that is not the page's; 0: it has the newest."""

    start: int
    stop: int

    @property
    def before(self) -> int | None:
        """Where the page before it ends; None: there is none."""
        return self.start or None


def find_page(path: Path, before: int | None, limit: int) -> Page:
    """The page of at least `limit` messages, if there are so many, that ends at `before`, or at the end. For a thread.

    Raises:
        OptionError: no page ends at `before`.
        OSError: it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        end = os.fstat(descriptor).st_size
        stop = _number_at(descriptor, before, end) if before is not None else 0
        return Page(_start(descriptor, end if before is None else before, limit), stop)
    finally:
        os.close(descriptor)


def find_line(path: Path, number: int) -> int:
    """Where a line begins that stands before that of message `number`, and not far before it. For a thread.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as source:
        low, high = 0, os.fstat(source.fileno()).st_size
        while high - low > _BLOCK:
            middle = (low + high) // 2
            source.seek(middle)
            source.readline()
            position, found = source.tell(), 0
            while not found and position < high and (line := source.readline()):
                found = sequence_of(line.removesuffix(b"\n"))
            low, high = (position, high) if 0 < found < number else (low, middle)
    return low


def stored_records(path: Path, position: int) -> Iterator[Record]:
    """What a journal that nobody writes to holds from a line on, with what its last writer left open."""
    with path.open("rb") as source:
        source.seek(position)
        for found in Scan(source):
            message = found.message
            if message is not None:
                yield Record(found.seq, 0, message, found.timestamp)


def find_plan(path: Path, start: int) -> tuple[Record, ...]:
    """What told the plan last before a page that begins at `start`, and the end of its turn, if they are not far away. For a thread.

    Raises:
        OSError: it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        size = min(PLAN_FAR, start)
        data = os.pread(descriptor, size, start - size)
    finally:
        os.close(descriptor)
    end = len(data)
    while (at := max(data.rfind(each, 0, end) for each in _PLANS)) >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        line, _, behind = data[begin:].partition(b"\n")
        found = _TYPE.match(line)
        if found is not None and found[1] in _OF_PLAN:
            ended = behind.find(_TURN_END)
            turn = behind[behind.rfind(b"\n", 0, ended) + 1 :].partition(b"\n")[0] if ended >= 0 else b""
            records = (_record(each) for each in (line, turn) if each)
            return tuple(each for each in records if each is not None)
        end = begin
    return ()


def _record(line: bytes) -> Record | None:
    fields = unseal(line)
    found = as_record(fields, sequence_of(line)) if fields else None
    message = found.message if found is not None else None
    return Record(found.seq, 0, message, found.timestamp) if found is not None and message is not None else None


def _number_at(descriptor: int, before: int, end: int) -> int:
    if not 0 < before < end or os.pread(descriptor, 1, before - 1) != b"\n":
        raise OptionError(f"No page ends at {before}; ask for one without `before`, then with what that says.")
    with os.fdopen(os.dup(descriptor), "rb") as source:
        source.seek(before)
        return next(filter(None, (sequence_of(line.removesuffix(b"\n")) for line in source)), 0)


def _start(descriptor: int, end: int, limit: int) -> int:
    shown = 0
    for position, head in _heads(descriptor, end):
        found = _TYPE.match(head)
        kind = found[1] if found else b""
        shown += kind in _SHOWN or (kind == b"SubagentEvent" and _OF_SUBAGENT in head)
        if kind in _BEGINS and (shown >= limit or end - position > FAR):
            return position
    return 0


def _heads(descriptor: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Where each line before `end` begins and what stands there, the last one first."""
    position, behind = end, b""
    while position > 0:
        size = min(_BLOCK, position)
        position -= size
        block = os.pread(descriptor, size, position)
        data = block + behind
        found = block.rfind(b"\n", 0, size - 1 if position + size == end else size)
        while found >= 0:
            yield position + found + 1, data[found + 1 : found + 1 + _HEAD]
            found = block.rfind(b"\n", 0, found)
        behind = block[:_HEAD]
    if end > 0:
        yield 0, behind
