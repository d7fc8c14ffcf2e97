"""All sessions of one daemon: begun, opened from disk, listed, forked, closed.

A session is in memory while a client looks at it or a turn runs; everything else about it is in its journal. One
session's failure never touches another. The host speaks no protocol.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from sould.agents.base.errors import (
    ConfigError,
    DaemonLeavingError,
    JournalFullError,
    SouldError,
    WorkspaceGoneError,
)
from sould.agents.base.loglevel import LOG_LEVELS
from sould.agents.files.projects.housekeeping import clear_daily
from sould.agents.files.projects.projects import Projects
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.inbox import Inbox
from sould.agents.sessions.livesessions import LiveSessions
from sould.agents.sessions.loopkeeper import LoopKeeper
from sould.agents.sessions.loops.state import LoopState
from sould.agents.sessions.messagelog import logged_messages
from sould.agents.sessions.ownworktrees import OwnWorktrees
from sould.agents.sessions.services import HostServices
from sould.agents.sessions.session import Session
from sould.agents.sessions.session_builder import compose
from sould.agents.sessions.settings.state import load_state
from sould.agents.sessions.soulfactory import SoulChoice
from sould.agents.sessions.store.info import StoredSession
from sould.agents.sessions.store.waitingnotes import WaitingNotes
from sould.agents.sessions.storedsessions import StoredSessions
from sould.agents.sessions.worktrees.worktrees import Worktree
from sould.agents.soul.session_request import SessionRequest
from sould.agents.wire.messages import DirectoryAdded, GivenPrompt, SessionChanged, SystemPrompt
from sould.agents.wire.notice import notice

logger = logging.getLogger(__name__)

BLANK_S = 7 * 86_400
"""How long a session that holds nothing waits for a client that has not closed it."""
LONG = 100
"""Entries of a context that take about as much memory as a session without any."""


class SessionHost:
    """The live sessions and the store behind them. `serve` owns every session's task."""

    def __init__(self, services: HostServices, souls: SoulChoice) -> None:
        storage = services.storage
        self._services, self._souls, self._store = services, souls, storage.store
        self.sessions = LiveSessions()
        """The live ones by id."""
        self._group: asyncio.TaskGroup | None = None
        self._loops = LoopKeeper(storage, services.models, self.sessions, self._open)
        self.inbox = Inbox(self._store, WaitingNotes(storage.directory / "waiting", storage.writer.post))
        """What waits for a person, in live sessions and stored ones."""
        self.stored = StoredSessions(self._store, self.sessions, self._loops, self.inbox)
        """All that are kept, live or not."""
        self.worktrees = OwnWorktrees(services, self.sessions)
        """Those that sessions have of their own."""
        self._closing = asyncio.Event()
        self._handing_over = False
        self._opening = 0
        """How many sessions are being begun or opened now."""
        self._none_opening = asyncio.Event()
        self._none_opening.set()
        self._waiting_loops: set[asyncio.Task[None]] = set()
        self.started = asyncio.Event()
        self.ended = 0
        """How many sessions have left the memory; a long one counts for several."""
        self.rested = asyncio.Event()
        """Set when a session has come to rest or has ended; whoever waits for it clears it."""

    async def serve(self) -> None:
        """Own the sessions' tasks until `aclose`; all turns are ended and all journals closed when this returns."""
        with contextlib.closing(self._services.policy.changes):
            services = self._services
            async with services.mcp.running(), services.languages.running(), asyncio.TaskGroup() as group:
                self._group = group
                group.create_task(
                    asyncio.to_thread(self._store.forget_blank, time.time() - BLANK_S), name="blank sessions"
                )
                clearing = group.create_task(clear_daily(self.projects), name="old edits")
                self.started.set()
                await self._closing.wait()
                clearing.cancel()
                for session in self.sessions.values():
                    await session.aclose(handing_over=self._handing_over)
                for task in self._waiting_loops:
                    task.cancel()  # the turns they wait for end with another daemon
                await self._none_opening.wait()

    @property
    def projects(self) -> Projects:
        """Where the sessions' files are, and those of projects that have none."""
        return self._services.files.projects

    def follow_servers(self) -> None:
        """MCP servers that are not configured any more end; a session at work follows with its next turn."""
        for session in self.sessions.values():
            if not session.turns.busy:
                session.parts.mcp.follow()
        self._services.mcp.end_unused()

    async def require_model(self, opening: SessionRequest) -> None:
        """Raises NoModelError: no model can be used. What else keeps a model from answering, its sessions say."""
        if opening.configuration is not None:
            return
        with contextlib.suppress(ConfigError):
            self._services.configuration.live.look()
            await self._souls(opening).require_model(self._services, opening)

    async def new(self, opening: SessionRequest, *, session_id: str = "", share: Path | None = None) -> Session:
        """Begin a session. `session_id` and `share`: see `SessionStore.create`.

        Raises:
            WorkspaceGoneError: the directory does not exist.
            WorktreeError: it is to have a worktree of its own, and cannot.
        """
        if opening.worktree is not None:
            return await self._new_in_worktree(opening)
        async with self._opened():
            session = await self._begin(opening, session_id, share)
        self._take_up_loops(opening)
        return session

    async def _begin(self, opening: SessionRequest, session_id: str, share: Path | None) -> Session:
        self._require_directory(opening.cwd)
        stored = self._store.create(
            opening.cwd, additional=opening.additional, origin=opening.origin, session_id=session_id, share=share
        )
        rested = partial(self.came_to_rest, stored.info.id)
        try:
            log = await SessionLog.create(
                stored.directory, self._services.storage.writer, session_id=stored.info.id, cwd=opening.cwd
            )
            async with closed_on_error(log) as opened:
                parts = await compose(self._services, self._souls(opening), stored, log, opening, rested, opened)
                parts.choices.state.begin_in(opening.cwd)
                parts.choices.state.save(stored.directory)
                await log.commit()
                session = Session(parts, rested, partial(self._go_on_in_worktree, stored.info.id))
                self._start(session)
        except BaseException:
            self._store.take_back(stored.info.id)
            raise
        self.inbox.watch(session.parts.entry, session.log.channel)
        return session

    async def _new_in_worktree(self, opening: SessionRequest) -> Session:
        made, inside = await self.worktrees.opened(opening)
        try:
            session = await self.new(inside)
        except BaseException:
            await self.worktrees.discard(made, opening)
            raise
        session.parts.operations.context.tell(
            f"You work in {made.directory}, a git worktree of {made.repository} made for this session, on the branch "
            f"{made.branch}. What is not committed or not tracked there, such as installed dependencies, is not here."
        )
        return session

    async def open(self, session_id: str, opening: SessionRequest) -> Session:
        """The live session, or the stored one brought back; what a crash left open is closed honestly.

        Raises:
            SessionNotFoundError, SessionOpenElsewhereError, WorkspaceGoneError
        """
        session = await self._open(session_id, opening)
        self._take_up_loops(opening)
        return session

    async def _open(self, session_id: str, opening: SessionRequest) -> Session:
        async with self._opened(), self.sessions.lock(session_id):
            live = self.sessions.get(session_id)
            if live is not None:
                live.parts.entry.note_opening(opening.origin)
                live.parts.mcp.add(opening.mcp_servers)
                live.parts.operations.directories.add(opening.additional)
                live.parts.soul.instruct(opening.system_prompt)
                if opening.restricted is not None:
                    live.restrict(opening.restricted)
                _tell_other_server(live, opening)
                return live
            stored = self._store.find(session_id)
            rested = partial(self.came_to_rest, session_id)
            began = load_state(stored.directory).directory
            self._require_worktree(stored.info.cwd)
            self._require_same_directory(stored.info.cwd, opening.cwd, began)
            await _require_journal(stored)
            log = await SessionLog.open(stored.directory, self._services.storage.writer)
            async with closed_on_error(log) as opened:
                parts = await compose(self._services, self._souls(opening), stored, log, opening, rested, opened)
                session = Session(parts, rested, partial(self._go_on_in_worktree, session_id))
                self.inbox.watch(session.parts.entry, log.channel)
                opened.callback(self.inbox.unwatch, session_id)
                parts.entry.note_opening(opening.origin)
                if opening.configuration is not None and opening.configuration.server is not None:
                    # before it is asked anything: see `open_model_use`
                    parts.choices.state.save(stored.directory)
                await session.recover()
                self._start(session)
        return session

    def _take_up_loops(self, opening: SessionRequest) -> None:
        """A client of the project is here: loops that waited for its environment go on (D14)."""
        self._take_up(self._loops.of_project(opening.cwd), opening.environment, opening.umask)

    async def resume_loops(self, environment: Mapping[str, str], umask: int) -> None:
        """Loops that the last daemon's end cut off and that need no client go on, with the daemon's own `environment`."""
        self._take_up(await self._loops.by_themselves(environment), environment, umask)

    def _take_up(self, loops: Sequence[LoopState], environment: Mapping[str, str], umask: int) -> None:
        for loop in loops:
            if self._group is not None and not self._closing.is_set():
                opening = SessionRequest(loop.cwd, environment=environment, umask=umask)
                task = self._group.create_task(self._loops.take_up(loop, opening), name=f"loop {loop.session_id}")
                self._waiting_loops.add(task)
                task.add_done_callback(self._waiting_loops.discard)

    async def fork(self, session_id: str, opening: SessionRequest) -> Session:
        """A new session that begins with everything the other one has said and changed by now.

        Raises:
            As `new` and `open`; JournalFullError: the disk refuses.
        """
        source = self._store.find(session_id)
        await _require_journal(source)
        fork = await self.new(opening)
        try:
            if opening.worktree is None:  # else its files are others
                await fork.parts.operations.travel.rewinder.files.projects.inherit(session_id, source.directory)
        except OSError as error:
            raise JournalFullError(f"The edits of {session_id} cannot be saved: {error.strerror}.") from error
        given: GivenPrompt | None = None
        for message in SessionLog.finished_messages(source.directory):
            if isinstance(message, SystemPrompt):
                given = message.given
            elif not isinstance(message, SessionChanged | DirectoryAdded):
                fork.log.publish(message)
        if opening.system_prompt is None:
            fork.parts.soul.instruct(given)
        await fork.log.commit()
        fork.parts.entry.continue_from(source.info)
        return fork

    async def _go_on_in_worktree(self, session_id: str, name: str) -> tuple[str, Worktree]:
        """See `GoOnInWorktree`. What a client brought comes with the client that opens it."""
        source = self.sessions[session_id]
        restricted = True if source.restricted else None
        opening = replace(
            source.parts.services.workplace.opening,
            worktree=name,
            mcp_servers=(),
            mode=None,
            restricted=restricted,
            system_prompt=None,
        )
        fork = await self.fork(session_id, opening)
        worktree = self.worktrees.known.around(fork.info.cwd)
        assert worktree is not None, "it was made for it"
        self.stored.rename(fork.id, f"{source.info.title} ({worktree.name})".strip())
        await self.detach(fork.id, "")
        return fork.id, worktree

    async def detach(self, session_id: str, client_id: str) -> None:
        """A client vanished; the session stays as long as it has work or somebody looks (D12)."""
        session = self.sessions.get(session_id)
        if session is None:
            return
        session.detach(client_id)
        config = self._services.configuration.live
        if not session.parts.attached.any and config.look().daemon.on_last_detach == "cancel":
            session.turns.cancel(None)
            session.parts.work.tasks.cancel("The last client disconnected.")
        self._unload_soon(session)

    async def close(self, session_id: str, client_id: str) -> None:
        """A client closes the session: it is detached; with nobody left, work is cancelled and memory freed."""
        async with self.sessions.lock(session_id):
            session = self.sessions.get(session_id)
            if session is None:
                return
            if set(session.parts.attached.by_id) <= {client_id}:
                # the client stays until then: its hooks are told of the end
                cancelled = session.turns.prompts
                session.turns.cancel(None)
                for prompt in cancelled:  # ended by a person, before the session's end can be taken for the reason
                    await prompt.outcome()
                await self.sessions.unload(session, for_good=True)
                self._forget_blank(session)
            session.detach(client_id)

    async def aclose(self, reason: str, *, handing_over: bool = False) -> None:
        """End every turn as interrupted; `serve` returns when all is on disk. `handing_over`: the clients stay, see D11."""
        self._handing_over = handing_over
        logger.info("closing %d sessions: %s", len(self.sessions), reason)
        self._closing.set()

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncGenerator[None]:
        """The end of the host waits for the session that is opened meanwhile, so that nothing of it is left. Raises DaemonLeavingError."""
        if self._closing.is_set():
            raise DaemonLeavingError
        self._opening += 1
        self._none_opening.clear()
        try:
            yield
        finally:
            self._opening -= 1
            if not self._opening:
                self._none_opening.set()

    def _start(self, session: Session) -> None:
        if self._group is None or self._closing.is_set():
            raise DaemonLeavingError
        self.sessions.add(session)
        self._group.create_task(self._serve(session), name=f"session {session.id}")

    async def _serve(self, session: Session) -> None:
        environment = session.parts.services.workplace.opening.environment
        try:
            with LOG_LEVELS.marked(session.id, environment), logged_messages(session.log.channel):
                await session.serve()
        except Exception:  # the process main of a session: its failure is its own
            logger.exception("the session ended by a bug")
        finally:
            self.sessions.remove(session.id)
            self.inbox.unwatch(session.id)
            self.ended += 1 + session.log.context.settled // LONG
            self.rested.set()

    def came_to_rest(self, session_id: str) -> None:
        """Something of a session has come to rest: when nobody looks and nothing else of it runs, it leaves the memory."""
        session = self.sessions.get(session_id)
        if session is not None:
            session.menus.burst_over()
            self._unload_soon(session)

    def _unload_soon(self, session: Session) -> None:
        self.rested.set()
        if self._group is not None and not self._closing.is_set() and session.unused:
            self._group.create_task(self.sessions.unload_unused(session), name=f"unload {session.id}")

    def _forget_blank(self, session: Session) -> None:
        """Its last client has closed it, and there is nothing to come back to."""
        if session.info.blank:
            try:
                self._store.delete_blank(session.id)
            except SouldError as error:  # it is not listed either way
                logger.warning("blank session: %s", error.message)

    def _require_worktree(self, cwd: Path) -> None:
        removed = None if cwd.is_dir() else self.worktrees.known.around(cwd)
        if removed is not None:
            raise WorkspaceGoneError(
                f"The worktree of this session, {removed.name}, was removed. To make it again from its branch "
                f"{removed.branch}: sould worktree restore {removed.name}"
            )

    @staticmethod
    def _require_directory(cwd: Path) -> None:
        if not cwd.is_dir():
            raise WorkspaceGoneError(f"The directory {cwd} does not exist; open the session in one that does.")

    @staticmethod
    def _require_same_directory(stored: Path, asked: Path, began: str) -> None:
        if not stored.is_dir():
            raise WorkspaceGoneError(
                f"The directory of this session, {stored}, does not exist. If you moved it, continue in a fork: "
                "sould sessions fork SESSION --cwd ITS-NEW-PLACE"
            )
        if began and began != str(stored.resolve()):
            raise WorkspaceGoneError(
                f"{stored} now leads to {stored.resolve()}, but this session started in {began}; start a new one."
            )
        if stored.resolve() != asked.resolve():
            raise WorkspaceGoneError(
                f"This session belongs to {stored}, not to {asked}; open it there or start a new one."
            )


