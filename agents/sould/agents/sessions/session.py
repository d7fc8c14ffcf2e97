"""A live session: its parts, put together, and served until it is closed.

Frontends reach it through `SessionPort` only. Nothing here waits for a client. State changes are published, so that all
clients see the same session.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing

from sould.agents.base.workspace import TextFiles
from sould.agents.journal.channel import Cursor, Record
from sould.agents.sessions.commands.router import PromptRouter
from sould.agents.sessions.commands.slash import CommandRegistry, Conversation
from sould.agents.sessions.commands.status_commands import GoOnInWorktree
from sould.agents.sessions.commandset import command_sources, make_loops, make_review
from sould.agents.sessions.loops.controls import LoopControls
from sould.agents.sessions.loops.request import COMMAND
from sould.agents.sessions.loops.state import LoopStore
from sould.agents.sessions.menus import Menus
from sould.agents.sessions.modeltitle import ModelTitle
from sould.agents.sessions.operations.whosechanges import AskingWhose
from sould.agents.sessions.session_builder import Parts
from sould.agents.sessions.sessionturns import SessionTravel, SessionTurns
from sould.agents.sessions.settings.modeswitch import BY
from sould.agents.sessions.store.store import SessionInfo
from sould.agents.sessions.turnrunner import TurnRunner
from sould.agents.sessions.turns import queueing, sidequestions
from sould.agents.sessions.turns.approval_requests import Standstill
from sould.agents.sessions.turns.immediate_commands import AwayCommand, CommandsAtOnce
from sould.agents.sessions.turns.queueing import PromptQueue
from sould.agents.sessions.turns.recovery import leave_waiting, recover
from sould.agents.sessions.turns.sidequestions import SideQuestions
from sould.agents.sessions.turns.turns import Turns
from sould.agents.soul.attachedclients import MissedNotifications
from sould.agents.soul.model_call import usage_of
from sould.agents.soul.session_request import Client
from sould.agents.toolapi.background import Rested
from sould.agents.wire.messages import StatusUpdate


class Session:
    """One live session. Owned by the host, which runs `serve`."""

    def __init__(self, parts: Parts, rested: Rested, go_on: GoOnInWorktree) -> None:
        """`rested` is told when the last waiting turn has ended. `go_on`: for `/worktree`."""
        services, choices, config = parts.services, parts.choices, parts.services.host.configuration.live
        self.id = parts.entry.info.id
        self.opening = services.workplace.opening
        self.directory = services.directory
        """The session's own, on disk."""
        self.log = parts.log
        self.entry = parts.entry
        self.operations = parts.operations
        self.options = choices.options
        self.modes = services.permission.modes
        self.directories = services.workplace.directories
        self.soul = parts.soul
        self.tasks = parts.work.tasks
        self.mcp = parts.mcp
        self.hooks = parts.hooks
        self.clients = parts.attached
        """Who is attached."""
        self.client_tools = parts.client_tools
        """Those that clients run."""
        self.closed = asyncio.Event()
        self._parts = parts
        self._notices = MissedNotifications(parts.log.channel, self.clients)
        self.side_questions = SideQuestions(parts.log, self.soul.model)
        self._title = ModelTitle(parts.entry, self.soul.model)
        permission, recorded = services.permission, services.files.recorded
        self._whose = AskingWhose(recorded.found, permission.questions, permission.presence, permission.approval)
        if recorded.capture is not None:
            recorded.capture.tell_unsure(self._whose)
        self._turn_order = Turns(parts.log, rested)
        store = LoopStore(services.host.storage.directory / "loops")
        self.loops = LoopControls(self.id, parts.log, self._turn_order, store, choices.repeats)
        conversation, self.commands = Conversation(parts.log, self.soul, config), CommandRegistry()
        router = PromptRouter(conversation, self.commands, services.workplace.skills)
        self.queue = PromptQueue(parts.log, self._turn_order, router.is_command)
        loops = make_loops(parts, conversation, self.commands, self.loops)
        review = make_review(parts, conversation)
        self.commands.add(*command_sources(parts, conversation, self.commands, self.queue, loops, review, go_on))
        self._operating = CommandsAtOnce(parts.log, self.clients, review.at_once)
        router.add(
            {
                sidequestions.PREFIX: self.side_questions.take,
                queueing.PREFIX: self.queue.take,
                BY: AwayCommand(choices.mode_switch, self._turn_order).take,
                COMMAND: self.loops.take,
                **dict.fromkeys(review.at_once, self._operating.take),
            }
        )
        standstill = Standstill(parts.log, permission.asker, permission.questions)
        self.turns = SessionTurns(router, self._turn_order, standstill, self.side_questions, self.soul, config)
        self.travel = SessionTravel(self.turns, parts.operations.travel, parts.log)
        self.menus = Menus(parts, self.commands, self.turns)
        self._runner = TurnRunner(parts, self._turn_order, router, loops, self._title)

    @property
    def info(self) -> SessionInfo:
        """Title, directory, times: what a list shows."""
        return self.entry.info

    # --- clients ---

    def attach(self, client: Client, since: Cursor | None = None) -> Sequence[Record]:
        """A client looks at this session; its buffers serve the tools from now on.

        The notices that it is to be told, because nobody was there when they came, or because they came from `since` on.
        """
        news = self._notices.news(since)
        self.clients.add(client)
        files = self._parts.services.files.clients
        files.attach(client.id, client.workspace(files.disk, self.id))
        return news

    @property
    def client_files(self) -> Mapping[str, TextFiles]:
        """What its clients with buffers read and write through, by client, the newest last."""
        return self._parts.services.files.clients.attached

    def detach(self, client_id: str) -> None:
        """A client is gone or looks elsewhere. The turn goes on (D12); the host applies `on_last_detach`."""
        self.clients.remove(client_id)
        self.hooks.hooks.unsubscribe(client_id)
        self._parts.services.files.clients.detach(client_id)
        self.mcp.left(client_id)
        self.client_tools.left(client_id)

    def restrict(self, restricted: bool) -> None:
        """What a client says of the workspace: see `SessionTrust`. Raises JournalFullError."""
        trust, approval = self._parts.choices.trusting.trust, self._parts.services.permission.approval
        trust.restrict(restricted)
        approval.judge_as(trust.state(self.opening.cwd))

    @property
    def restricted(self) -> bool:
        """The user, or an editor of theirs, holds its workspace restricted."""
        return self._parts.choices.trusting.trust.state(self.opening.cwd) == "restricted"

    @property
    def unused(self) -> bool:
        """Nobody looks and nothing runs, so the session can leave the memory."""
        return not (
            self.clients.any
            or self.turns.busy
            or self.side_questions.running
            or self._operating.running
            or self._title.running
            or self.tasks.running
        )

    @property
    def usage(self) -> StatusUpdate | None:
        """How full the model's window is and what the session has cost; None before a model has counted anything."""
        model = self._parts.services.model
        return usage_of(self.log.context, model.models.info, model.costs.total)

    # --- life ---

    async def recover(self) -> None:
        """Close or resume what the last writer of this session left open; once, before any client is attached."""
        await self._parts.services.files.recorded.resume()
        found = self.log.recovery
        commanded = found.open_turn is not None and found.open_turn.command and not found.open_step
        travel, permission = self.operations.travel, self._parts.services.permission
        if found.open_restore is not None and found.open_turn is not None and commanded:
            # in its turn, as it would have been
            await travel.finish(found.open_restore, found.open_turn.user_input)
        capture = self._parts.services.files.recorded.capture
        await recover(
            self.log, self.soul, permission.asker, permission.questions, self._turn_order, self.tasks, capture
        )
        if found.open_restore is not None and not commanded:
            await travel.finish(found.open_restore)

    async def serve(self) -> None:
        """Run turns until `aclose`; then the files are let go."""
        self.mcp.start()
        try:
            source = "resume" if self.info.turns else "startup"
            async with (
                self.hooks.around(source),
                self.tasks.serving(),
                self.side_questions.serving(),
                aclosing(self._title),
                self._whose.serving(),
                self._operating.serving(),
                self.menus.serving(),
            ):
                await self._turn_order.serve(self._runner.run)
        finally:
            await self.soul.close()
            await self.mcp.aclose()
            self._parts.services.mailbox.close()
            await self._parts.services.files.recorded.aclose()
            await self.log.aclose()
            self.closed.set()

    async def aclose(self, *, for_good: bool = False, handing_over: bool = False) -> None:
        """End what runs as interrupted and let `serve` return. What waits for approvals stays open (D16), but `for_good`.

        `handing_over`: its clients go on with the next daemon.
        """
        if not for_good:
            permission = self._parts.services.permission
            leave_waiting(self.log, self.soul, permission.asker, permission.questions, self.tasks)
        await self._turn_order.close(handing_over=handing_over)
