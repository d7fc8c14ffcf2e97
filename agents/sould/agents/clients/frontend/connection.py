"""One client of any frontend: what it is to the sessions, what it follows and serves, and what must outlive the daemon (D11).

A frontend derives a class of its own that says what the client calls itself and shows. Knows no protocol's words, and imports
nothing heavy: a client's first request is answered before sessions are imported (D9).
"""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from sould.agents.base.rpc.connection import Connection, Handler
from sould.agents.base.rpc.framing import LINES, ByteStream, Dialect
from sould.agents.base.rpc.messages import Params
from sould.agents.clients.connections import AttachedSession, ConnectionRecord, ConnectionServices, Unanswered

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from sould.agents.base.workspace import TextFiles
    from sould.agents.clients.editor.client import ConnectedEditor
    from sould.agents.clients.inbox.feed import FollowedInbox
    from sould.agents.clients.review.projects import OpenProjects
    from sould.agents.clients.review.reports import Reports
    from sould.agents.sessions.hostport import HostPort
    from sould.agents.wire.stream import Cursor

LoadHandler: TypeAlias = Callable[[], Awaitable[Handler]]
"""Loads what serves the calls. Called again only if it raised."""
Initialize: TypeAlias = Callable[[Params], Awaitable[Any]]
"""The answer to `initialize`. Raises RpcError."""
MOST_SIGNED = 100
"""Characters of a client's name that others are shown."""


