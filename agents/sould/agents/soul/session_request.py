"""What a client says when it opens a session, and what a session asks of an attached client."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field
from pydantic import SecretStr

from sould.agents.base.environment import USUAL_UMASK
from sould.agents.base.workspace import TextFiles
from sould.agents.llm.given import GivenServer
from sould.agents.permissions.policy import Mode
from sould.agents.soul.mcp_over_client import Carrier
from sould.agents.wire.messages import GivenPrompt

Transport: TypeAlias = Literal["stdio", "http", "sse", "acp"]
Origin: TypeAlias = Literal["", "run", "wire", "terminal", "editor"]
"""Where a session is opened: by `sould run` with nobody there, by a program over Wire, at a terminal, in an editor; "": not told."""


class McpServer(Struct, frozen=True):
    """An MCP server the client wants the session to use; `transport` decides which fields count."""

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    server_id: str = ""
    carrier: Carrier | None = None
    """Of transport `acp`: the client's own connection."""
    problem: str = ""
    """Why it cannot be used, as a sentence for the user; nothing else of it counts then."""


class OwnConfiguration(Struct, frozen=True):
    """The configuration of one session, in place of the user's. `text` may hold keys: it is never written to disk."""

    file: Path | None = None
    text: SecretStr | None = None
    """Its content, instead of a file; paths in it are meant from the session's directory. Neither: the user's file."""
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """Values of `loop_control` that hold whatever it says."""
    server: GivenServer | None = None
    """The only one that the session asks for models."""


class SessionRequest(Struct, frozen=True):
    """How a session is opened. `environment` is the client's own and is never written to disk (D14), `umask` too is its own."""

    cwd: Path
    additional: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    umask: int = USUAL_UMASK
    mcp_servers: tuple[McpServer, ...] = ()
    mode: Mode | None = None
    """What the user asked for; None: the project's, the configuration's, else `default_mode`."""
    default_mode: Mode = "ask"
    """What suits the client: `review` where it shows hunks (D20)."""
    model: str | None = None
    restricted: bool | None = None
    """Whether the client's user holds the workspace restricted there; None: it does not say."""
    configuration: OwnConfiguration | None = None
    """None: the user's. A session that is live already keeps the one it has."""
    worktree: str | None = None
    """A new session is to have a git worktree of its own, with this name, "" for any; None: it works in `cwd` itself."""
    origin: Origin = ""
    """Where it is opened."""
    system_prompt: GivenPrompt | None = None
    """Instructions for the agent; None: those of the session, if it has any."""
    capabilities: frozenset[str] = frozenset()
    """What the client can do, by ACP's names: `fs.readTextFile`, `terminal` …; conditional tools ask for them."""


class Client(Protocol):
    """A client attached to a session. Events reach it through its own subscription to the session's channel."""

    @property
    def id(self) -> str:
        """Unique in the daemon."""
        ...

    @property
    def name(self) -> str:
        """What people call it, for "already answered by …"."""
        ...

    @property
    def speaks_for_user(self) -> bool:
        """A person is there who can answer."""
        ...

    @property
    def chooses_for_project(self) -> bool:
        """What is chosen there is remembered for the project; else it holds for the session."""
        ...

    def workspace(self, inner: TextFiles, session_id: str) -> TextFiles | None:
        """The client's buffers over `inner`, or None when it offers none."""
        ...
