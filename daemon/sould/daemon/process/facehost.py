"""What serves a connection of any face: the client's byte stream, what the last daemon knew of it, and who speaks the protocol.

Keeps the connection's record (D11): the face says what must survive before it acts, and what it has said to the client
counts only when the bytes have left. Nothing leaves before the journals have it. Knows nothing of any protocol.
"""

import asyncio
import logging
from collections import deque
from typing import Protocol

from sould.agents.rpc.stream import ByteStream
from sould.agents.sessions.faces import ClientProcess, FaceRecord, FaceServices, Resumable
from sould.agents.values import replace
from sould.daemon.hello import VERSION
from sould.daemon.paths import Paths
from sould.daemon.process.records import Record, read_record, record_path
from sould.daemon.process.server import Connection
from sould.daemon.process.sessions import Sessions

_log = logging.getLogger(__name__)


class FaceProtocol(Protocol):
    """Speaks one protocol."""

    async def __call__(self, stream: ByteStream, services: FaceServices) -> None:
        """Serve one client until it is gone; what an earlier daemon left of it goes on."""
        ...


class FaceHost:
    """One object serves all connections of one face."""

    def __init__(self, paths: Paths, sessions: Sessions, protocol: FaceProtocol) -> None:
        self._paths = paths
        self._sessions = sessions
        self._protocol = protocol

    async def __call__(self, connection: Connection) -> int:
        """Serve until the client is gone."""
        path = record_path(self._paths.runtime, connection.hello.token)
        resume = _resume(path, connection)  # before a record of our own takes its place
        recorder = ResumeRecorder(Record(path), resume, connection, self._sessions)
        stream = connection.open_stream(recorder)
        hello = connection.hello
        umask = self._sessions.umask if hello.umask is None else hello.umask
        process = ClientProcess(hello.environment, umask)
        services = FaceServices(self._sessions.host, self._sessions.load, process, recorder, VERSION)
        try:
            await self._protocol(stream, services)
        except asyncio.CancelledError:
            recorder.let_go()  # somebody goes on with this connection
            raise
        recorder.forget()
        return 0


def _resume(path: str, connection: Connection) -> FaceRecord | None:
    """What an earlier daemon knew; None for a new client, or one whose record is no use: it begins anew."""
    found = read_record(path) if connection.hello.reattach else None
    if found is None:
        return None
    state, cut = found
    try:
        resume = FaceRecord.load(state)
    except ValueError as error:
        _log.warning("a connection starts over: %s", error)
        return None
    # what was not sent by a planned restart follows as it is; a killed daemon's last line may have been cut
    return replace(resume, cut=cut and connection.inherited is None)


class ResumeRecorder:
    """Writes one connection's record: requests as soon as they are known, answers and updates when they have left.

    The `FaceMemory` of the face, and the `ConnectedFace` of the connection.
    """

    def __init__(self, record: Record, resume: FaceRecord | None, connection: Connection, sessions: Sessions) -> None:
        """`sessions`: whose journals are to have what the client is shown."""
        self.resume = resume
        self.handed = connection.handed
        self._record = record
        self._connection = connection
        self._journals = sessions
        self._open = True
        self._face: Resumable | None = None
        self._sent = resume or FaceRecord()
        """What held when the last byte of it had left."""
        self._waiting: deque[tuple[int, FaceRecord]] = deque()
        """What will hold when so many bytes have left."""
        if resume is not None:
            self._record.write(resume.dump())

    # --- for the face -----------------------------------------------------------------------------------------------

    def watch(self, connection: Resumable) -> None:
        """See `FaceMemory`."""
        self._face = connection

    def remember(self) -> None:
        """See `FaceMemory`."""
        if self._open:
            self._record.write(self._merged(self._now()).dump())

    # --- for the connection -----------------------------------------------------------------------------------------

    def on_written(self, total: int, whole: bool) -> None:
        """See `FdStream`: before a write nothing is new but that a line may be cut; after it, what has left counts."""
        if not whole:
            self._journals.save()  # what the client is about to be shown
        if not self._open or self._face is None:
            return
        queued = self._connection.queued
        if not whole and (not self._waiting or self._waiting[-1][0] < queued):
            self._record.note_cut(cut=True)
            self._waiting.append((queued, self._face.snapshot()))
            return
        left = False
        while self._waiting and self._waiting[0][0] <= total:
            self._sent = self._waiting.popleft()[1]
            left = True
        if left:
            self._record.write((self._sent if whole else self._merged(self._face.snapshot())).dump())
        self._record.note_cut(cut=not whole)

    def settled(self) -> bool:
        """See `ConnectedFace`."""
        now = self._now()
        return not now.unanswered and not now.asked

    def sessions(self) -> tuple[str, ...]:
        """See `ConnectedFace`."""
        return tuple(self._now().sessions)

    def client(self) -> str:
        """See `ConnectedFace`."""
        return self._now().client_name

    def private(self) -> bytes:
        """See `ConnectedFace`: of a face that has not begun, what was handed to it."""
        return self._face.private() if self._face is not None else self.handed

    def let_go(self) -> None:
        """See `ConnectedFace`."""
        self._open = False
        self._record.close()

    def forget(self) -> None:
        """The conversation is over."""
        self._open = False
        self._record.forget()

    def _now(self) -> FaceRecord:
        return self._face.snapshot() if self._face is not None else FaceRecord()

    def _merged(self, now: FaceRecord) -> FaceRecord:
        """`now`, but with the cursors that have left, and with requests whose answers have not."""
        if not self._waiting:
            return now
        sent = self._sent
        sessions = {key: sent.sessions.get(key, attached) for key, attached in now.sessions.items()}
        known = {request.id for request in now.unanswered}
        late = tuple(request for request in sent.unanswered if request.id not in known)
        return replace(now, sessions=sessions, unanswered=now.unanswered + late)