class ClientConnection(ABC):
    """A client and its connection; also the `Client` that its sessions know, and `Resumable`."""

    def __init__(self, services: ConnectionServices) -> None:
        self.services = services
        resume = services.memory.resume
        self.id = resume.client_id if resume else os.urandom(8).hex()
        self._initialize: dict[str, Any] = {}
        """With what the client introduced itself; nothing before that."""
        self._connection: Connection | None = None
        self._host: HostPort | None = None
        self._projects: OpenProjects | None = None
        self._inbox: FollowedInbox | None = None
        self._editor_tools: ConnectedEditor | None = None
        self._reports: Reports | None = None

    async def serve(
        self,
        stream: ByteStream,
        handler: "Handler",
        *,
        dialect: Dialect = LINES,
        go_on: "Callable[[ConnectionRecord], Coroutine[None, None, None]] | None" = None,
    ) -> None:
        """Serve the client until it is gone. `go_on` takes up what an earlier daemon left, before anything is read."""
        memory = self.services.memory
        resume = memory.resume
        first_id = max((each for each in resume.asked if isinstance(each, int)), default=0) + 1 if resume else 1
        self._connection = Connection(stream, handler, dialect=dialect, first_id=first_id, changed=memory.remember)
        memory.watch(self)
        try:
            await self._connection.serve((lambda: go_on(resume)) if resume and go_on else None)
        finally:
            await self.leave()

    # --- who it is ----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def name(self) -> str:
        """What people call this client."""

    @property
    def signature(self) -> str:
        """Who decides, as others are told."""
        return self.name[:MOST_SIGNED]

    @property
    def home(self) -> str:
        """Of its user: no project."""
        return self.services.client.environment.get("HOME") or os.path.expanduser("~")

    @property
    def speaks_for_user(self) -> bool:
        """See `Client`."""
        return False

    @property
    def chooses_for_project(self) -> bool:
        """See `Client`."""
        return False

    @abstractmethod
    def require_initialized(self) -> None:
        """Refuse work before the handshake. Raises RpcError."""

    def workspace(self, inner: "TextFiles", session_id: str) -> "TextFiles | None":
        """See `Client`; None: its buffers are the project's, as it reports them."""
        return None

    # --- what it uses and serves --------------------------------------------------------------------------------------

    @property
    def connection(self) -> Connection:
        """The connection below; there is one once it is served."""
        assert self._connection is not None
        return self._connection

    async def host(self) -> "HostPort":
        """All sessions; the first call may import much."""
        if self._host is None:
            self._host = await self.services.host()
        return self._host

    async def projects(self) -> "OpenProjects":
        """The projects it reviews; the first call may import much."""
        host = await self.host()
        if self._projects is None:
            from sould.agents.clients.review.projects import OpenProjects  # noqa: PLC0415 -- initialize is answered without sessions

            self._projects = OpenProjects(host, self.connection, self.id, self.home)
        return self._projects

    async def inbox(self) -> "FollowedInbox":
        """The inbox as it is shown this client."""
        host = await self.host()
        if self._inbox is None:
            from sould.agents.clients.inbox.feed import FollowedInbox  # noqa: PLC0415 -- as above

            self._inbox = FollowedInbox(host, self.connection, self.home)
        return self._inbox

    async def editor_tools(self) -> "ConnectedEditor":
        """How it is asked for what editor tools want."""
        if self._editor_tools is None:
            from sould.agents.clients.editor.client import ConnectedEditor  # noqa: PLC0415 -- as above

            self._editor_tools = ConnectedEditor(self.id, self.name, self.connection)
            self.services.memory.remember()
        return self._editor_tools

    async def reports(self) -> "Reports":
        """What it says of the files it has open."""
        projects = await self.projects()
        if self._reports is None:
            self._reports = self._make_reports(projects)
        return self._reports

    def _make_reports(self, projects: "OpenProjects") -> "Reports":
        """What keeps its reports; here for a client whose buffers nobody writes to."""
        from sould.agents.clients.review.reports import Reports  # noqa: PLC0415 -- as above

        return Reports(projects, None, self.name)

    @property
    def known_reports(self) -> "Reports | None":
        """`reports`, once it has said something."""
        return self._reports

    async def reports_taken(self) -> None:
        """What it said by now of the files it has open is known when this returns."""
        if self._reports is not None:
            await self._reports.all_taken()

    async def leave(self) -> None:
        """The client is gone. Its turns go on, or end, as the configuration says (D12)."""
        if self._inbox is not None:
            self._inbox.end()
        if self._host is not None:
            self._host.editors.remove(self.id)
        if self._projects is not None:
            await self._projects.aclose()

    # --- what must outlive the daemon (D11) ---------------------------------------------------------------------------

    def private(self) -> bytes:
        """See `Resumable`."""
        return b""

    def moved(self) -> "Mapping[str, Cursor] | None":
        """See `Resumable`."""
        return None

    def snapshot(self) -> ConnectionRecord:
        """See `Resumable`."""
        connection = self.connection
        return ConnectionRecord(
            client_id=self.id,
            client_name=self._own_name(),
            initialize=self._initialize,
            sessions=self._shown(),
            unanswered=self._unanswered(),
            asked=tuple(connection.asked),
            followed=self._projects.followed if self._projects is not None else (),
            reported=self._reports is not None,
            inbox=self._inbox is not None and self._inbox.is_followed,
            serves_tools=self._editor_tools is not None,
            unsure=connection.is_noting,
        )

    def _own_name(self) -> str:
        """What the client calls itself; "" before it has said so."""
        return ""

    def _shown(self) -> dict[str, AttachedSession]:
        """The sessions it shows, by id."""
        return {}

    def _unanswered(self) -> tuple[Unanswered, ...]:
        return tuple(Unanswered(each.id, each.method[:60]) for each in self.connection.unanswered.values())


class LateHandler:
    """A `Handler` in the place of one that the first call loads, but for `initialize`, which is answered at once."""

    def __init__(self, load: LoadHandler, initialize: Initialize) -> None:
        self._load = load
        self._initialize: Initialize = initialize
        self._turn = asyncio.Lock()
        """Held by who waits for the handler. It is fair, so that what came later does not overtake."""
        self._handler: Handler | None = None

    async def request(self, method: str, params: Params) -> Any:
        """See `Handler`."""
        if method == "initialize":
            return await self._initialize(params)
        return await (await self._loaded()).request(method, params)

    async def notification(self, method: str, params: Params) -> None:
        """See `Handler`."""
        await (await self._loaded()).notification(method, params)

    async def _loaded(self) -> Handler:
        async with self._turn:
            if self._handler is None:
                self._handler = await self._load()
            return self._handler
