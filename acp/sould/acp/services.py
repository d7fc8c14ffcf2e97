"""What the daemon gives an ACP connection, and what a connection asks it to remember. Imports nothing heavy."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import orjson

from sould.agents.rpc.messages import RequestId

if TYPE_CHECKING:
    from sould.agents.sessions.host import SessionHost


class Accounts(Protocol):
    """The keys of model providers."""

    async def usable(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the providers that can be used with this environment; empty: the user must sign in."""
        ...

    async def forget(self) -> None:
        """Remove the keys that `sould login` stored."""
        ...


@dataclass(slots=True)
class AttachedSession:
    """A session a connection shows, and the first thing its client has not been sent."""

    cwd: str
    additional: tuple[str, ...] = ()
    seq: int = 0
    offset: int = 0
    served: tuple[tuple[str, str], ...] = ()
    """The MCP servers that the client serves itself: name and id."""
    brought: tuple[str, ...] = ()
    """The names of the other MCP servers it brought: more of them is never written down."""


@dataclass(slots=True)
class Unanswered:
    """A request of the client without an answer."""

    id: RequestId
    method: str
    session_id: str = ""
    turn_id: str = ""
    """Of a prompt: its turn, once it was taken."""


@dataclass(slots=True)
class AcpResume:
    """What the next daemon must know to go on with a connection (D11). No environment, no keys, no commands."""

    client_id: str = ""
    initialize: dict[str, Any] = field(default_factory=dict[str, Any])
    """Its params as they came; empty before it."""
    sessions: dict[str, AttachedSession] = field(default_factory=dict[str, AttachedSession])
    unanswered: tuple[Unanswered, ...] = ()
    asked: tuple[int, ...] = ()
    """Our requests without an answer."""
    cut: bool = True
    """The client may have got the beginning of a line only; False after a planned restart, which shows nothing."""

    @property
    def client_name(self) -> str:
        """What the client calls itself; "" before it has said so."""
        info = self.initialize.get("clientInfo")
        said = cast("dict[str, Any]", info) if isinstance(info, dict) else {}
        return str(said.get("title") or said.get("name") or "")

    def dump(self) -> bytes:
        """As JSON."""
        return orjson.dumps(self)

    @classmethod
    def load(cls, data: bytes) -> "AcpResume":
        """From `dump`. Raises ValueError for anything else."""
        try:
            raw = cast("dict[str, Any]", orjson.loads(data))
            return cls(
                client_id=raw["client_id"],
                initialize=raw["initialize"],
                sessions={key: AttachedSession(**value) for key, value in raw["sessions"].items()},
                unanswered=tuple(Unanswered(**each) for each in raw["unanswered"]),
                asked=tuple(raw["asked"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not the record of an ACP connection: {error}") from error


@dataclass(frozen=True, slots=True)
class AcpServices:
    """`host` is called at the first `session/*`, so that `initialize` need not wait for heavy imports (D9).

    `environment`, `umask` and `cwd` are the editor's. `remember` is called before every request of either side is acted on and when
    everything written after an answer has left. `accounts` None: signing in and out are not offered.
    """

    host: "Callable[[], Awaitable[SessionHost]]"
    environment: Mapping[str, str]
    cwd: str
    umask: int
    version: str
    resume: AcpResume | None = None
    remember: Callable[[AcpResume], None] = lambda resume: None
    watch: Callable[[Callable[[], AcpResume]], None] = lambda snapshot: None
    """Given, once, the way to ask for the same at any time: what was given to the stream by then."""
    private: bytes = b""
    """What the last daemon handed over from memory, and"""
    hand_over: Callable[[Callable[[], bytes]], None] = lambda private: None
    """given, once, the way to ask for what the next one is to be handed."""
    accounts: Accounts | None = None