def _tell_other_server(live: Session, opening: SessionRequest) -> None:
    """A client wants a model server of its own for a session that is open with another."""
    wanted = opening.configuration.server if opening.configuration is not None else None
    own = live.parts.services.workplace.opening.configuration
    if wanted is not None and not wanted.is_asked_as(own.server if own is not None else None):
        said = (
            "This session is open already, and does not ask the model server that your editor has set. To have it do so, "
            "close it wherever it is open, and open it again."
        )
        live.log.publish(notice("models", "Model server", said, severity="warning"))


async def _require_journal(stored: StoredSession) -> None:
    """What another program wrote of the session becomes a journal of ours. Raises as `convert`."""
    if stored.directory.is_symlink():
        from sould.agents.sessions.store.kimijournal import convert  # noqa: PLC0415 -- only sessions in kimi's layout

        await asyncio.to_thread(convert, stored.directory, stored.info.cwd)


@contextlib.asynccontextmanager
async def closed_on_error(log: SessionLog) -> AsyncGenerator[contextlib.AsyncExitStack, None]:
    """Let go of the journal, and of what is put on the stack, when the block fails: the session can be opened again."""
    async with contextlib.AsyncExitStack() as opened:
        opened.push_async_callback(log.aclose)
        yield opened
        opened.pop_all()
