"""What a frontend gets for one connection, and what it leaves behind so that the next daemon can go on with it (D11).

For every frontend (ACP, LSP, Wire, a terminal); it knows the words of none. Imports nothing heavy: a client's first request
is answered before sessions are imported (D9).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import orjson
from msgspec import Struct, field
from msgspec.json import encode
from msgspec.structs import replace

from sould.agents.base.rpc.messages import RequestId

if TYPE_CHECKING:
    from sould.agents.sessions.hostport import HostPort
    from sould.agents.wire.stream import Cursor


class AttachedSession(Struct, frozen=True):
    """A session that a connection shows, and the first thing its client has not been sent."""

    cwd: str
    additional: tuple[str, ...] = ()
    seq: int = 0
    offset: int = 0
    served: tuple[tuple[str, str], ...] = ()
    """The MCP servers that the client serves itself: name and id."""
    brought: tuple[str, ...] = ()
    """The names of the other MCP servers it brought: more of them is never written down."""


class Unanswered(Struct, frozen=True):
    """A request of the client without an answer."""

    id: RequestId
    method: str
    session_id: str = ""
    turn_id: str = ""
    """Of a prompt: its turn, once it was taken."""


class ConnectionRecord(Struct, frozen=True):
    """What the next daemon must know to go on with a connection. No environment, no keys, no commands."""

    client_id: str = ""
    client_name: str = ""
    """What the client calls itself; "" before it has said so."""
    initialize: dict[str, Any] = field(default_factory=dict[str, Any])
    """With what it introduced itself, in the words of its protocol; empty before it."""
    sessions: dict[str, AttachedSession] = field(default_factory=dict[str, AttachedSession])
    unanswered: tuple[Unanswered, ...] = ()
    """Its requests; those for a turn know which."""
    asked: tuple[int | str, ...] = ()
    """Our requests without an answer."""
    followed: tuple[str, ...] = ()
    """The roots of the projects whose review it follows."""
    reported: bool = False
    """It said what it has open, which only the daemon that heard it knows."""
    inbox: bool = False
    """It is told what changes in the inbox."""
    serves_tools: bool = False
    """It said which editor tools it serves, which only the daemon that heard it knows."""
    gives_models: bool = False
    """It has set a model server for the sessions it opens, of which no more is written down."""
    owed: int = 0
    """So many bytes are missing of the message of which the client has the beginning, where messages say their length."""
    cut: bool = True
    """The client may have got the beginning of a line only; False after a planned restart, which shows nothing."""

    unsure: bool = False
    """The client may have said something that nobody has acted on who lives."""

    @property
    def marks(self) -> tuple[int, ...]:
        """Where its sessions stand, in their order, each as one number: it can change without the rest."""
        return tuple(mark(session.seq, session.offset) for session in self.sessions.values())

    def at(self, marks: Sequence[int]) -> "ConnectionRecord":
        """The same, with its sessions where these marks say."""
        sessions = dict(self.sessions)
        for (key, session), found in zip(self.sessions.items(), marks, strict=False):
            sessions[key] = replace(session, seq=found >> 32, offset=found & 0xFFFFFFFF)
        return replace(self, sessions=sessions)

    def dump(self) -> bytes:
        """As JSON."""
        return encode(self)

    @classmethod
    def load(cls, data: bytes) -> "ConnectionRecord":
        """From `dump`, also of an older version. Raises ValueError for anything else."""
        try:
            raw = cast("dict[str, Any]", orjson.loads(data))
            return cls(
                client_id=raw["client_id"],
                client_name=raw.get("client_name", ""),
                initialize=raw["initialize"],
                sessions={key: AttachedSession(**value) for key, value in raw["sessions"].items()},
                unanswered=tuple(Unanswered(**each) for each in raw["unanswered"]),
                asked=tuple(raw["asked"]),
                followed=tuple(raw.get("followed", ())),
                reported=raw.get("reported", False),
                inbox=raw.get("inbox", False),
                serves_tools=raw.get("serves_tools", False),
                gives_models=raw.get("gives_models", False),
                owed=raw.get("owed", 0),
                unsure=raw.get("unsure", False),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not the record of a connection: {error}") from error


def mark(seq: int, offset: int) -> int:
    """A place in a session's stream as a number of 64 bits: neither a record's number nor a message's length needs more than 32."""
    return seq << 32 | offset


class Resumable(Protocol):
    """A frontend's side of one connection, which can say at any time what the next daemon would need."""

    def snapshot(self) -> ConnectionRecord:
        """If this one died now and everything written had left."""
        ...

    def moved(self) -> "Mapping[str, Cursor] | None":
        """All that has changed by what was written since the last call: these sessions moved on; None: perhaps more."""
        ...

    def private(self) -> bytes:
        """Besides, what is handed from memory to memory by a planned restart and never written down (D14)."""
        ...


class ConnectionNotes(Protocol):
    """What a frontend notes beside its record: lines that are only added, or replaced as a whole."""

    def read(self) -> bytes:
        """What an earlier daemon noted: whole lines."""
        ...

    def append(self, line: bytes) -> None:
        """Add a line, with its end."""
        ...

    def replace(self, lines: bytes) -> None:
        """Have these lines in the place of all others."""
        ...


class ConnectionStore(Protocol):
    """What survives the daemon of one connection."""

    @property
    def resume(self) -> ConnectionRecord | None:
        """What an earlier daemon left; None for a new client."""
        ...

    @property
    def notes(self) -> ConnectionNotes:
        """For what is too much to be written anew with each change."""
        ...

    @property
    def handed(self) -> bytes:
        """What it handed over from memory: its `Resumable.private`."""
        ...

    def watch(self, connection: Resumable) -> None:
        """From now on ask `connection`. Called once, before anything is served."""
        ...

    def remember(self) -> None:
        """What either side said is about to be acted on, or was, or everything written after an answer has left."""
        ...


class ClientProcess(Struct, frozen=True):
    """The editor or the command line as a process: its environment, never written to disk (D14), and its umask."""

    environment: Mapping[str, str]
    umask: int
    cwd: str = "/"
    arguments: tuple[str, ...] = ()
    """Of its command line, behind the name of the frontend."""


HostSource: TypeAlias = "Callable[[], Awaitable[HostPort]]"
"""Gives the sessions, the same each time. Asked on the first need, so that a client's first answer waits for no heavy import (D9)."""


class LoadSessions(Protocol):
    """Begins to load, in the background, what `HostSource` gives; to be called when a client has its first answer (D9)."""

    def __call__(self, *modules: str) -> None:
        """Begin. `modules`: what the frontend itself needs for sessions, loaded behind them."""
        ...


class ConnectionServices(Struct, frozen=True):
    """What every frontend gets for a connection. `version` is the daemon's."""

    host: HostSource
    load: LoadSessions
    client: ClientProcess
    memory: ConnectionStore
    version: str
