"""What serves a connection of any frontend: the client's byte stream, what the last daemon knew of it, and who speaks the protocol.

Keeps the connection's record, and notes beside it that are only ever added or replaced as a whole (D11).
The frontend says what must survive before it acts, and what it has said to the client
counts only when the bytes have left. Nothing leaves before the journals have it. Knows nothing of any protocol.
"""

import asyncio
import contextlib
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from sould.agents.base.errors import OptionError
from sould.agents.base.rpc.framing import ByteStream
from sould.agents.clients.connections import ClientProcess, ConnectionRecord, ConnectionServices, Resumable, mark
from sould.daemon.hello import VERSION
from sould.daemon.partial_lines import NewTail
from sould.daemon.paths import Paths
from sould.daemon.process.records import StoredRecord, read_record, record_path
from sould.daemon.process.server import Connection
from sould.daemon.process.sessions import Sessions

if TYPE_CHECKING:
    from sould.agents.wire.stream import Cursor

_log = logging.getLogger(__name__)
FrontendProtocol: TypeAlias = Callable[[ByteStream, ConnectionServices], Awaitable[None]]
"""Serves one client until it is gone. What an earlier daemon left of it goes on."""


class NotesFile:
    """One connection's. Where the disk refuses, nothing is noted any more."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._refused = False

    def read(self) -> bytes:
        """What an earlier daemon noted: whole lines."""
        try:
            with open(self._path, "rb") as file:
                data = file.read()
        except OSError:
            return b""
        return data[: data.rfind(b"\n") + 1]

    def append(self, line: bytes) -> None:
        """Add a line, with its end."""
        if self._refused:
            return
        try:
            if self._descriptor is None:
                self._descriptor = _opened(self._path, os.O_APPEND)
            os.write(self._descriptor, line)
        except OSError as error:
            self._refuse(error)

    def replace(self, lines: bytes) -> None:
        """Have these lines in the place of all others."""
        self.close()
        try:
            descriptor = _opened(self._path + ".new", os.O_TRUNC)
            try:
                os.write(descriptor, lines)
            finally:
                os.close(descriptor)
            os.rename(self._path + ".new", self._path)
            self._refused = False
        except OSError as error:
            self._refuse(error)

    def close(self) -> None:
        """Let go of the file, which stays."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def forget(self) -> None:
        """The conversation is over: remove the file."""
        self.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _refuse(self, error: OSError) -> None:
        """What lacks a line is no use: there is nothing rather than that."""
        _log.warning("what an editor has open is not noted: %s: %s", self._path, error.strerror)
        self.forget()
        self._refused = True


def notes_path(runtime: str, token: str) -> str:
    """Where the notes of a connection are. The token's form was checked when the hello was read."""
    return f"{runtime}/n.{token}"


def _opened(path: str, flags: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)


async def serve_connection(
    paths: Paths, sessions: Sessions, protocol: FrontendProtocol, tail: NewTail, connection: Connection
) -> int:
    """Serve one connection of a frontend until the client is gone. `tail` finds the beginning of a message that has not come whole."""
    path = record_path(paths.runtime, connection.hello.token)
    resume = _resume(path, connection)  # before a record of our own takes its place
    notes = NotesFile(notes_path(paths.runtime, connection.hello.token))
    recorder = ResumeRecorder(StoredRecord(path), resume, connection, sessions, notes)
    stream = connection.open_stream(recorder, tail())
    hello = connection.hello
    umask = sessions.umask if hello.umask is None else hello.umask
    process = ClientProcess(hello.environment, umask, hello.cwd, hello.arguments)
    services = ConnectionServices(sessions.host, sessions.load, process, recorder, VERSION)
    try:
        await protocol(stream, services)
    except asyncio.CancelledError:
        recorder.let_go()  # somebody goes on with this connection
        raise
    except OptionError as error:
        connection.say(f"sould: {error}")
        recorder.forget()
        return 2
    recorder.forget()
    return 0


def _resume(path: str, connection: Connection) -> ConnectionRecord | None:
    """What an earlier daemon knew; None for a new client, or one whose record is no use: it begins anew."""
    found = read_record(path) if connection.hello.reattach else None
    if found is None:
        return None
    try:
        resume = ConnectionRecord.load(found.state).at(found.marks)
    except ValueError as error:
        _log.warning("a connection starts over: %s", error)
        return None
    # what was not sent, or not read, by a planned restart follows as it is; a killed daemon's last line may have been cut
    killed = connection.inherited is None
    return replace(resume, cut=killed and found.cut, unsure=killed and (found.taking or resume.unsure))


