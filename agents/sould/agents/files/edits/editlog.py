"""The file of a project's edit log: one JSON line per event, appended. An intent is on disk before the write it announces begins.

A torn last line is cut off at open; a damaged line before it is skipped. Blocks: use it in a thread.
"""

import contextlib
import os
import re
import threading
import time
import zlib
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

import msgspec
from msgspec import Meta, Struct

from sould.agents.base.filelock import lock_after
from sould.agents.files.edits.blobs import sync_directory
from sould.agents.files.review.decisions import Choice, Verdict
from sould.agents.files.review.difference import LineEdit
from sould.agents.files.review.filedecisions import ConflictChoice
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.review.useredit import How

Writer: TypeAlias = tuple[str, str]
"""An agent: its session, and which of that session's subagents it is, "" for its own."""
Range: TypeAlias = tuple[int, int, int, int]
"""Lines of the text before (from, to) that became lines of the text after (from, to)."""


class _Event(Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True, gc=False):
    n: Annotated[int, Meta(ge=0)]


class Intent(_Event, frozen=True, kw_only=True, tag="intent", gc=False):
    """Write number `n` is about to begin: both contents are in the blob store. None: there was nothing, there will be nothing.

    The modes are those of `lstat`, file type included; None where nobody looked. `secret`: the contents are in memory only.
    """

    path: str
    before: str | None
    after: str | None
    before_mode: int | None = None
    after_mode: int | None = None
    session_id: str
    turn_id: str
    call_id: str
    timestamp: float
    secret: bool = False
    taken_from: int | None = None
    """Its number in the session's own log, where earlier versions kept it."""
    changed: tuple[Range, ...] | None = None
    """What it changed in the text before, given the line ends of the text after; None where one of them is no text."""
    reviewed: bool = False
    """It is under review; edits that earlier versions kept are not."""
    allowed: bool = False
    """A person saw the difference and said yes before it was written."""
    subagent: str = ""
    model: str = ""
    in_place: bool = False
    """The file is written where it is, for it has other names or is a mount point: what is cut off leaves a part of it."""
    becomes: str = ""
    """Of a write that took edits back, the digest of the file under review as it is with it; "" of any other."""

    @classmethod
    def of_call(cls, call: AgentCall, path: Path, before: str | None, after: str | None) -> Self:
        """What a call does to a path, now; its number is given when it is logged."""
        return cls(
            n=0,
            path=str(path),
            before=before,
            after=after,
            session_id=call.session_id,
            turn_id=call.turn_id,
            call_id=call.call_id,
            subagent=call.subagent,
            model=call.model,
            timestamp=time.time(),
        )

    @property
    def refs(self) -> tuple[str | None, str | None]:
        """What was there and what will be, as the review names it: a digest, or where a link leads; None of nothing."""
        return self.before, self.after


class Captured(Intent, frozen=True, kw_only=True, tag="captured", gc=False):
    """A change that was found after a command, or another program that a call ran, had made it.

    `shared`: somebody else may have made it as well, the user where `unsure`, while `ran` ran (`AgentCall`). `moved_from`: the file
    was at that path before.
    """

    shared: bool = False
    unsure: bool = False
    ran: str = ""
    moved_from: str = ""
    moved_before: str = ""
    """The digest of what it held there; what it `changed` is relative to that."""
    first_id: int = 0
    """See `Settled`."""
    before_link: str = ""
    """Of a symbolic link that stood there, how the review names it (`link_ref`)."""
    after_link: str = ""
    """Of one that stands there since."""

    @property
    def refs(self) -> tuple[str | None, str | None]:
        """See `Intent`."""
        return self.before_link or self.before, self.after_link or self.after


class MadeSure(_Event, frozen=True, kw_only=True, tag="sure", gc=False):
    """What was captured of a call, and may have been the user's, was the call's."""

    session_id: str
    turn_id: str
    call_id: str


class Settled(_Event, frozen=True, kw_only=True, tag="settled", gc=False):
    """Write or decision `n` is in the file, or is not. Without this event nobody knows yet."""

    written: bool
    first_id: int = 0
    """Hunks and changes that are new with it have ids from here on; ids are never used again in a project."""
    shown_in: str = ""
    """See `AgentCall`."""


