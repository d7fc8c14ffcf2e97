"""A session's log: channel, journal and context behind one `publish`.

Order for every message: journal, context, then subscribers; so nobody is shown what a replay would not show. The
journal is the truth; `context.jsonl` is a copy for people and other programs, rebuilt whenever it disagrees (D21).
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from sould.agents.base.errors import JournalFullError
from sould.agents.journal.channel import Channel, Cursor, Record
from sould.agents.journal.checkpoints import ContextCheckpoint
from sould.agents.journal.context import Context, Entry, Usage
from sould.agents.journal.journal import Journal
from sould.agents.journal.pages import find_line
from sould.agents.journal.records import read_records
from sould.agents.journal.recovery import Recovery
from sould.agents.journal.writer import JournalWriter
from sould.agents.wire.messages import (
    ContextReturned,
    ContextReverted,
    FilesRestoring,
    TurnBegin,
    TurnEnd,
    WireMessage,
)

logger = logging.getLogger(__name__)
HISTORY_SECONDS = 10.0
"""How long what opening a session parsed is kept for a client's replay."""
JOURNAL = "wire.jsonl"
CONTEXT = "context.jsonl"
_RESTORED = (ContextReverted, ContextReturned, TurnEnd)
"""What a restore of files ends with; one that a model asked for, with the turn."""


class ContextMirror:
    """Keeps one session's `context.jsonl` like its context."""

    def __init__(self, path: Path, writer: JournalWriter) -> None:
        self._path = path
        self._writer = writer
        self._generation = 0
        self._settled = 0
        self._headed = False

    def check(self, context: Context) -> None:
        """Write the file anew when it is missing, torn or behind. Blocks; for opening a session."""
        self._note(context)
        try:
            if self._is_like(context):
                return
            temporary = self._path.with_suffix(".tmp")
            temporary.unlink(missing_ok=True)
            _append(temporary, b"".join((*_head(context), *_lines(context, 0))))
            temporary.replace(self._path)
        except OSError as error:
            logger.warning("%s cannot be rebuilt: %s", self._path, error.strerror)

    def _is_like(self, context: Context) -> bool:
        """The same number of lines, beginning and ending alike: only we write it, and only whole lines at the end."""
        if not self._path.is_file():
            return False
        found = self._path.read_bytes()
        head = b"".join(_head(context))
        tail = b"".join(_lines(context, max(0, context.settled - 2)))
        count = context.settled_lines + (1 if head else 0)
        return found.startswith(head) and found.endswith(tail) and found.count(b"\n") == count

    def update(self, context: Context) -> None:
        """Follow the context after a message; cheap when nothing settled."""
        if context.generation == self._generation and context.settled == self._settled and self._headed:
            return
        replaced = context.generation != self._generation
        lines: list[bytes] = []
        if replaced or not self._headed:
            lines += _head(context)
        lines += _lines(context, 0 if replaced else self._settled)
        self._note(context)
        if replaced or lines:
            data = b"".join(lines)
            self._writer.post(lambda: self._write(data, rotate=replaced))

    def _note(self, context: Context) -> None:
        self._generation = context.generation
        self._settled = context.settled
        self._headed = bool(context.system_prompt) or self._settled > 0

    def _write(self, data: bytes, *, rotate: bool) -> None:
        try:
            if rotate and self._path.exists():
                self._path.replace(_free_name(self._path))
            _append(self._path, data)
        except OSError as error:
            logger.warning("%s is behind: %s", self._path, error.strerror)


def _append(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.stem}_{number}{path.suffix}") for number in count(1))
    return next(name for name in names if not name.exists())


def _head(context: Context) -> Iterator[bytes]:
    if context.system_prompt:
        yield _line({"role": "_system_prompt", "content": context.system_prompt})


def _lines(context: Context, start: int) -> Iterator[bytes]:
    return map(_line, map(_as_json, context.entries(start, context.settled)))


