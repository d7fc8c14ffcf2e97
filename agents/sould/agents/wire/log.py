"""A session's log: channel, journal and context behind one `publish`.

Order for every message: journal, context, then subscribers; so nobody is shown what a replay would not show. The
journal is the truth; `context.jsonl` is a copy for people and other programs, rebuilt whenever it disagrees (D21).
"""

from collections.abc import Iterator
from pathlib import Path

from sould.agents.wire.channel import Channel, Cursor, Record
from sould.agents.wire.context import Context
from sould.agents.wire.journal import JournalWriter
from sould.agents.wire.messages import WireMessage
from sould.agents.wire.records import Recovery


class SessionLog:
    """Made by `create` or `open`."""

    channel: Channel
    context: Context
    recovery: Recovery

    @classmethod
    async def create(cls, directory: Path, writer: JournalWriter, *, session_id: str, cwd: Path) -> "SessionLog":
        """The log of a new session in `directory`, which exists."""
        raise NotImplementedError

    @classmethod
    async def open(cls, directory: Path, writer: JournalWriter) -> "SessionLog":
        """The log of a stored session; see `recovery` for what its last writer left open.

        Raises:
            SessionOpenElsewhereError: another process has it.
            SouldError: it cannot be read.
        """
        raise NotImplementedError

    def publish(self, message: WireMessage) -> Record:
        """Journal, fold, push."""
        raise NotImplementedError

    async def commit(self) -> None:
        """Return when everything published is on disk. Raises JournalFullError."""
        raise NotImplementedError

    def replay(self, since: Cursor | None = None) -> Iterator[Record]:
        """Everything published from `since` on, each message whole. Exhausted, it has caught up with the channel.

        Subscribing before the next `await` after exhaustion leaves no gap and no repeat.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Commit and let go of the files. Idempotent."""
        raise NotImplementedError
