"""The state of one ACP connection: who the client is, what it can do, which sessions it shows.

Handlers get this object and typed parameters; ids, bytes and error codes stay in the connection below.
"""

import os
from typing import TYPE_CHECKING

from sould.acp.client.client_mcp_servers import ClientServers, pack
from sould.acp.client.mcp import McpCarrier
from sould.acp.clients import follows_as, reviews_as
from sould.acp.connection.services import Accounts
from sould.acp.introduction import ClientCapabilities, Implementation, Introduction
from sould.acp.outbound import Json
from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import INVALID_REQUEST, RpcError
from sould.agents.base.rpc.messages import Request, RequestId
from sould.agents.clients.connections import ConnectionRecord, ConnectionServices, Unanswered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sould.acp.client.clienttools import ClientTools
    from sould.acp.connection.attachment import Attachment
    from sould.agents.base.workspace import Workspace
    from sould.agents.clients.editor.client import ConnectedEditor
    from sould.agents.clients.inbox.feed import FollowedInbox
    from sould.agents.clients.review.projects import OpenProjects
    from sould.agents.clients.review.reports import Reports
    from sould.agents.sessions.hostport import HostPort
    from sould.agents.sessions.port import SessionPort
    from sould.agents.soul.hooks.events import Subscription
    from sould.agents.wire.stream import Cursor

NOT_FOUND = -32002
PROMPT = "session/prompt"
MOST_SIGNED = 100
"""Characters of a client's name or title that others are shown."""
BARE = (
    "This editor passes on almost nothing of your environment, not even HOME, so keys and settings of your shell are "
    "missing here. Give them in its `env`: see “Connect your editor” in sould's README."
)


