"""A live session: its parts, put together, and served until it is closed.

Frontends reach it through `SessionPort` only. Nothing here waits for a client. State changes are published, so that all
clients see the same session.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from functools import partial

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
from sould.agents.sessions.operations.whosechanges import AskingWhose
from sould.agents.sessions.session_builder import Parts
from sould.agents.sessions.sessionturns import SessionTravel, SessionTurns
from sould.agents.sessions.settings.modeswitch import BY
from sould.agents.sessions.store.store import SessionInfo
from sould.agents.sessions.turnrunner import TurnRunner
from sould.agents.sessions.turns import queueing, sidequestions
from sould.agents.sessions.turns.approval_requests import Standstill
from sould.agents.sessions.turns.immediate_commands import CommandsAtOnce, away_at_once
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
        self.log = parts.log
        self.parts = parts
        """What it is made of, for those who look after it."""
        self.closed = asyncio.Event()
        self._notices = MissedNotifications(parts.log.channel, self.parts.attached)
        self.side_questions = SideQuestions(parts.log, self.parts.soul.model)
        permission, recorded = services.permission, services.files.recorded
        self._whose = AskingWhose(recorded.found, permission.questions, permission.presence, permission.approval)
        if recorded.capture is not None:
            recorded.capture.tell_unsure(self._whose.found_unsure)
        self._turn_order = Turns(parts.log, rested)
        store = LoopStore(services.host.storage.directory / "loops")
        self.loops = LoopControls(self.id, parts.log, self._turn_order, store, choices.repeats)
        conversation, self.commands = Conversation(parts.log, self.parts.soul, config), CommandRegistry()
        router = PromptRouter(conversation, self.commands, services.workplace.skills)
        self.queue = PromptQueue(parts.log, self._turn_order, router.is_command)
        loops = make_loops(parts, conversation, self.commands, self.loops)
        review = make_review(parts, conversation)
        self.commands.add(*command_sources(parts, conversation, self.commands, self.queue, loops, review, go_on))
        self._operating = CommandsAtOnce(parts.log, self.parts.attached, review.at_once)
        router.add(
            {
                sidequestions.PREFIX: self.side_questions.take,
                queueing.PREFIX: self.queue.take,
                BY: partial(away_at_once, choices.mode_switch, self._turn_order),
                COMMAND: self.loops.take,
                **dict.fromkeys(review.at_once, self._operating.take),
            }
        )
        standstill = Standstill(parts.log, permission.asker, permission.questions)
        self.turns = SessionTurns(router, self._turn_order, standstill, self.side_questions, self.parts.soul, config)
        self.travel = SessionTravel(self.turns, parts.operations.travel, parts.log)
        self.menus = Menus(parts, self.commands, self.turns)
        self._runner = TurnRunner(parts, self._turn_order, router, loops)

    @property
    def info(self) -> SessionInfo:
        """Title, directory, times: what a list shows."""
        return self.parts.entry.info

    # --- clients ---

    def attach(self, client: Client, since: Cursor | None = None) -> Sequence[Record]:
        """A client looks at this session; its buffers serve the tools from now on.

        The notices that it is to be told, because nobody was there when they came, or because they came from `since` on.
        """
        news = self._notices.news(since)
        self.parts.attached.add(client)
        files = self.parts.services.files.clients
        files.attach(client.id, client.workspace(files.disk, self.id))
        return news

    @property
    def client_files(self) -> Mapping[str, TextFiles]:
        """What its clients with buffers read and write through, by client, the newest last."""
        return self.parts.services.files.clients.attached

    def detach(self, client_id: str) -> None:
        """A client is gone or looks elsewhere. The turn goes on (D12); the host applies `on_last_detach`."""
        self.parts.attached.remove(client_id)
        self.parts.hooks.hooks.unsubscribe(client_id)
        self.parts.services.files.clients.detach(client_id)
        self.parts.mcp.left(client_id)
        self.parts.client_tools.left(client_id)

    def restrict(self, restricted: bool) -> None:
        """What a client says of the workspace: see `SessionTrust`. Raises JournalFullError."""
        trust, approval = self.parts.choices.trusting.trust, self.parts.services.permission.approval
        trust.restrict(restricted)
        approval.judge_as(trust.state(self.parts.services.workplace.opening.cwd))

    @property
    def restricted(self) -> bool:
        """The user, or an editor of theirs, holds its workspace restricted."""
        return self.parts.choices.trusting.trust.state(self.parts.services.workplace.opening.cwd) == "restricted"

    @property
    def unused(self) -> bool:
        """Nobody looks and nothing runs, so the session can leave the memory."""
        return not (
            self.parts.attached.any
            or self.turns.busy
            or self.side_questions.running
            or self._operating.running
            or self._runner.title.running
            or self.parts.work.tasks.running
        )

    @property
    def usage(self) -> StatusUpdate | None:
        """How full the model's window is and what the session has cost; None before a model has counted anything."""
        model = self.parts.services.model
        return usage_of(self.log.context, model.models.info, model.costs.total)

    # --- life ---

    async def recover(self) -> None:
        """Close or resume what the last writer of this session left open; once, before any client is attached."""
        await self.parts.services.files.recorded.resume()
        found = self.log.recovery
        commanded = found.open_turn is not None and found.open_turn.command and not found.open_step
        travel, permission = self.parts.operations.travel, self.parts.services.permission
        if found.open_restore is not None and found.open_turn is not None and commanded:
            # in its turn, as it would have been
            await travel.finish(found.open_restore, found.open_turn.user_input)
        capture = self.parts.services.files.recorded.capture
        await recover(
            self.log,
            self.parts.soul,
            permission.asker,
            permission.questions,
            self._turn_order,
            self.parts.work.tasks,
            capture,
        )
        if found.open_restore is not None and not commanded:
            await travel.finish(found.open_restore)

    async def serve(self) -> None:
        """Run turns until `aclose`; then the files are let go."""
        self.parts.mcp.start()
        try:
            source = "resume" if self.info.turns else "startup"
            async with (
                self.parts.hooks.around(source),
                self.parts.work.tasks.serving(),
                self.side_questions.serving(),
                aclosing(self._runner.title),
                self._whose.serving(),
                self._operating.serving(),
                self.menus.serving(),
            ):
                await self._turn_order.serve(self._runner.run)
        finally:
            await self.parts.soul.close()
            await self.parts.mcp.aclose()
            self.parts.services.mailbox.close()
            await self.parts.services.files.recorded.aclose()
            if self.parts.services.workplace.opening.configuration is not None:
                await self.parts.services.host.models.providers.aclose()
            await self.log.aclose()
            self.closed.set()

    async def aclose(self, *, for_good: bool = False, handing_over: bool = False) -> None:
        """End what runs as interrupted and let `serve` return. What waits for approvals stays open (D16), but `for_good`.

        `handing_over`: its clients go on with the next daemon.
        """
        if not for_good:
            permission = self.parts.services.permission
            leave_waiting(self.log, self.parts.soul, permission.asker, permission.questions, self.parts.work.tasks)
        await self._turn_order.close(handing_over=handing_over)