class ResumeRecorder:
    """Writes one connection's record: requests as soon as they are known, answers and updates when they have left.

    The `ConnectionStore` of the frontend, and the `ConnectedFrontend` of the connection.
    """

    def __init__(
        self,
        record: StoredRecord,
        resume: ConnectionRecord | None,
        connection: Connection,
        sessions: Sessions,
        notes: NotesFile,
    ) -> None:
        """`sessions`: whose journals are to have what the client is shown."""
        self.notes = notes
        self.resume = resume
        self.handed = connection.handed
        self._record = record
        self._connection = connection
        self._journals = sessions
        self._open = True
        self._frontend: Resumable | None = None
        self._sent = resume or ConnectionRecord()
        """What held when the last byte of it had left."""
        self._moved: dict[str, Cursor] = {}
        """How far its sessions have got since."""
        self._places: dict[str, int] = {}
        """Which mark of the record is which session's."""
        self._writing = False
        self._waiting: deque[tuple[int, ConnectionRecord]] = deque()
        """What will hold when so many bytes have left."""
        if resume is not None:
            self._write(resume)

    # --- for the frontend -----------------------------------------------------------------------------------------------

    def watch(self, connection: Resumable) -> None:
        """See `ConnectionStore`."""
        self._frontend = connection

    def remember(self) -> None:
        """See `ConnectionStore`."""
        if not self._open:
            return
        now = self._now()
        if self._connection.unsent:
            self._waiting.append((self._connection.queued, now))
            self._write(self._merged(now))
        else:
            self._keep(now)

    # --- for the connection -----------------------------------------------------------------------------------------

    def on_reading(self, under_way: bool) -> None:
        """See `FdStream`: what was read is in the record when the frontend asks for more."""
        if self._open:
            self._record.note_taking(under_way=under_way)

    def on_written(self, total: int, whole: bool) -> None:
        """See `FdStream`: of each write twice. Before it nothing is new but that a line may be cut; then what has left counts."""
        self._writing = not self._writing
        if self._writing:
            self._journals.save()  # what the client is about to be shown
        if not self._open or self._frontend is None:
            return
        if self._writing:
            self._record.note_cut(cut=True)
            return
        if not whole:
            self._fall_behind(total, self._frontend.snapshot())
        elif self._waiting or not self._move(self._frontend.moved()):
            self._waiting.clear()
            self._keep(self._frontend.snapshot())
        self._record.note_cut(cut=not whole)

    def _move(self, moved: "Mapping[str, Cursor] | None") -> bool:
        """Nothing but these cursors is new, which is so for text: they are put in their places. False: something else is."""
        if moved is None or not moved.keys() <= self._places.keys():
            return False
        for session_id, cursor in moved.items():
            self._moved[session_id] = cursor
            self._record.mark(self._places[session_id], mark(*cursor))
        return True

    def _fall_behind(self, total: int, now: ConnectionRecord) -> None:
        """The client has not taken everything."""
        queued = self._connection.queued
        if not self._waiting or self._waiting[-1][0] < queued:
            self._waiting.append((queued, now))
        while self._waiting and self._waiting[0][0] <= total:
            self._sent = self._waiting.popleft()[1]
            self._moved.clear()
        self._write(self._merged(now))

    def _keep(self, now: ConnectionRecord) -> None:
        """All that was written has left."""
        self._sent = now
        self._moved.clear()
        self._write(now)

    def _write(self, state: ConnectionRecord) -> None:
        self._places = {session_id: place for place, session_id in enumerate(state.sessions)}
        self._record.write(state.dump(), state.marks)

    def settled(self) -> bool:
        """See `ConnectedFrontend`."""
        now = self._now()
        return not now.unanswered and not now.asked and not now.unsure

    def sessions(self) -> tuple[str, ...]:
        """See `ConnectedFrontend`."""
        return tuple(self._now().sessions)

    def client(self) -> str:
        """See `ConnectedFrontend`."""
        return self._now().client_name

    def private(self) -> bytes:
        """See `ConnectedFrontend`: of a frontend that has not begun, what was handed to it."""
        return self._frontend.private() if self._frontend is not None else self.handed

    def let_go(self) -> None:
        """See `ConnectedFrontend`."""
        self._open = False
        self._record.close()
        self.notes.close()

    def forget(self) -> None:
        """The conversation is over."""
        self._open = False
        self._record.forget()
        self.notes.forget()

    def _now(self) -> ConnectionRecord:
        return self._frontend.snapshot() if self._frontend is not None else ConnectionRecord()

    def _merged(self, now: ConnectionRecord) -> ConnectionRecord:
        """`now`, but with the cursors that have left, and with requests whose answers have not."""
        earlier = [self._sent, *(state for _, state in self._waiting), now]
        sessions = {
            key: next(state.sessions[key] for state in earlier if key in state.sessions) for key in now.sessions
        }
        for key, cursor in self._moved.items():
            if key in sessions:
                sessions[key] = replace(sessions[key], seq=cursor.seq, offset=cursor.offset)
        unanswered = {request.id: request for state in earlier for request in state.unanswered}  # as it was known last
        return replace(now, sessions=sessions, unanswered=tuple(unanswered.values()))
