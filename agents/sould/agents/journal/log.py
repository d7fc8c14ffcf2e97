"""A session's log: channel, journal and context behind one `publish`.

Order for every message: journal, context, then subscribers; so nobody is shown what a replay would not show. The
journal is the truth; `context.jsonl` is a copy for people and other programs, rebuilt whenever it disagrees (D21).
"""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

from sould.agents.base.errors import JournalFullError
from sould.agents.journal.channel import Channel, Cursor, Record
from sould.agents.journal.context import Context
from sould.agents.journal.journal import Journal, JournalWriter
from sould.agents.journal.mirror import ContextMirror
from sould.agents.journal.records import read_records
from sould.agents.journal.recovery import Recovery
from sould.agents.wire.messages import (
    ContextReturned,
    ContextReverted,
    FilesRestoring,
    TurnBegin,
    TurnEnd,
    WireMessage,
)

HISTORY_SECONDS = 10.0
"""How long what opening a session parsed is kept for a client's replay."""
JOURNAL = "wire.jsonl"
CONTEXT = "context.jsonl"
_RESTORED = (ContextReverted, ContextReturned, TurnEnd)
"""What a restore of files ends with; one that a model asked for, with the turn."""


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