class Peer:
    """One client; also the `Client` its sessions know."""

    def __init__(self, services: ConnectionServices, accounts: Accounts | None) -> None:
        """`accounts` None: signing in and out are not offered."""
        self.services = services
        self.accounts = accounts
        resume = services.memory.resume
        self.id = resume.client_id if resume else os.urandom(8).hex()
        self.client: Introduction | None = None
        self._initialize: Json = {}
        self.attachments: dict[str, Attachment] = {}
        self._connection: Connection | None = None
        self._carrier: McpCarrier | None = None
        self._tools: ClientTools | None = None
        """The calls of its own tools; made with its first session."""
        self._host: HostPort | None = None
        self._projects: OpenProjects | None = None
        self._inbox: FollowedInbox | None = None
        self._editor_tools: ConnectedEditor | None = None
        self._reports: Reports | None = None
        self._noted: dict[RequestId, tuple[Request, Unanswered]] = {}
        """Its unanswered requests, as they were last remembered."""
        self._remarks = [] if resume or services.client.environment.get("HOME") else [BARE]

    # --- the connection ---------------------------------------------------------------------------------------------

    @property
    def connection(self) -> Connection:
        """The connection below; set once, before it serves."""
        assert self._connection is not None
        return self._connection

    def connect(self, connection: Connection) -> None:
        """Set the connection below."""
        self._connection = connection
        self._carrier = McpCarrier(self.id, connection)

    @property
    def carrier(self) -> McpCarrier:
        """What carries the messages of the MCP servers that this client serves itself."""
        assert self._carrier is not None
        return self._carrier

    @property
    def capabilities(self) -> ClientCapabilities:
        """What the client can do; nothing before `initialize`."""
        return self.client.capabilities if self.client else ClientCapabilities()

    @property
    def info(self) -> Implementation | None:
        """Who the client says it is."""
        return self.client.client if self.client else None

    @property
    def name(self) -> str:
        """What people call this client."""
        return _name(self.info) or "an ACP client"

    @property
    def signature(self) -> str:
        """Who decides, as others are told: title and name, of which a client may have one or say the same twice."""
        title, name = _name(self.info)[:MOST_SIGNED], (self.info.name if self.info else "")[:MOST_SIGNED]
        return self.name[:MOST_SIGNED] if title.lower() == name.lower() or not name else f"{title} ({name})"

    @property
    def home(self) -> str:
        """Of its user: no project."""
        return self.services.client.environment.get("HOME") or os.path.expanduser("~")

    @property
    def speaks_for_user(self) -> bool:
        """See `Client`."""
        return self.capabilities.own.questions

    @property
    def chooses_for_project(self) -> bool:
        """See `Client`."""
        own = self.capabilities.own
        return own.questions and own.remember_choices

    def remark(self) -> str:
        """What its user should know about how the client was set up, once; empty: nothing (more)."""
        return self._remarks.pop() if self._remarks else ""

    def introduce(self, client: Introduction, params: Json) -> None:
        """The client said who it is and what it can do; `params` are its words."""
        self.client = client
        self._initialize = params

    def require_initialized(self) -> None:
        """Refuse work before the handshake."""
        if self.client is None:
            raise RpcError(INVALID_REQUEST, "The connection is not initialised: send `initialize` first.")

    # --- sessions ---------------------------------------------------------------------------------------------------

    async def host(self) -> "HostPort":
        """All sessions; the first call may import much."""
        if self._host is None:
            self._host = await self.services.host()
        return self._host

    async def projects(self) -> "OpenProjects":
        """The projects it reviews; the first call may import much."""
        host = await self.host()
        if self._projects is None:
            from sould.agents.clients.review.projects import OpenProjects  # noqa: PLC0415 -- as above

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
            self.remember()
        return self._editor_tools

    async def reports(self) -> "Reports":
        """What it says of the files it has open."""
        projects = await self.projects()
        if self._reports is None:
            from sould.agents.clients.review.reported import RequestedEdits  # noqa: PLC0415 -- as above
            from sould.agents.clients.review.reports import Reports  # noqa: PLC0415 -- as above

            edits = RequestedEdits(self.connection) if self.capabilities.own.buffers else None
            self._reports = Reports(projects, edits, self.name)
            self.remember()  # a notification leaves no answer with which that would be done
        return self._reports

    async def reports_taken(self) -> None:
        """What it said by now of the files it has open is known when this returns."""
        if self._reports is not None:
            await self._reports.all_taken()

    def attached(self, session_id: str) -> "Attachment":
        """A session this client shows."""
        attachment = self.attachments.get(session_id)
        if attachment is None or attachment.session.closed:
            sentence = f"There is no session {session_id[:64]!r} open here; open it with session/load or session/new."
            raise RpcError(NOT_FOUND, sentence, {"kind": "session_not_found", "details": sentence})
        return attachment

    def attach(
        self,
        session: "SessionPort",
        servers: ClientServers,
        since: "Cursor | None" = None,
        *,
        forked: bool = False,
    ) -> "Attachment":
        """Show a session in this client; one that was shown already begins anew. `since`: see `SessionPort.attach`.

        `forked`: the notices in it are another session's.
        """
        from sould.acp.client.clienttools import ClientTools  # noqa: PLC0415 -- as above
        from sould.acp.connection.attachment import Attachment  # noqa: PLC0415 -- initialize is answered without Wire's models
        from sould.acp.features import features_of  # noqa: PLC0415 -- as above
        from sould.agents.sessions.pendingprompts import PendingPrompts  # noqa: PLC0415 -- as above

        before = self.attachments.pop(session.id, None)
        missed_notifications = session.attach(self, since, hooks=self._subscriptions)
        if self._tools is None:
            self._tools = ClientTools(self.connection, self.id)
        attachment = Attachment(
            session,
            self.connection,
            self.id,
            features_of(self.capabilities, self.info),
            self._tools,
            missed_notifications=() if forked else missed_notifications,
            servers=servers,
            prompts=before.prompts if before is not None else PendingPrompts(self.id),
        )
        if before is not None:
            before.end(attachment)
        self.attachments[session.id] = attachment
        self._offer_to_go_along()
        return attachment

    def _offer_to_go_along(self) -> None:
        """A client whose user may follow the agent can be told where to look, unless it said itself what it can do."""
        name = follows_as(self.info)
        if not name or self._host is None or self._editor_tools is not None:
            return
        from sould.acp.client.following import FollowingClient  # noqa: PLC0415 -- as above

        self._host.editors.add(FollowingClient(self.id, name, self.attachments.get))

    @property
    def _subscriptions(self) -> "list[Subscription]":
        from sould.agents.soul.hooks.events import Subscription  # noqa: PLC0415 -- as above

        hooks = self.capabilities.own.hooks
        return [Subscription(hook.id, hook.event, hook.matcher, hook.timeout) for hook in hooks]

    def detach(self, session_id: str) -> None:
        """Stop showing a session."""
        attachment = self.attachments.pop(session_id, None)
        if attachment is not None:
            attachment.end()
            attachment.session.detach(self.id)

    async def leave(self) -> None:
        """The client is gone: its turns go on, or end, as the configuration says (D12); the servers it served end."""
        self.carrier.end()
        for session_id, attachment in tuple(self.attachments.items()):
            attachment.end()
            if self._host is not None:
                await self._host.detach(session_id, self.id)
        self.attachments.clear()
        if self._inbox is not None:
            self._inbox.end()
        if self._host is not None:
            self._host.editors.remove(self.id)
        if self._projects is not None:
            await self._projects.aclose()

    def workspace(self, inner: "Workspace", session_id: str) -> "Workspace | None":
        """The client's buffers over the disk, when it offers any."""
        from sould.acp.client.workspace import ClientWorkspace  # noqa: PLC0415 -- as above

        able = self.capabilities
        if not able.read_text_file and not able.write_text_file:
            return None

        def tell(note: str) -> None:
            host = self._host
            session = host.live(session_id) if host else None
            if session is not None:
                session.tell_model(note)

        return ClientWorkspace(
            inner,
            self.connection,
            session_id,
            reads=able.read_text_file,
            writes=able.write_text_file,
            tell=tell,
            reviews_as=reviews_as(self.info),
        )

    @property
    def shows_hunks(self) -> bool:
        """D20: clients known to show edits for review."""
        return self.capabilities.own.review or bool(reviews_as(self.info))

    # --- what must outlive the daemon (D11) -------------------------------------------------------------------------

    def remember(self) -> None:
        """Hand the daemon what the next one would need."""
        self.services.memory.remember()

    def private(self) -> bytes:
        """See `Resumable`: the MCP servers it brought."""
        return pack({key: attachment.servers.brought for key, attachment in self.attachments.items()})

    def moved(self) -> "Mapping[str, Cursor] | None":
        """See `Resumable`."""
        about = self.connection.take_about()
        if not about <= self.attachments.keys():
            return None
        return {session_id: self.attachments[session_id].cursor for session_id in about}

    def snapshot(self) -> ConnectionRecord:
        """See `Resumable`."""
        return ConnectionRecord(
            client_id=self.id,
            client_name=_name(self.info),
            initialize=self._initialize,
            sessions={key: attachment.remembered for key, attachment in self.attachments.items()},
            unanswered=self._unanswered(),
            asked=tuple(self.connection.asked),
            followed=self._projects.followed if self._projects is not None else (),
            reported=self._reports is not None,
            inbox=self._inbox is not None and self._inbox.is_followed,
            serves_tools=self._editor_tools is not None,
            unsure=self.connection.is_noting,
        )

    def _unanswered(self) -> "tuple[Unanswered, ...]":
        """Each request is noted once, a prompt as soon as its turn is known; with many sessions there are many of them."""
        before, self._noted = self._noted, {}
        for request in self.connection.unanswered.values():
            asked, noted = before.get(request.id, (None, None))
            known = noted if asked is request else None
            turn = known.turn_id if known is not None else ""
            turn = turn or self._turn_of(request)
            if known is None or known.turn_id != turn:
                known = Unanswered(request.id, request.method[:60], _session_of(request.params), turn)
            self._noted[request.id] = request, known
        return tuple(known for _, known in self._noted.values())

    def _turn_of(self, request: Request) -> str:
        """A session's prompts are taken in the order in which they came, so the turns are theirs in this order."""
        attachment = self.attachments.get(_session_of(request.params)) if request.method == PROMPT else None
        if attachment is None or not attachment.prompts:
            return ""
        others = {noted.turn_id for _, noted in self._noted.values()}
        return next((turn for turn in attachment.prompts.turns if turn not in others), "")


def _name(info: Implementation | None) -> str:
    return (info.title or info.name) if info else ""


def _session_of(params: Json) -> str:
    value = params.get("sessionId")
    return value[:64] if isinstance(value, str) else ""
