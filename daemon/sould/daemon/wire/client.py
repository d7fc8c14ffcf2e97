"""One Wire connection: who the client is, what it reads, and the session that it drives."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from sould.agents.base.errors import OptionError, SouldError
from sould.agents.clients.connections import AttachedSession, ConnectionServices, Unanswered
from sould.agents.clients.frontend.connection import ClientConnection
from sould.agents.sessions.pendingprompts import PendingPrompts
from sould.agents.sessions.port import SessionPort
from sould.agents.soul.hooks.events import Subscription
from sould.agents.soul.session_request import SessionRequest
from sould.agents.wire.stream import Cursor, Record
from sould.daemon.wire.arguments import WireArguments
from sould.daemon.wire.params import InitializeParams, Own
from sould.daemon.wire.session import WireSession
from sould.daemon.wire.versions import UNINTRODUCED, Json, WireReader, unread_by, version_of

PROMPT = "prompt"


class WireClient(ClientConnection):
    """One client of the protocol. Its session is opened with the first thing it asks for."""

    def __init__(self, services: ConnectionServices, arguments: WireArguments) -> None:
        super().__init__(services)
        self._arguments = arguments
        self._said: InitializeParams | None = None
        self._reader = WireReader()
        self._opening = asyncio.Lock()
        self._open: WireSession | None = None
        self._missed: Sequence[Record] = ()
        """Notifications that nobody has heard."""

    # --- who it is ----------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """See `ClientConnection`."""
        return self._own_name() or "a Wire client"

    def _own_name(self) -> str:
        return self._said.client.name if self._said is not None and self._said.client is not None else ""

    @property
    def speaks_for_user(self) -> bool:
        """See `Client`: it can be asked questions."""
        return self._reader.questions and self._own.role == "controller"

    @property
    def _own(self) -> Own:
        return self._said.sould if self._said is not None else Own()

    def introduce(self, said: InitializeParams, params: Json) -> None:
        """The client said who it is and what it reads; `params` are its words."""
        self._said, self._initialize = said, params
        version = version_of(said.protocol_version)
        able = said.capabilities
        if said.client is None and able is None:
            version = min(version, UNINTRODUCED)
        self._reader = WireReader(
            version,
            questions=able is not None and able.supports_question,
            extensions=self._own.extensions,
            unread=unread_by(said.client.name if said.client is not None else ""),
        )

    def require_initialized(self) -> None:
        """See `ClientConnection`: a client need not introduce itself."""

    @property
    def share(self) -> Path | None:
        """See `WireArguments`."""
        return self._arguments.share

    # --- its session --------------------------------------------------------------------------------------------------

    @property
    def opened(self) -> WireSession | None:
        """Its session, once it is open."""
        return self._open

    async def session(self) -> WireSession:
        """Its session, which the first call opens and shows. Raises SouldError: it cannot be opened."""
        async with self._opening:
            if self._open is None:
                await self._open_first()
                self.begin()
        assert self._open is not None
        return self._open

    def begin(self) -> None:
        """Show the session from now on."""
        assert self._open is not None
        self._open.begin(self._missed)

    async def introduced(self) -> WireSession:
        """Its session as it is to be after `initialize`: shown from the answer on."""
        async with self._opening:
            if self._open is not None:
                self._open.end()
                shown = self._show(self._open.session)
                shown.hold()
                return shown
            return await self._open_first()

    async def _open_first(self) -> WireSession:
        """Attached before anything is chosen in it, so that this client chooses, and its choice is not the project's."""
        live = (await self.host()).sessions.keys()
        session = await self._found()
        shown = self._show(session)
        shown.hold()
        try:
            await self._set_up(session, live=session.id in live)
        except SouldError:
            self._open = None
            shown.end()
            host = await self.host()
            await (host.close if session.info.blank else host.detach)(session.id, self.id)
            raise
        if self._arguments.share is not None:
            await (await self.host()).note_latest(self._arguments.share, session)
        return shown

    async def open_again(self, session_id: str, attached: AttachedSession) -> None:
        """The session that an earlier daemon showed, from where it stopped."""
        opening = self._request(attached.cwd, tuple(attached.additional))
        session = await (await self.host()).open(session_id, opening)
        shown = self._show(session)
        if self._said is not None and self._said.external_tools:
            session.client_tools.register(self._said.external_tools, self.id)
        await shown.begin_again(Cursor(attached.seq, attached.offset))

    def _show(self, session: SessionPort) -> WireSession:
        hooks = self._said.hooks if self._said is not None else ()
        self._missed = session.attach(
            self, hooks=[Subscription(each.id, each.event, each.matcher, each.timeout) for each in hooks]
        )
        pending = self._open.pending if self._open is not None else PendingPrompts(self.id)
        self._open = WireSession(session, self.connection, self.id, self._reader, self._own, pending)
        return self._open

    async def _found(self) -> SessionPort:
        """The session that the command line means."""
        arguments, host = self._arguments, await self.host()
        directory = str(arguments.directory)
        if arguments.share is not None:
            opening = self._request(directory)
            return await host.open_for_kimi(arguments.share, opening, arguments.session, latest=arguments.latest)
        if arguments.session:
            stored = host.stored.find(arguments.session)
            return await host.open(stored.info.id, self._request(str(stored.info.cwd)))
        if arguments.latest:
            page = await host.stored.list(arguments.directory, None, 1)
            if not page.items:
                raise OptionError(f"There is no session in {directory} to continue; leave --continue out to start one.")
            return await host.open(page.items[0].id, self._request(directory))
        return await host.new(self._request(directory))

    async def _set_up(self, session: SessionPort, *, live: bool) -> None:
        """Choose what the command line says, in a session that may have been `live` before. Raises OptionError."""
        arguments = self._arguments
        modes = [("mode", mode) for mode in arguments.modes]
        for option, value in [("agent", arguments.agent), ("model", arguments.model), *modes]:
            if value:
                await session.options.choose(option, value, self.id)
        offered = {option.id: option.value for option in session.options.all()}
        level = offered.get("thought_level")  # of models that reason
        if (
            arguments.share is not None
            and not arguments.modes
            and offered["mode"] in ("review", "full" if live else "")
        ):
            # programs for kimi-cli expect to be asked, whatever the session's other clients prefer
            await session.options.choose("mode", "ask", self.id)
        if arguments.thinking is not None and level is not None and arguments.thinking != (level != "off"):
            await session.options.choose("thought_level", "high" if arguments.thinking else "off", self.id)

    def _request(self, cwd: str, additional: tuple[str, ...] | None = None) -> SessionRequest:
        process, arguments = self.services.client, self._arguments
        more = tuple(map(Path, additional)) if additional is not None else arguments.additional
        return SessionRequest(
            cwd=Path(cwd),
            additional=more,
            environment=process.environment,
            umask=process.umask,
            default_mode="ask",
            configuration=arguments.configuration,
            mcp_servers=arguments.servers,
            origin="wire",
            capabilities=self._capabilities,
        )

    @property
    def _capabilities(self) -> frozenset[str]:
        """By the names that conditional tools ask for."""
        able = self._said.capabilities if self._said is not None else None
        if able is None:
            return frozenset()
        offered = {"questions": able.supports_question, "plan_mode": able.supports_plan_mode}
        return frozenset(name for name, supported in offered.items() if supported)

    async def leave(self) -> None:
        """The client is gone."""
        if self._open is not None:
            session = self._open.session
            self._open.end()
            if self.connection.gone and self._arguments.share is not None and "afk" in self._arguments.modes:
                # nobody was there for this program only: who stays in the session is asked again
                await session.options.choose("mode", "ask", self.id)
            await (await self.host()).detach(session.id, self.id)
        await super().leave()

    # --- what must outlive the daemon (D11) ---------------------------------------------------------------------------

    def moved(self) -> "Mapping[str, Cursor] | None":
        """See `Resumable`."""
        about = self.connection.take_about()
        if self._open is None or about != {self._open.session.id}:
            return None
        return {self._open.session.id: self._open.follower.cursor}

    def _shown(self) -> dict[str, AttachedSession]:
        return {self._open.session.id: self._open.remembered} if self._open is not None else {}

    def _unanswered(self) -> tuple[Unanswered, ...]:
        turns = iter(self._open.pending.turns if self._open is not None else ())
        session = self._open.session.id if self._open is not None else ""
        return tuple(
            Unanswered(each.id, each.method[:60], session, next(turns, "") if each.method == PROMPT else "")
            for each in self.connection.unanswered.values()
        )