class UserChanged(_Event, frozen=True, kw_only=True, tag="user", gc=False):
    """Somebody who is no agent changed a file under review: in an editor that told it, or it was found on disk."""

    path: str
    edits: tuple[LineEdit, ...] = ()
    how: How = "typed"
    whole: Literal["", "made", "deleted", "replaced", "moved", "mode"] = ""
    """What happened to the file as a whole. `made`: `edits` insert its text."""
    content: str = ""
    """The digest of what replaced it, no text; the path it was `moved` to; its `mode`, octal; the line ends it got before `edits`."""
    returning: bool = True
    """Hunks whose text this brings back are pending again."""
    left: str = ""
    """The editor that ended with the text before this unsaved."""
    first_id: int = 0
    timestamp: float


class Decided(_Event, frozen=True, kw_only=True, tag="decided", gc=False):
    """A keep, a reject, or the undo of one: what is to be done with a hunk, or a change of the file. `Settled` when it is done."""

    path: str
    verdict: Verdict | Literal["undo"]
    hunk_id: int
    digest: str = ""
    lines: tuple[int, int] | None = None
    base_lines: tuple[int, int] | None = None
    """See `Decision`."""
    choice: Choice | ConflictChoice | None = None
    by: str
    """The client, as it calls itself; `git` where staging or committing decided."""
    reason: str = ""
    sessions: tuple[str, ...] = ()
    """Those whose agents had a part in it, and are to be told of a reject."""
    writers: tuple[Writer, ...] = ()
    """These agents, where one of them is a subagent; else none is named: they are the sessions' own."""
    timestamp: float


class GitStood(Struct, frozen=True):
    """How git stood with a file of which nothing that it had was kept: only what comes into it later is."""

    branch: str
    commit: str
    staged: dict[str, tuple[int, str]]
    """Mode and blob in the index, by path relative to the root."""
    timestamp: float


class Noted(_Event, frozen=True, kw_only=True, tag="noted", gc=False):
    """Something to be known of hunks: `committed`, or staged, by an agent's own command; `seen`, when a decision was taken back."""

    path: str
    mark: Literal["committed", "seen"]
    ids: tuple[int, ...] = ()
    git: GitStood | None = None
    """Earlier versions did not keep it."""


class Told(_Event, frozen=True, kw_only=True, tag="told", gc=False):
    """Some agent of a session knows of these rejects, by number, of what its agents `subagents` wrote ("" is its own).

    Earlier versions told the session's own agent of all `up_to` an event.
    """

    session_id: str
    up_to: int = 0
    rejects: tuple[int, ...] = ()
    subagents: tuple[str, ...] = ()


class Commented(_Event, frozen=True, kw_only=True, tag="commented", gc=False):
    """What the user has to say to the agent about a hunk, or lines of a file, which is not sent yet.

    The event's number is the comment's. `replaces`: the number of an earlier comment in whose place this one is, which nothing is
    where `text` is empty.
    """

    path: str
    hunk_id: int = 0
    start: int = 0
    code: tuple[str, ...] = ()
    """The lines themselves, from line `start` of the file on."""
    text: str
    by: str
    replaces: int = 0
    timestamp: float


class CommentsSent(_Event, frozen=True, kw_only=True, tag="sent", gc=False):
    """The agent of a session has these comments, and a round begins: what it writes from now on is its answer."""

    ids: tuple[int, ...]
    session_id: str
    by: str
    timestamp: float


class Inherited(_Event, frozen=True, kw_only=True, tag="inherited", gc=False):
    """A session goes on where another one was: these edits count as its own, too."""

    session_id: str
    numbers: tuple[int, ...]


class Rooted(_Event, frozen=True, kw_only=True, tag="rooted", gc=False):
    """From here on the project's root is this directory: it was moved, or the log begins."""

    root: str


class Checkpoint(_Event, frozen=True, kw_only=True, tag="checkpoint", gc=False):
    """All that is under review, in place of what the events above come to: those are kept for undo, and some are gone."""

    review: msgspec.Raw
    """The state as JSON."""


Event: TypeAlias = (
    Intent
    | Captured
    | MadeSure
    | Settled
    | UserChanged
    | Decided
    | Noted
    | Told
    | Commented
    | CommentsSent
    | Inherited
    | Rooted
    | Checkpoint
)
_DECODER: Final = msgspec.json.Decoder(Event)
_ENCODER: Final = msgspec.json.Encoder()
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK: Final = 65536
_SUM: Final = re.compile(rb',"sum":"([0-9a-f]{8})"}\n?$')


