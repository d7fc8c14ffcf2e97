"""A session as a frontend sees it: everything a client may do with one, typed, whatever the protocol.

Prompts are turns (`prompt`, `steer`, `cancel`, `answer`); all else is an operation with a typed result, which every client
of the session is shown as an event. The port holds nothing and knows no protocol; frontends reach no part of a session
past it (`scripts/house.py` sees to it). Nothing here waits for a client.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from sould.agents.journal.channel import Cursor, Record, Resolution
from sould.agents.mcp.results import ResourceDefinition
from sould.agents.sessions.commands.slash import SlashCommand
from sould.agents.sessions.follower import FollowerSink, Outlet, SessionFollower
from sould.agents.sessions.operations.travel import (
    NothingToGoTo,
    Returned,
    Timeline,
    TookKeptBack,
    TravelResult,
    WentBack,
    travelled,
)
from sould.agents.sessions.pendingprompts import recorded_end
from sould.agents.sessions.store.store import SessionInfo
from sould.agents.sessions.turns.operating import OperationWork
from sould.agents.sessions.turns.turns import Prompt
from sould.agents.soul.compaction.breakdown import Breakdown
from sould.agents.soul.hooks.events import Subscription as HookSubscription
from sould.agents.soul.session_request import Client
from sould.agents.tools.external.registry import Registration
from sould.agents.wire.content import UserInput
from sould.agents.wire.messages import Response, StatusUpdate, TurnEnd, WireRequest
from sould.agents.wire.notice import notice

if TYPE_CHECKING:
    from sould.agents.sessions.session import Session


TravelT = TypeVar("TravelT", bound=TravelResult)


class SessionPort:
    """One live session. Two ports of a session are equal.

    Parts that frontends use as they are, are public. The rest is in four groups: how it stands; what its clients follow; turns
    and what they ask; operations, of which some wait for the running turn and one is done at once.
    """

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.clients = session.clients
        """Who looks at it now; `attach` and `detach` change it."""
        self.queue = session.queue
        """The prompts that wait; all clients are shown it with every change."""
        self.tasks = session.tasks
        self.options = session.options
        """What can be chosen; a choice is told to all clients."""
        self.applying = session.operations.applying
        """Puts a text of the agent's into a file, pending in the review."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionPort) and other._session is self._session

    def __hash__(self) -> int:
        return hash(self._session)

    # --- how it stands ----------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The session's id."""
        return self._session.id

    @property
    def info(self) -> SessionInfo:
        """Title, directory, times: what a list shows."""
        return self._session.info

    @property
    def closed(self) -> bool:
        """It has left the memory; nothing can be done with it any more."""
        return self._session.closed.is_set()

    @property
    def running(self) -> bool:
        """A turn runs."""
        return self._session.running

    @property
    def looping(self) -> bool:
        """A loop is what runs."""
        return self._session.looping

    @property
    def busy(self) -> int:
        """How many turns and operations run or wait."""
        return self._session.busy

    @property
    def to_finish(self) -> int:
        """How many of them would be interrupted if the daemon ended now."""
        return self._session.to_finish

    @property
    def breakdown(self) -> Breakdown:
        """What fills the model's window, estimated."""
        return self._session.operations.context.breakdown

    @property
    def resources(self) -> Mapping[str, tuple[ResourceDefinition, ...]]:
        """What its MCP servers let a prompt mention as it is, by server, as far as they are connected."""
        servers = self._session.mcp.servers.items()
        return {name: tuple(each for each in server.resources if not each.template) for name, server in servers}

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """What is asked of it now: the running turn's prompt, and those that wait."""
        return self._session.prompts

    @property
    def resumed(self) -> Prompt | None:
        """The turn that was begun before the daemon stopped and now goes on."""
        return self._session.resumed

    @property
    def pending(self) -> Sequence[WireRequest]:
        """What nobody has answered, oldest first."""
        return tuple(self._session.log.channel.pending)

    @property
    def usage(self) -> StatusUpdate | None:
        """How full the model's window is and what the session has cost; None before a model has counted anything."""
        return self._session.usage

    def commands(self) -> tuple[SlashCommand, ...]:
        """The slash commands on offer."""
        return self._session.commands()

    # --- clients ----------------------------------------------------------------------------------------------------

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
        self._session.hooks.hooks.subscribe(client.id, list(hooks))
        return news

    def detach(self, client_id: str) -> None:
        """A client is gone or looks elsewhere. The turn goes on (D12)."""
        self._session.detach(client_id)

    def miss_servers(self, names: Iterable[str]) -> None:
        """MCP servers that a client had brought to a daemon that was killed: each is said to be missing."""
        self._session.mcp.miss(tuple(names))

    def tell_model(self, note: str) -> None:
        """Something about the client that the model must know, such as what became of its buffers."""
        self._session.operations.context.tell(note)

    # --- turns ------------------------------------------------------------------------------------------------------

    def prompt(self, user_input: UserInput, client_id: str) -> Prompt:
        """Ask for a turn; it is queued behind a running one. Synchronous, so that a cancel right behind finds it."""
        return self._session.prompt(user_input, client_id)

    def steer(self, user_input: UserInput) -> bool:
        """Give the running turn more input, delivered before its next step. False when nothing runs."""
        return self._session.steer(user_input)

    def cancel(self, client_id: str | None) -> None:
        """Cancel the running turn, whoever asked for it, and what waits of this client (of everybody for None)."""
        self._session.cancel(client_id)

    def answer(self, response: Response, client_id: str) -> Resolution:
        """Answer a pending request; the first answer wins and everybody sees it."""
        return self._session.answer(response, client_id)

    def register_tools(self, tools: Sequence[Mapping[str, object]], client_id: str) -> Registration:
        """The tools that an attached client runs, in place of those it registered before; they go when it is detached.

        Each has `name`, `description`, `parameters` (a JSON schema) and `kind`.
        """
        return self._session.register_tools(tools, client_id)

    def answer_tool_call(self, call_id: str, answer: object, client_id: str) -> Resolution:
        """What a `ToolCallRequest` came to, by the client whose tool it is: Wire's `return_value`; anything else is an error."""
        return self._session.answer_tool_call(call_id, answer, client_id)

    # --- operations that wait for the running turn -------------------------------------------------------------------
    #
    # They come before the prompts that wait. All raise OperationCancelledError when the client cancels before they have
    # begun, or the session ends, and JournalFullError when the disk refuses.

    def timeline(self) -> Timeline:
        """The places to go back to, as things are now."""
        return self._session.operations.travel.timeline()

    async def rewind(self, checkpoint: int, client_id: str) -> WentBack | NothingToGoTo:
        """Context and files as they were at a checkpoint."""
        return await self._travel(client_id, lambda: self._session.operations.travel.rewind(checkpoint))

    async def undo(self, client_id: str, *, kept: bool = False) -> WentBack | TookKeptBack | NothingToGoTo:
        """To before the last turn, or to before a clearing since which there was none; `kept`: see `TimeTravel.undo`."""
        return await self._travel(client_id, lambda: self._session.operations.travel.undo(kept=kept))

    async def redo(self, client_id: str) -> Returned | NothingToGoTo:
        """To where the last undo or rewind left from, as long as nobody went on from there."""
        return await self._travel(client_id, self._session.operations.travel.redo)

    async def _travel(self, client_id: str, work: OperationWork[TravelT]) -> TravelT:
        async def travel() -> TravelT:
            done = await work()
            if not isinstance(done, NothingToGoTo):
                self._session.log.publish(notice("history", *travelled(done)))
                await self._session.log.commit()
            return done

        return await self._session.between_turns(client_id, travel)

    # --- operations at once -------------------------------------------------------------------------------------------

    async def commit_message(self) -> str:
        """A message for the commit of what is staged, else of what the user accepted of the session, by its model.

        It is asked aside: nothing of it is part of the conversation. A running turn goes on.

        Raises:
            NothingToCommitError
            ProviderError: the model did not answer.
        """
        return await self._session.commit_message()
