"""The state of one ACP connection: who the client is, what it can do, which sessions it shows.

Handlers get this object and typed parameters; ids, bytes and error codes stay in the connection below.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from sould.acp.clients import follows_as, reviews_as
from sould.acp.connection.mcp_servers import ClientServers, McpCarrier
from sould.acp.introduction import ClientCapabilities, Implementation, Introduction
from sould.acp.outbound import Json
from sould.agents.base.rpc.errors import INVALID_REQUEST, RpcError
from sould.agents.base.rpc.messages import Request, RequestId
from sould.agents.clients.connections import AttachedSession, ConnectionRecord, ConnectionServices, Unanswered
from sould.agents.clients.frontend.connection import MOST_SIGNED, ClientConnection

if TYPE_CHECKING:
    from sould.acp.connection.attachment import Attachment
    from sould.acp.connection.clienttools import ClientTools
    from sould.agents.base.workspace import TextFiles
    from sould.agents.clients.review.projects import OpenProjects
    from sould.agents.clients.review.reports import Reports
    from sould.agents.llm.given import GivenServer
    from sould.agents.sessions.port import SessionPort
    from sould.agents.soul.hooks.events import Subscription
    from sould.agents.wire.stream import Cursor


class Accounts(Protocol):
    """The keys of model providers."""

    async def usable(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the providers that can be used with this environment; empty: the user must sign in."""
        ...

    async def forget(self) -> None:
        """Remove the keys that `sould login` stored."""
        ...


NOT_FOUND = -32002
PROMPT = "session/prompt"
BARE = (
    "This editor passes on almost nothing of your environment, not even HOME, so keys and settings of your shell are "
    "missing here. Give them in its `env`: see “Connect your editor” in sould's README."
)


class AcpClient(ClientConnection):
    """One client of the protocol."""

    def __init__(self, services: ConnectionServices, accounts: Accounts | None) -> None:
        """`accounts` None: signing in and out are not offered."""
        super().__init__(services)
        self.accounts = accounts
        self.introduction: Introduction | None = None
        self.attachments: dict[str, Attachment] = {}
        self._carrier: McpCarrier | None = None
        self._tools: ClientTools | None = None
        """The calls of its own tools; made with its first session."""
        self.given: GivenServer | None = None
        """The model server that it has set for the sessions it opens."""
        self.given_unknown = False
        """It has set one that is not known: it is being asked, or was set before sould was stopped."""
        self._noted: dict[RequestId, tuple[Request, Unanswered]] = {}
        """Its unanswered requests, as they were last remembered."""
        told = services.memory.resume or services.client.environment.get("HOME")
        self._remarks = [] if told else [BARE]

    # --- who it is ----------------------------------------------------------------------------------------------------

    @property
    def carrier(self) -> McpCarrier:
        """What carries the messages of the MCP servers that this client serves itself."""
        if self._carrier is None:
            self._carrier = McpCarrier(self.id, self.connection)
        return self._carrier

    @property
    def capabilities(self) -> ClientCapabilities:
        """What the client can do; nothing before `initialize`."""
        return self.introduction.capabilities if self.introduction else ClientCapabilities()

    @property
    def info(self) -> Implementation | None:
        """Who the client says it is."""
        return self.introduction.client if self.introduction else None

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

    def introduce(self, introduction: Introduction, params: Json) -> None:
        """The client said who it is and what it can do; `params` are its words."""
        self.introduction = introduction
        self._initialize = params

    def require_initialized(self) -> None:
        """Refuse work before the handshake."""
        if self.introduction is None:
            raise RpcError(INVALID_REQUEST, "The connection is not initialised: send `initialize` first.")

    def give(self, server: "GivenServer | None", *, unknown: bool = False) -> None:
        """It has set this model server, or none."""
        self.given, self.given_unknown = server, unknown

    # --- sessions ---------------------------------------------------------------------------------------------------

    def _make_reports(self, projects: "OpenProjects") -> "Reports":
        from sould.agents.clients.review.reported import RequestedEdits  # noqa: PLC0415 -- as in `projects`
        from sould.agents.clients.review.reports import Reports  # noqa: PLC0415 -- as above

        edits = RequestedEdits(self.connection) if self.capabilities.own.buffers else None
        return Reports(projects, edits, self.name)

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
        from sould.acp.connection.attachment import Attachment  # noqa: PLC0415 -- initialize is answered without Wire's models
        from sould.acp.connection.clienttools import ClientTools  # noqa: PLC0415 -- as above
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
            pending=before.prompts.pending if before is not None else PendingPrompts(self.id),
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
        from sould.acp.connection.following import FollowingClient, Point  # noqa: PLC0415 -- as above

        def shown(session_id: str) -> Point | None:
            attachment = self.attachments.get(session_id)
            return attachment.point if attachment is not None else None

        self._host.editors.add(FollowingClient(self.id, name, shown))

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
        """The client is gone; the servers it served end."""
        self.carrier.end()
        for session_id, attachment in tuple(self.attachments.items()):
            attachment.end()
            if self._host is not None:
                await self._host.detach(session_id, self.id)
        self.attachments.clear()
        await super().leave()

    def workspace(self, inner: "TextFiles", session_id: str) -> "TextFiles | None":
        """The client's buffers over the disk, when it offers any."""
        from sould.acp.connection.workspace import ClientTexts  # noqa: PLC0415 -- as above

        able = self.capabilities
        if not able.read_text_file and not able.write_text_file:
            return None

        def tell(note: str) -> None:
            host = self._host
            session = host.live(session_id) if host else None
            if session is not None:
                session.context.tell(note)

        return ClientTexts(
            inner,
            self.connection.request,
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

    def private(self) -> bytes:
        """See `Resumable`: the MCP servers and the model server it brought."""
        from sould.acp.connection.handing import pack  # noqa: PLC0415 -- as above

        return pack({key: attachment.servers for key, attachment in self.attachments.items()}, self.given)

    def snapshot(self) -> ConnectionRecord:
        """See `Resumable`."""
        return replace(super().snapshot(), gives_models=self.given is not None or self.given_unknown)

    def moved(self) -> "Mapping[str, Cursor] | None":
        """See `Resumable`."""
        about = self.connection.take_about()
        if not about <= self.attachments.keys():
            return None
        return {session_id: self.attachments[session_id].follower.cursor for session_id in about}

    def _own_name(self) -> str:
        return _name(self.info)

    def _shown(self) -> dict[str, AttachedSession]:
        return {key: attachment.remembered for key, attachment in self.attachments.items()}

    def _unanswered(self) -> tuple[Unanswered, ...]:
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
        if attachment is None or not attachment.prompts.pending:
            return ""
        others = {noted.turn_id for _, noted in self._noted.values()}
        return next((turn for turn in attachment.prompts.pending.turns if turn not in others), "")


def _name(info: Implementation | None) -> str:
    return (info.title or info.name) if info else ""


def _session_of(params: Json) -> str:
    value = params.get("sessionId")
    return value[:64] if isinstance(value, str) else ""
