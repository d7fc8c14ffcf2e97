"""A live session: the turns that its clients ask for, run one after another over its parts.

Frontends reach it through `SessionPort` only. Nothing here waits for a client. State changes are published, so that all
clients see the same session.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from sould.agents.base.tasks import run_shielded_in_thread
from sould.agents.base.workspace import TextFiles
from sould.agents.journal.channel import Cursor, Record, Resolution
from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.commands.directory_commands import GoOnInWorktree
from sould.agents.sessions.commands.router import PromptRouter
from sould.agents.sessions.commands.slash import CommandRegistry, SlashCommand
from sould.agents.sessions.commandset import command_sources, make_loops, make_review
from sould.agents.sessions.modeltitle import ModelTitle
from sould.agents.sessions.operations.whosechanges import AskingWhose
from sould.agents.sessions.preparation import TurnPreparation
from sould.agents.sessions.session_builder import Parts
from sould.agents.sessions.settings.modeswitch import BY
from sould.agents.sessions.store.store import SessionInfo
from sould.agents.sessions.turns import queueing, sidequestions
from sould.agents.sessions.turns.approval_requests import Standstill
from sould.agents.sessions.turns.immediate_commands import AwayCommand, CommandsAtOnce
from sould.agents.sessions.turns.loopcontrols import LoopControls
from sould.agents.sessions.turns.operating import OperationWork, noticing
from sould.agents.sessions.turns.queueing import PromptQueue
from sould.agents.sessions.turns.recovery import leave_waiting, recover
from sould.agents.sessions.turns.sidequestions import SideQuestions
from sould.agents.sessions.turns.turns import Prompt, Turns
from sould.agents.soul.attachedclients import MissedNotifications
from sould.agents.soul.flows.looprequest import COMMAND
from sould.agents.soul.flows.loopstate import LoopStore
from sould.agents.soul.loop import Ending
from sould.agents.soul.model_call import usage_of
from sould.agents.soul.session_request import Client
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.background import IdleListener
from sould.agents.tools.external.registry import Registration
from sould.agents.wire.content import UserInput, attached_text, input_text
from sould.agents.wire.messages import ContextReverted, Response, StatusUpdate, ToolResult

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")


class Session:
    """One live session. Owned by the host, which runs `serve`."""

    def __init__(self, parts: Parts, listener: IdleListener, go_on: GoOnInWorktree) -> None:
        """`listener` is told when the last waiting turn has ended. `go_on`: for `/worktree`."""
        services, choices = parts.services, parts.choices
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
        self.mcp = parts.further.mcp
        self.hooks = parts.hooks
        self.clients = parts.attached
        """Who is attached."""
        self.closed = asyncio.Event()
        self._parts = parts
        self._config = services.host.configuration.live
        self._notices = MissedNotifications(parts.log.channel, self.clients)
        self._side_questions = SideQuestions(parts.log, self.soul.model)
        self._title = ModelTitle(parts.entry, self.soul.model)
        permission, recorded = services.permission, services.files.recorded
        self._whose = AskingWhose(recorded, permission.questions, permission.presence, permission.approval)
        if recorded.capture is not None:
            recorded.capture.tell_unsure(self._whose)
        self._turns = Turns(parts.log, self._run, listener)
        store = LoopStore(services.host.storage.directory / "loops")
        self._standstill = Standstill(parts.log, parts.services.permission.asker, parts.services.permission.questions)
        self.loops = LoopControls(self.id, parts.log, self._turns, store, choices.repeats)
        conversation, self._registry = Conversation(parts.log, self.soul, self._config), CommandRegistry()
        self._router = PromptRouter(conversation, self._registry, services.workplace.skills)
        self.queue = PromptQueue(parts.log, self._turns, self._router.is_command)
        self._loop_commands = make_loops(parts, conversation, self._registry, self.loops)
        review, loops = make_review(parts, conversation), self._loop_commands
        self._registry.add(*command_sources(parts, conversation, self._registry, self.queue, loops, review, go_on))
        self._operating = CommandsAtOnce(parts.log, self.clients, review.at_once)
        self._router.add(
            {
                sidequestions.PREFIX: self._side_questions.take,
                queueing.PREFIX: self.queue.take,
                BY: AwayCommand(choices.mode_switch, self._turns).take,
                COMMAND: self.loops.take,
                **dict.fromkeys(review.at_once, self._operating.take),
            }
        )
        self._preparation = TurnPreparation(parts)

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
        self._parts.further.clients.left(client_id)

    def restrict(self, restricted: bool) -> None:
        """What a client says of the workspace: see `SessionTrust`. Raises JournalFullError."""
        trust, approval = self._parts.choices.trusting.trust, self._parts.services.permission.approval
        trust.restrict(restricted)
        approval.judge_as(trust.state(self.opening.cwd))

    @property
    def restricted(self) -> bool:
        """The user, or an editor of theirs, holds its workspace restricted."""
        return self._parts.choices.trusting.trust.state(self.opening.cwd) == "restricted"

    async def commit_message(self) -> str:
        """See `SessionPort.commit_message`."""
        return await self._side_questions.answer(await self.operations.committing.question())

    # --- turns ---

    @property
    def running(self) -> bool:
        """A turn runs."""
        return self._turns.current is not None

    @property
    def resumed(self) -> Prompt | None:
        """The turn that was begun before the daemon stopped and now goes on."""
        return next((prompt for prompt in self.prompts if prompt.resumes), None)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """What is asked of it now: the running turn's prompt, and those that wait."""
        return (*((self._turns.current,) if self._turns.current else ()), *self.queue.waiting)

    @property
    def unused(self) -> bool:
        """Nobody looks and nothing runs, so the session can leave the memory."""
        return (
            not (
                self.clients.any
                or self.running
                or self.queue.waiting
                or self._turns.operating
                or self._side_questions.running
            )
            and not self._operating.running
            and not self._title.running
            and not self.tasks.running
        )

    def prompt(self, user_input: UserInput, client_id: str) -> Prompt:
        """Ask for a turn; it is queued behind a running one. Synchronous: registered before anything is awaited.

        What cannot wait is no turn, and is answered at once.
        """
        if (taken := self._router.take(user_input, client_id)) is not None:
            return taken
        prompt = Prompt(user_input, client_id, command=self._router.is_command(user_input))
        self._turns.submit(prompt)
        return prompt

    def cancel(self, client_id: str | None) -> None:
        """Cancel the running turn, whoever asked for it, and this client's queued prompts (D12). Idle: nothing happens."""
        self._turns.cancel(client_id)
        self._side_questions.cancel(client_id)

    def steer(self, user_input: UserInput) -> bool:
        """Give the running turn more input, delivered before its next step. False when nothing runs."""
        if not self.running:
            return False
        self.soul.steer(user_input)
        return True

    def answer(self, response: Response, client_id: str) -> Resolution:
        """Answer a pending request; the first answer wins and everybody sees it."""
        if isinstance(response, ToolResult):
            return self.answer_tool_call(response.tool_call_id, response.return_value, client_id)
        return self.log.channel.resolve(response, self.clients.name(client_id))

    def register_tools(self, tools: Sequence[Mapping[str, object]], client_id: str) -> Registration:
        """The tools that an attached client runs, in place of those it registered before; they go when it is detached.

        Each has `name`, `description`, `parameters` (a JSON schema) and `kind`.
        """
        return self._parts.further.clients.register(client_id, self.clients.name(client_id), tools, self.soul.toolset)

    def answer_tool_call(self, call_id: str, answer: object, client_id: str) -> Resolution:
        """What a `ToolCallRequest` came to, by the client whose tool it is: Wire's `return_value`; anything else is an error."""
        return self._parts.further.clients.answer(call_id, answer, client_id)

    async def between_turns(self, client_id: str, work: OperationWork[ResultT]) -> ResultT:
        """Do what is no turn while none runs; see `Turns.between`."""

        async def looked() -> ResultT:
            self._config.look()
            return await work()

        return await self._turns.between(client_id, looked)

    @property
    def busy(self) -> int:
        """How many turns and operations run or wait."""
        return self.running + len(self.queue.waiting) + self._turns.operating

    @property
    def to_finish(self) -> int:
        """How many of those would be interrupted if the daemon ended now: a turn that only waits for a person goes on (D16).

        What is queued behind that one cannot begin either.
        """
        return 0 if self.running and not self._turns.operating and self._standstill.reached() else self.busy

    async def _run(self, prompt: Prompt) -> Ending:
        try:
            with self._parts.services.files.others.turn_runs():
                await self._preparation.prepare(prompt)
                ending = await self._run_prepared(
                    Turn(prompt.turn_id, prompt.client_id, self._config.now.loop_control), prompt
                )
                await self._after(prompt, ending)
                return ending
        finally:
            self.operations.review.tell_turn(prompt.turn_id)
            await self._save_state()

    async def _run_prepared(self, turn: Turn, prompt: Prompt) -> Ending:
        if prompt.resumes:
            return await self.soul.turn(turn)
        if prompt.command or self._router.is_command(prompt.user_input):
            return await self._run_command(turn, prompt)
        if not await self.hooks.allow_prompt(prompt.user_input):
            return Ending("refusal")
        await self.mcp.read_mentions(prompt.user_input)
        text = input_text(prompt.user_input)
        return await (
            self._loop_commands.repeat(turn, text)
            if self._loop_commands.repeats and text.strip()
            else self.soul.turn(turn)
        )

    async def _run_command(self, turn: Turn, prompt: Prompt) -> Ending:
        """A command counts as a turn of a blank session only when it leaves something behind."""
        turn = replace(turn, attached=attached_text(prompt.user_input))
        if not self.info.blank:
            if prompt.command:
                self.entry.count_turn(prompt.user_input)
            return await self._router.run(turn, prompt.user_input)
        with noticing(self.log.channel, lambda: self.entry.count_turn(prompt.user_input)):
            return await self._router.run(turn, prompt.user_input)

    async def _after(self, prompt: Prompt, ending: Ending) -> None:
        if ending.error is not None:
            logger.warning("a turn failed (%s): %s", ending.error.kind, ending.error.message)
        await self.hooks.failed(ending)
        if ending.stop_reason == "refusal":
            self._forget_refused()
        if ending.stop_reason == "finished" and self._names_itself(prompt):
            self._title.after_turn(prompt.user_input)
        self._take_leftovers(prompt)

    def _names_itself(self, prompt: Prompt) -> bool:
        """Scripts and commands need no title worth a request."""
        wanted = self._config.now.sessions.titles_by_model and not prompt.command
        return wanted and self.clients.chooses_for_project(prompt.client_id)

    def _forget_refused(self) -> None:
        """What a model or a hook refused is not asked of a model with the next prompt (ACP); people see it all the same."""
        compactor, refused = self.soul.compactor, self.log.context.undoable
        if compactor is not None and refused is not None and not refused.cleared:
            self.log.publish(ContextReverted(checkpoint_id=refused.checkpoint))
            compactor.tell_used()

    def _take_leftovers(self, prompt: Prompt) -> None:
        """What came too late to steer the turn is a prompt of its own; its sender was told that it is taken."""
        for given in self.soul.undelivered():
            self._turns.submit(Prompt(given, prompt.client_id))

    async def _save_state(self) -> None:
        """What the turn left that the next process must know, before anybody is told of the turn's end."""
        state, todos, budgets = self._parts.choices.state, self._parts.work.todos, self._parts.services.model.budgets
        if todos.get() != state.todos or budgets.changed or state.unsaved:
            state.keep_todos(todos.get())
            budgets.note_saved()
            await run_shielded_in_thread(state.save, self.directory)

    @property
    def usage(self) -> StatusUpdate | None:
        """How full the model's window is and what the session has cost; None before a model has counted anything."""
        model = self._parts.services.model
        return usage_of(self.log.context, model.models.info, model.costs.total)

    @property
    def looping(self) -> bool:
        """A loop runs in the current turn."""
        return self.loops.running

    @property
    def turn_id(self) -> str:
        """Of the running turn; "" when idle."""
        return self._turns.current.turn_id if self._turns.current is not None else ""

    def commands(self) -> tuple[SlashCommand, ...]:
        """The slash commands on offer."""
        return self._registry.commands()

    # --- life ---

    async def recover(self) -> None:
        """Close or resume what the last writer of this session left open; once, before any client is attached."""
        found = self.log.recovery
        commanded = found.open_turn is not None and found.open_turn.command and not found.open_step
        travel, permission = self.operations.travel, self._parts.services.permission
        if found.open_restore is not None and found.open_turn is not None and commanded:
            # in its turn, as it would have been
            await travel.finish(found.open_restore, found.open_turn.user_input)
        capture = self._parts.services.files.recorded.capture
        await recover(self.log, self.soul, permission.asker, permission.questions, self._turns, self.tasks, capture)
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
                self._side_questions.serving(),
                self._title.serving(),
                self._whose.serving(),
                self._operating.serving(),
            ):
                await self._turns.serve()
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
        await self._turns.close(handing_over=handing_over)