def _line(fields: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # lone surrogates: each becomes "?", as in the journal
        return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _as_json(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, ContextCheckpoint):
        return {"role": "_checkpoint", "id": entry.id}
    if isinstance(entry, Usage):
        return {"role": "_usage", "token_count": entry.token_count}
    fields: dict[str, Any] = {"role": entry.role, "content": [part.model_dump(mode="json") for part in entry.content]}
    if entry.tool_calls:
        fields["tool_calls"] = [call.model_dump(mode="json", exclude={"preview"}) for call in entry.tool_calls]
    if entry.tool_call_id is not None:
        fields["tool_call_id"] = entry.tool_call_id
    return fields


class SessionLog:
    """Made by `create` or `open`."""

    def __init__(self, journal: Journal, context: Context, mirror: ContextMirror) -> None:
        self.context = context
        self.recovery: Recovery = journal.recovered
        """What opening found."""
        self.channel = Channel(next_seq=journal.recovered.last_seq + 1, tap=self._record)
        self._journal = journal
        self._mirror = mirror

    @classmethod
    async def create(cls, directory: Path, writer: JournalWriter, *, session_id: str, cwd: Path) -> "SessionLog":
        """The log of a new session in `directory`, which exists.

        Raises:
            FileExistsError: there is a journal already.
            JournalFullError: the disk refuses.
        """
        header = {"session_id": session_id, "cwd": str(cwd), "created": time.time()}
        journal = Journal.create(directory / JOURNAL, writer, header)
        return cls(journal, Context(), ContextMirror(directory / CONTEXT, writer))

    @classmethod
    async def open(cls, directory: Path, writer: JournalWriter) -> "SessionLog":
        """The log of a stored session; see `recovery` for what its last writer left open.

        Raises:
            SessionOpenElsewhereError: another process has it.
            JournalFullError: it needs repair and the disk refuses.
            SouldError: it cannot be read.
        """
        context = Context()
        journal = await Journal.open(directory / JOURNAL, writer, context.apply)
        mirror = ContextMirror(directory / CONTEXT, writer)
        try:
            await asyncio.to_thread(mirror.check, context)
        except BaseException:
            await journal.aclose()
            raise
        asyncio.get_running_loop().call_later(HISTORY_SECONDS, journal.forget)
        return cls(journal, context, mirror)

    @staticmethod
    def finished_messages(directory: Path) -> Iterator[WireMessage]:
        """The messages of a stored session but for those of a turn, or a restore, that has not ended; needs no lock."""
        held: list[WireMessage] = []
        turn = restoring = False
        for record in read_records(directory / JOURNAL):
            message = record.message
            if message is None:
                continue
            held.append(message)
            turn = isinstance(message, TurnBegin) or (turn and not isinstance(message, TurnEnd))
            restoring = isinstance(message, FilesRestoring) or (restoring and not isinstance(message, _RESTORED))
            if not turn and not restoring:
                yield from held
                held.clear()

    @property
    def error(self) -> JournalFullError | None:
        """Why the session is read-only, while it is."""
        return self._journal.error

    def publish(self, message: WireMessage, pieces: tuple[str, ...] = ()) -> Record:
        """Journal, fold, push. `pieces`: see `Record`.

        Raises:
            SouldError: the log is closed.
        """
        return self.channel.publish(message, pieces)

    async def commit(self) -> None:
        """Return when everything published is on disk.

        Raises:
            JournalFullError: the disk refuses; the session is read-only. What was published is kept and tried again.
            SouldError: the log is closed.
        """
        await self._journal.commit()

    def replay(self, since: Cursor | None = None, position: int = 0) -> Iterator[Record]:
        """Everything published from `since` on, each message whole. Exhausted, it has caught up with the channel.

        Subscribing before the next `await` after exhaustion leaves no gap and no repeat. `position`: see `Journal.read`.
        """
        return self._journal.read(since or Cursor(1), position)

    def place(self, number: int) -> int:
        """A `position` from which `replay` soon comes to message `number`. For a thread. Raises OSError."""
        return find_line(self._journal.path, number)

    async def aclose(self) -> None:
        """Commit and let go of the files. Idempotent; a disk that refuses is logged, not raised."""
        await self._journal.aclose()

    def _record(self, record: Record) -> None:
        if record.volatile:
            return
        self._journal.append(record)
        self.context.apply(record.message)
        if not record.offset:  # more of a message settles nothing
            self._mirror.update(self.context)
