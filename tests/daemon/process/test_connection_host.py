"""What the next daemon would know of a connection, at each moment of what is said and sent on it."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sould.agents.clients.connections import AttachedSession, ConnectionRecord, Unanswered
from sould.agents.wire.stream import Cursor
from sould.daemon.process.connection_host import NotesFile, ResumeRecorder
from sould.daemon.process.records import StoredRecord, read_record

SESSIONS = ("s1", "s2", "s3")


class Talk:
    """A frontend, its connection, and the journals: says things, of which some have left."""

    handed = b""

    def __init__(self) -> None:
        self.cursors = {SESSIONS[0]: Cursor(1)}
        self.unanswered: dict[int, int] = {}
        """The client's requests, and after how many bytes the answer has left; 0: it is not given."""
        self.queued = self.sent = 0
        self.about: set[str] = set()
        self.said: list[tuple[int, str, Cursor]] = []
        """After how many bytes a client has been shown what."""
        self.saved = 0

    @property
    def unsent(self) -> bool:
        return self.sent < self.queued

    def save(self) -> None:
        self.saved = self.queued

    def say(self, size: int, about: str = "") -> None:
        self.queued += size
        self.about.add(about)

    def show(self, session: str, size: int, *, text: bool) -> None:
        """Text, or something else, of a session."""
        before = self.cursors[session]
        self.cursors[session] = Cursor(before.seq, before.offset + size) if text else Cursor(before.seq + 1)
        self.say(size, session if text else "")
        self.said.append((self.queued, session, self.cursors[session]))

    def answer(self, request: int) -> None:
        self.say(10)
        self.unanswered[request] = self.queued

    # --- as the frontend ---

    def snapshot(self) -> ConnectionRecord:
        return ConnectionRecord(
            sessions={key: AttachedSession("/", (), *cursor) for key, cursor in self.cursors.items()},
            unanswered=tuple(Unanswered(number, "m") for number, left in self.unanswered.items() if not left),
        )

    def moved(self) -> Mapping[str, Cursor] | None:
        about, self.about = self.about, set()
        return {key: self.cursors[key] for key in about} if about <= self.cursors.keys() else None

    def private(self) -> bytes:
        return b""


def known(path: Path) -> ConnectionRecord:
    found = read_record(str(path))
    assert found is not None
    return ConnectionRecord.load(found.state).at(found.marks)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("text", "text", "record", "ask", "answer", "attach", "write", "write", "part")),
        st.integers(0, 2),
        st.integers(1, 5),
    ),
    max_size=40,
)


@given(STEPS)
def test_the_record_is_never_ahead_of_the_client_and_right_whenever_everything_has_left(
    steps: list[tuple[str, int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "c"
        talk = Talk()
        notes = NotesFile(str(path) + ".notes")
        recorder = ResumeRecorder(StoredRecord(str(path)), None, talk, talk, notes)  # pyright: ignore[reportArgumentType] -- of both no more is used
        recorder.watch(talk)
        recorder.remember()
        for op, which, size in steps:
            session = SESSIONS[which]
            open_requests = [number for number, left in talk.unanswered.items() if not left]
            match op:
                case "text" | "record" if session in talk.cursors:
                    talk.show(session, size, text=op == "text")
                case "ask":
                    talk.unanswered[len(talk.unanswered)] = 0
                    recorder.remember()
                case "answer" if open_requests:
                    talk.answer(open_requests[0])
                case "attach":
                    talk.cursors.setdefault(session, Cursor(1))
                    recorder.remember()
                case "write" | "part" if talk.unsent:
                    recorder.on_written(talk.sent, whole=False)
                    assert talk.saved == talk.queued
                    talk.sent = talk.queued if op == "write" else min(talk.queued, talk.sent + size)
                    recorder.on_written(talk.sent, whole=not talk.unsent)
                case _:
                    continue
            found = known(path)
            for key, attached in found.sessions.items():
                left = [cursor for end, of, cursor in talk.said if of == key and end <= talk.sent]
                assert Cursor(attached.seq, attached.offset) <= max(left, default=Cursor(1))
            owed = {number for number, end in talk.unanswered.items() if not end or end > talk.sent}
            assert owed <= {request.id for request in found.unanswered}
            if op in ("write", "part") and not talk.unsent:
                assert found.dump() == talk.snapshot().dump()
        recorder.forget()
