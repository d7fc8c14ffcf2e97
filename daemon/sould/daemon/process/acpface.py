"""The ACP face: a client's byte stream, what the last daemon knew of it, and the adapter that speaks the protocol.

Keeps the connection's record (D11): the adapter says what must survive before it acts, and what it has said to the
client counts only when the bytes have left. Nothing leaves before the journals have it. Knows nothing of the protocol
itself.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from sould.acp.server import AcpResume, AcpServices, serve_acp
from sould.daemon.hello import VERSION
from sould.daemon.paths import Paths
from sould.daemon.process.accounts import StoredAccounts
from sould.daemon.process.records import Record, read_record, record_path
from sould.daemon.process.server import Connection
from sould.daemon.process.sessions import Sessions

_log = logging.getLogger(__name__)

PRELOAD = 0.05
"""Seconds from the first request to loading what a session needs: `initialize` is answered by then."""


class AcpFace:
    """One object serves all ACP connections."""

    def __init__(self, paths: Paths, sessions: Sessions) -> None:
        self._paths = paths
        self._sessions = sessions

    async def __call__(self, connection: Connection) -> int:
        """Serve until the client is gone."""
        path = record_path(self._paths.runtime, connection.hello.token)
        resume = self._resume(path, connection)
        recorder = ResumeRecorder(Record(path), resume, self._sessions)
        stream = connection.open_stream(recorder.on_written)
        recorder.queued = lambda: stream.queued
        connection.settled = recorder.settled
        connection.let_go = recorder.close
        connection.sessions = recorder.sessions
        connection.client = recorder.client
        services = AcpServices(
            host=self._sessions.host,
            environment=connection.hello.environment,
            cwd=connection.hello.cwd,
            umask=self._sessions.umask if connection.hello.umask is None else connection.hello.umask,
            version=VERSION,
            resume=resume,
            remember=recorder.remember,
            watch=recorder.watch,
            private=connection.handed,
            hand_over=lambda private: setattr(connection, "private", private),
            accounts=StoredAccounts(self._paths, self._sessions),
        )
        try:
            preload = asyncio.get_running_loop().call_later(PRELOAD, self._sessions.preload)
            try:
                await serve_acp(stream, services)
            finally:
                preload.cancel()
        except asyncio.CancelledError:
            recorder.close()  # somebody goes on with this connection
            raise
        recorder.forget()
        return 0

    def _resume(self, path: str, connection: Connection) -> AcpResume | None:
        """What an earlier daemon knew; None for a new client, or one whose record is no use: it begins anew."""
        found = read_record(path) if connection.hello.reattach else None
        if found is None:
            return None
        state, cut = found
        try:
            resume = AcpResume.load(state)
        except ValueError as error:
            _log.warning("a connection begins anew: %s", error)
            return None
        # what was not sent by a planned restart follows as it is; a killed daemon's last line may have been cut
        return replace(resume, cut=cut and connection.inherited is None)


class ResumeRecorder:
    """Writes one connection's record: requests as soon as they are known, answers and updates when they have left."""

    def __init__(self, record: Record, resume: AcpResume | None, sessions: Sessions) -> None:
        self._record = record
        self._journals = sessions
        self._open = True
        self._snapshot: Callable[[], AcpResume] | None = None
        self._sent = resume or AcpResume()
        """What held when the last byte of it had left."""
        self._waiting: deque[tuple[int, AcpResume]] = deque()
        """What will hold when so many bytes have left."""
        self.queued: Callable[[], int] = lambda: 0
        if resume is not None:
            self._write(resume)

    def watch(self, snapshot: Callable[[], AcpResume]) -> None:
        """From now on ask here for what the adapter has given to the stream."""
        self._snapshot = snapshot

    def remember(self, now: AcpResume) -> None:
        """A request is about to be acted on, or everything has left."""
        if self._open:
            self._write(self._merged(now))

    def on_written(self, total: int, whole: bool) -> None:
        """See `FdStream`: before a write nothing is new but that a line may be cut; after it, what has left counts."""
        if not whole:
            self._journals.save()  # what the client is about to be shown
        if not self._open or self._snapshot is None:
            return
        if not whole and (not self._waiting or self._waiting[-1][0] < self.queued()):
            self._record.note_cut(cut=True)
            self._waiting.append((self.queued(), self._snapshot()))
            return
        left = False
        while self._waiting and self._waiting[0][0] <= total:
            self._sent = self._waiting.popleft()[1]
            left = True
        if left:
            self._write(self._sent if whole else self._merged(self._snapshot()))
        self._record.note_cut(cut=not whole)

    def settled(self) -> bool:
        """No request of either side is unanswered."""
        now = self._snapshot() if self._snapshot else AcpResume()
        return not now.unanswered and not now.asked

    def sessions(self) -> tuple[str, ...]:
        """The sessions this client shows."""
        return tuple(self._snapshot().sessions) if self._snapshot else ()

    def client(self) -> str:
        """What the client calls itself."""
        return self._snapshot().client_name if self._snapshot else ""

    def close(self) -> None:
        """Leave the record to the next daemon."""
        self._open = False
        self._record.close()

    def forget(self) -> None:
        """The conversation is over."""
        self._open = False
        self._record.forget()

    def _merged(self, now: AcpResume) -> AcpResume:
        """`now`, but with the cursors that have left, and with requests whose answers have not."""
        if not self._waiting:
            return now
        sent = self._sent
        sessions = {key: sent.sessions.get(key, attached) for key, attached in now.sessions.items()}
        known = {request.id for request in now.unanswered}
        late = tuple(request for request in sent.unanswered if request.id not in known)
        return replace(now, sessions=sessions, unanswered=now.unanswered + late)

    def _write(self, state: AcpResume) -> None:
        self._record.write(state.dump())
