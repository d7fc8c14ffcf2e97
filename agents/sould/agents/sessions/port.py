"""A session as a frontend sees it: everything a client may do with one, typed, whatever the protocol.

What the agent works on are `turns`; all else is an operation with a typed result, which every client of the session is shown
as an event. The port holds nothing and knows no protocol; frontends reach no part of a session past it (`scripts/house.py` sees
to it). Nothing here waits for a client.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sould.agents.journal.channel import Cursor, Record
from sould.agents.mcp.results import ResourceDefinition
from sould.agents.sessions.follower import FollowerSink, Outlet, SessionFollower
from sould.agents.sessions.pendingprompts import recorded_end
from sould.agents.sessions.store.store import SessionInfo
from sould.agents.soul.hooks.events import Subscription as HookSubscription
from sould.agents.soul.session_request import Client
from sould.agents.wire.messages import StatusUpdate, TurnEnd, WireRequest

if TYPE_CHECKING:
    from sould.agents.sessions.session import Session


class SessionPort:
    """One live session. Two ports of a session are equal.

    Parts that frontends use as they are, are public. The rest says how it stands, and is what its clients follow.
    """

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.id = session.id
        self.clients = session.parts.attached
        """Who looks at it now, and answers; `attach` and `detach` change it."""
        self.turns = session.turns
        """Prompts, steering, cancelling."""
        self.travel = session.travel
        """Going back and returning between turns."""
        self.loops = session.loops
        self.queue = session.queue
        """The prompts that wait; all clients are shown it with every change."""
        self.tasks = session.parts.work.tasks
        self.client_tools = session.parts.client_tools
        """Those that clients run for the agent."""
        self.options = session.parts.choices.options
        """What can be chosen; a choice is told to all clients."""
        self.commands = session.commands
        """The slash commands on offer."""
        self.plan_mode = session.parts.services.permission.plan_mode
        self.context = session.parts.operations.context
        """What fills the model's window; what the model must know of a client is told here."""
        self.applying = session.parts.operations.applying
        """Puts a text of the agent's into a file, pending in the review."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionPort) and other._session is self._session

    def __hash__(self) -> int:
        return hash(self._session)

    @property
    def info(self) -> SessionInfo:
        """Title, directory, times: what a list shows."""
        return self._session.info

    @property
    def closed(self) -> bool:
        """It has left the memory; nothing can be done with it any more."""
        return self._session.closed.is_set()

    @property
    def resources(self) -> Mapping[str, tuple[ResourceDefinition, ...]]:
        """What its MCP servers let a prompt mention as it is, by server, as far as they are connected."""
        servers = self._session.parts.mcp.servers.items()
        return {name: tuple(each for each in server.resources if not each.template) for name, server in servers}

    @property
    def hook_counts(self) -> Mapping[str, int]:
        """How many hooks there are for each event, of the configuration and of clients."""
        return self._session.parts.hooks.hooks.counts()

    @property
    def pending(self) -> Sequence[WireRequest]:
        """What nobody has answered, oldest first."""
        return tuple(self._session.log.channel.pending)

    @property
    def usage(self) -> StatusUpdate | None:
        """How full the model's window is and what the session has cost; None before a model has counted anything."""
        return self._session.usage

    @property
    def position(self) -> Cursor:
        """Where a client stands that has seen everything."""
        return self._session.log.channel.position

    def follow(self, sink: FollowerSink, outlet: Outlet) -> SessionFollower:
        """What was said and what happens, fed to a frontend's `sink` as fast as the `outlet` takes it."""
        return SessionFollower(self._session.log, sink, outlet, self.id)

    async def end_of(self, turn_id: str) -> TurnEnd:
        """How a turn ended that does not run any more; one that was never begun ends as interrupted."""
        return await recorded_end(turn_id, self._session.log.replay())

    async def commit(self) -> None:
        """What was said so far is in the journal on disk when this returns.

        Raises:
            JournalFullError: the disk refuses.
        """
        await self._session.log.commit()

    def attach(
        self, client: Client, since: Cursor | None = None, *, hooks: Sequence[HookSubscription] = ()
    ) -> Sequence[Record]:
        """A client looks at this session; its buffers serve the tools, and its `hooks` are asked, from now on.

        The notices that it is to be told, because nobody was there when they came, or because they came from `since` on.
        """
        news = self._session.attach(client, since)
        self._session.parts.hooks.hooks.subscribe(client.id, list(hooks))
        return news

    def detach(self, client_id: str) -> None:
        """A client is gone or looks elsewhere. The turn goes on (D12)."""
        self._session.detach(client_id)

    def miss_servers(self, names: Iterable[str]) -> None:
        """MCP servers that a client had brought to a daemon that was killed: each is said to be missing."""
        self._session.parts.mcp.miss(tuple(names))

    async def commit_message(self) -> str:
        """A message for the commit of what is staged, else of what the user accepted of the session, by its model.

        It is asked aside: nothing of it is part of the conversation. A running turn goes on.

        Raises:
            NothingToCommitError
            ProviderError: the model did not answer.
        """
        return await self._session.side_questions.answer(await self._session.parts.operations.committing.question())