class EditLogFile:
    """The open file. One holder at a time (flock)."""

    def __init__(self, path: Path, holder: str = "") -> None:
        """`holder`: the pid of whoever held it last, "" when nobody knows."""
        self._path = path
        self._lock = threading.Lock()
        self._fd = _locked(path, holder)
        try:
            self._cut()
        except OSError:
            os.close(self._fd)
            raise

    def append(self, *events: Event, sync: bool) -> list[int]:
        """Add events; with `sync` they survive a power cut. The bytes they begin at. Raises OSError with the file as it was."""
        if not events:
            return []  # nothing is worth a sync
        lines = [_line(event) for event in events]
        with self._lock:
            end = os.fstat(self._fd).st_size
            try:
                _write(self._fd, lines)
                if sync:
                    os.fsync(self._fd)
            except OSError:
                os.ftruncate(self._fd, end)
                raise
        return _starts(lines, end)

    def rewrite(self, events: Iterable[Event]) -> list[int]:
        """Put these in place of all; the bytes they begin at. Raises OSError with the file as it was."""
        lines = [_line(event) for event in events]
        draft = self._path.with_name(f"{self._path.name}.new")
        with self._lock:
            fd = os.open(draft, _FLAGS | os.O_TRUNC, 0o600)
            try:
                lock_after(fd, "")  # before it is the log: nobody may hold that who has not waited for us
                _write(fd, lines)
                os.fsync(fd)
                draft.replace(self._path)
            except OSError:
                os.close(fd)
                draft.unlink(missing_ok=True)
                raise
            os.close(self._fd)
            self._fd = fd
        sync_directory(self._path.parent)
        return _starts(lines, 0)

    def read(self, starts: Iterable[int]) -> list[Event]:
        """The events that begin at these bytes; those that cannot be read are left out."""
        with self._lock, open(os.dup(self._fd), "rb") as file:
            lines = [file.readline() for start in starts if file.seek(start) == start]
        return [event for _, event in read_events(b"".join(lines))]

    def events(self, start: int = 0) -> list[tuple[int, Event]]:
        """The events from a byte on, at which a line begins; each with the byte it begins at."""
        return [(start + at, event) for at, event in read_events(self.piece(start, self.size))]

    def piece(self, start: int, stop: int) -> bytes:
        """Its bytes from `start` to `stop`, or to its end."""
        with self._lock, open(os.dup(self._fd), "rb") as file:
            file.seek(start)
            return file.read(stop - start)

    @property
    def size(self) -> int:
        """Bytes."""
        return os.fstat(self._fd).st_size

    def close(self) -> None:
        """Give the file up."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def _cut(self) -> None:
        """Cut a torn last line off."""
        end = stop = self.size
        while stop:
            start = max(0, stop - _CHUNK)
            whole = self.piece(start, stop).rfind(b"\n") + 1
            if whole:
                stop = start + whole
                break
            stop = start
        if stop < end:
            os.ftruncate(self._fd, stop)


def _locked(path: Path, holder: str) -> int:
    """The file at the path, held: another one may have taken its place while it was waited for."""
    while True:
        fd = os.open(path, _FLAGS, 0o600)
        try:
            lock_after(fd, holder)
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                return fd
        except FileNotFoundError:
            pass
        except OSError:
            os.close(fd)
            raise
        os.close(fd)


def _write(fd: int, lines: Iterable[bytes]) -> None:
    rest = memoryview(b"".join(lines))
    while rest:
        rest = rest[os.write(fd, rest) :]


def _starts(lines: Iterable[bytes], first: int) -> list[int]:
    """Where each line begins, the first of them at byte `first`."""
    return [*accumulate(map(len, lines), initial=first)][:-1]


def read_events(data: bytes) -> list[tuple[int, Event]]:
    """The events of a log's whole lines with the byte each begins at; without those that cannot be read."""
    events: list[tuple[int, Event]] = []
    start = 0
    for line in data.splitlines(keepends=True):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            if _is_whole(line):
                events.append((start, _DECODER.decode(line)))
        start += len(line)
    return events


def _line(event: Event) -> bytes:
    """The event with a checksum, as one more key."""
    content = _ENCODER.encode(event)[:-1]
    return b'%s,"sum":"%08x"}\n' % (content, zlib.crc32(content))


def _is_whole(line: bytes) -> bool:
    """Whether it is as it was written; earlier versions wrote no checksum."""
    found = _SUM.search(line)
    return found is None or zlib.crc32(line[: found.start()]) == int(found[1], 16)
