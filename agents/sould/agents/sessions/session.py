"""A session: its log, its soul, the clients that look at it, and the turns they ask for.

Every face reaches the soul through these methods; none of them waits for a client. State changes are published, so
that all clients see the same session.
"""

import asyncio
import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sould.agents.config import Config
from sould.agents.external.registry import Registration
from sould.agents.flows.loopstate import LoopStore
from sould.agents.liveconfig import LiveConfig
from sould.agents.llm.requests import not_taken
from sould.agents.opening.opening import Client, Opening
from sould.agents.permissions.approval import Approval
from sould.agents.sessionlog.channel import Cursor, Record, Resolution
from sould.agents.sessions.compose import Parts
from sould.agents.sessions.operations.context import ModelContext
from sould.agents.sessions.operations.sharing import Sharing
from sould.agents.sessions.operations.travel import TimeTravel
from sould.agents.sessions.slash import CommandRegistry, SlashCommand
from sould.agents.settings.awaymode import BY
from sould.agents.settings.news import NewsReader
from sould.agents.skills.renewal import renew_skills
from sould.agents.soul.loop import Ending
from sould.agents.soul.turn import Turn
from sould.agents.soul.usage import usage_of
from sould.agents.store.blank import noticing
from sould.agents.store.store import SessionInfo, SessionStore
from sould.agents.toolapi.background import IdleListener
from sould.agents.turns.loopcontrols import LoopControls
from sould.agents.turns.missed import MissedNotifications
from sould.agents.turns.operating import Work
from sould.agents.turns.queueing import PromptQueue
from sould.agents.turns.recovery import leave_waiting, recover
from sould.agents.turns.sidequestions import SideQuestions
from sould.agents.turns.turns import Prompt, Turns
from sould.agents.wire.content import UserInput, input_summary, input_text
from sould.agents.wire.messages import (
    ContextReverted,
    DirectoryAdded,
    Response,
    SessionChanged,
    StatusUpdate,
    ToolResult,
)
from sould.agents.wire.notice import notice

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")


class Session:
    """One live session. Owned by the host, which runs `serve`."""

    def __init__(
        self,
        info: SessionInfo,
        store: SessionStore,
        parts: Parts,
        opening: Opening,
        command_registry: "Callable[[Session], CommandRegistry]",
        listener: IdleListener,
    ) -> None:
        """`command_registry` is what it does with prompts; `listener` is told when the last waiting turn has ended."""
        services, choices = parts.services, parts.choices
        self.info = info
        self.opening = opening
        self.store = store
        self.directory = services.directory
        """The session's own, on disk."""
        self.log = parts.log
        self.soul = parts.agent.soul
        self._approval = services.permission.approval
        self._asker = services.permission.asker
        self._files = services.files.recorded
        self._todos = parts.todos
        self._workspace = services.files.clients
        self.models = services.model.models
        self._state = choices.state
        self._agent = parts.agent
        self.tasks = parts.agent.crew.market.tasks
        self.mcp = parts.further.mcp
        self._external = parts.further.clients
        self.trusting = choices.trusting
        self.skills = services.workplace.skills
        self._config = services.host.configuration.live
        self._news = NewsReader(services.host.news, parts.log, opening.environment)
        self.loops = LoopStore(services.host.storage.directory / "loops")
        self._repeats = False
        self._command_registry = command_registry(self)
        self.hooks = parts.hooks
        self._side_questions = SideQuestions(self.soul.model)
        self.plan_mode = services.permission.plan_mode
        self.modes = services.permission.modes
        self.options = choices.options
        self.mode_switch = choices.mode_switch
        self.repeats = choices.repeats
        self.directories = services.workplace.directories
        self._home = services.workplace.environment.home
        self.clients = parts.attached
        """Who is attached."""
        self._notices = MissedNotifications(parts.log.channel, self.clients)
        self._turns = Turns(parts.log, self._run, listener)
        self._controls = LoopControls(self.id, parts.log, self._turns, self.loops)
        self.waiting = PromptQueue(parts.log, self._turns, self._is_command)
        self.closed = asyncio.Event()
        self.budgets = services.model.budgets
        self._mailbox = services.mailbox
        self.travel = TimeTravel(parts.log, services.files.rewinder, self.soul.compactor)
        self.context = ModelContext(parts.log, self.soul.compactor)
        self.sharing = Sharing(store.find(self.id), store, self.context, services.files.clients.disk, self.approval)

    @property
    def id(self) -> str:
        """The session's id."""
        return self.info.id

    @property
    def approval(self) -> Approval:
        """What decides and asks before anything is opened, changed or run."""
        return self._approval

    # --- clients ---

    def attach(self, client: Client, since: Cursor | None = None) -> Sequence[Record]:
        """A client looks at this session; its buffers serve the tools from now on.

        The notices that it is to be told, because nobody was there when they came, or because they came from `since` on.
        """
        news = self._notices.news(since)
        self.clients.add(client)
        self._workspace.attach(client.id, client.workspace(self._workspace.disk, self.id))
        return news

    def detach(self, client_id: str) -> None:
        """A client is gone or looks elsewhere. The turn goes on (D12); the host applies `on_last_detach`."""
        self.clients.remove(client_id)
        self.hooks.hooks.unsubscribe(client_id)
        self._workspace.detach(client_id)
        self.mcp.left(client_id)
        self._external.left(client_id)

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
        return (*((self._turns.current,) if self._turns.current else ()), *self.queue)

    @property
    def unused(self) -> bool:
        """Nobody looks and nothing runs, so the session can leave the memory."""
        return (
            not (
                self.clients.any or self.running or self.queue or self._turns.operating or self._side_questions.running
            )
            and not self.tasks.running
        )

    @property
    def queue(self) -> tuple[Prompt, ...]:
        """Prompts that wait for the running turn."""
        return self._turns.queue

    def prompt(self, user_input: UserInput, client_id: str) -> Prompt:
        """Ask for a turn; it is queued behind a running one. Synchronous: registered before anything is awaited.

        A side question is no turn, nor is a look at the queue or a loop, nor going away: they are answered at once.
        """
        at_once = self._side_questions.take(user_input, client_id) or self.waiting.take(user_input, client_id)
        at_once = at_once or self._go_away(user_input, client_id)
        at_once = at_once or self._controls.take(user_input, client_id, repeats=self.looping or self.repeats.limit != 0)
        if at_once is not None:
            return at_once
        prompt = Prompt(user_input, client_id, command=self._is_command(user_input))
        self._turns.submit(prompt)
        return prompt

    def _is_command(self, user_input: UserInput) -> bool:
        return self._command_registry.find(user_input) is not None

    def _go_away(self, user_input: UserInput, client_id: str) -> Prompt | None:
        """`/afk` while a turn runs holds for this turn already, and answers what it is asking."""
        if not self.running or input_text(user_input).strip() != BY:
            return None
        self.mode_switch.go_away()
        return Prompt.answered(user_input, client_id)

    def cancel(self, client_id: str | None) -> None:
        """Cancel the running turn, whoever asked for it, and this client's queued prompts (D12). Idle: nothing happens."""
        self._turns.cancel(client_id)
        self._side_questions.cancel(client_id)

    def steer(self, user_input: UserInput) -> bool:
        """Give the running turn more input, delivered before its next step. False when nothing runs."""
        if not self.running:
            return False
        self.soul.steering.append(user_input)
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
        return self._external.register(client_id, self.clients.name(client_id), tools, self.soul.tools.toolset)

    def answer_tool_call(self, call_id: str, answer: object, client_id: str) -> Resolution:
        """What a `ToolCallRequest` came to, by the client whose tool it is: Wire's `return_value`; anything else is an error."""
        return self._external.answer(call_id, answer, client_id)

    async def between_turns(self, client_id: str, work: Work[ResultT], *, interruptible: bool = False) -> ResultT:
        """Do what is no turn while none runs; see `Turns.between`."""
        return await self._turns.between(client_id, work, interruptible=interruptible)

    @property
    def busy(self) -> int:
        """How many turns and operations run or wait."""
        return self.running + len(self.queue) + self._turns.operating

    async def _run(self, prompt: Prompt) -> Ending:
        try:
            ending = await self._run_turn(prompt)
            if ending.error is not None:
                logger.warning("a turn failed (%s): %s", ending.error.kind, ending.error.message)
            await self.hooks.failed(ending)
            if ending.stop_reason == "refusal":
                self._forget_refused()
            self._take_leftovers(prompt)
            return ending
        finally:
            self._keep_todos()

    def _forget_refused(self) -> None:
        """What a model or a hook refused is not asked of a model with the next prompt (ACP); people see it all the same."""
        if (refused := self.log.context.undoable) is not None and not refused.cleared:
            self.log.publish(ContextReverted(checkpoint_id=refused.checkpoint))
            self.soul.compactor.tell_used()

    def _take_leftovers(self, prompt: Prompt) -> None:
        """What came too late to steer the turn is a prompt of its own; its sender was told that it is taken."""
        for given in self.soul.steering:
            self._turns.submit(Prompt(given, prompt.client_id))
        self.soul.steering.clear()

    def _keep_todos(self) -> None:
        if self._todos.get() != self._state.todos or self.budgets.changed or self._state.unsaved:
            self._state.keep_todos(self._todos.get())
            self.budgets.note_saved()
            self._state.save(self.directory)

    async def _run_turn(self, prompt: Prompt) -> Ending:
        self._workspace.turn_of(prompt.client_id)
        self.soul.steering.clear()
        self.budgets.begin()
        new = not self.info.turns
        plain = not prompt.resumes and not input_text(prompt.user_input).lstrip().startswith("/")
        if plain:  # before servers are waited for: another client may look for the newest session now
            self._note_turn(prompt.user_input)
        await self.models.refresh()
        if media := not_taken(prompt.user_input, self.models.info):
            told = "It was left out; choose another model, or send words."
            self.log.publish(notice("media", f"{self.models.info.model} takes no {media}", told, severity="warning"))
        self._news.tell()
        await self.trusting.tell(new=new)
        await self.mcp.refresh()
        self._agent.refresh()
        if prompt.resumes:
            return await self.soul.turn(self.current_turn)
        await renew_skills(self.skills, self.log, self._agent.lists)
        command = self._command_registry.find(prompt.user_input)
        if not plain and (command is None or not self.info.blank):
            self._note_turn(prompt.user_input)
        if command is None:
            if not await self.hooks.allow_prompt(prompt.user_input):
                return Ending("refusal")
            await self.mcp.read_mentions(prompt.user_input)
            return await self._command_registry.plain(prompt.user_input)
        handler, argument = command
        if not self.info.blank:
            return await handler(argument)
        with noticing(self.log.channel, lambda: self._note_turn(prompt.user_input)):
            return await handler(argument)

    @property
    def usage(self) -> StatusUpdate | None:
        """How full the model's window is and what the session has cost; None before a model has counted anything."""
        return usage_of(self.log.context, self.models.info, self.soul.model.meter.costs.total)

    @property
    def config(self) -> Config:
        """The configuration as it is now."""
        return self._config.now

    @property
    def live_config(self) -> LiveConfig:
        """The same for whoever outlives a change of it."""
        return self._config

    @contextmanager
    def repeating(self) -> Generator[None]:
        """A loop runs in the current turn while the block runs."""
        self._repeats = True
        try:
            yield
        finally:
            self._repeats = False

    @property
    def looping(self) -> bool:
        """A loop runs in the current turn."""
        return self._repeats

    @property
    def closing(self) -> bool:
        """The daemon lets go of this session: what runs is interrupted, not cancelled by a person."""
        return self._turns.closing

    @property
    def current_turn(self) -> Turn:
        """The running turn, with the limits as they are now; one without an id when idle."""
        current = self._turns.current
        return Turn(current.turn_id, current.client_id, self.config.loop_control) if current else Turn("")

    def _note_turn(self, user_input: UserInput) -> None:
        title = self.info.title
        self.info = self.store.touch(self.id, prompt=input_summary(user_input), turns=self.info.turns + 1)
        if self.info.title != title:
            self.log.publish(SessionChanged(title=self.info.title))

    # --- files and commands ---

    def add_directories(self, directories: Iterable[Path]) -> None:
        """Work there, too: known to every tool and rule at once, to the model from its next step on, and kept."""
        added = [directory for directory in directories if self.directories.add(directory)]
        for directory in added:
            self.log.publish(DirectoryAdded(path=str(directory)))
        if added:
            self.info = self.store.touch(self.id, additional=tuple(self.directories))
            self._agent.tell_anew()
            self.mcp.work_in(self.directories)

    def add_directory(self, named: str) -> Path:
        """Work in a directory that the user names, and tell the model.

        Raises:
            OptionError: it is none.
        """
        path = self.directories.find(named, self._home)
        self.add_directories((path,))
        self.context.tell(
            f"The user added the directory {path} to the workspace: you may work there as in {self.info.cwd}."
        )
        return path

    def commands(self) -> tuple[SlashCommand, ...]:
        """The slash commands on offer."""
        return self._command_registry.commands()

    def nearest_commands(self, name: str) -> Sequence[str]:
        """Those most like a name that is none of them."""
        return self._command_registry.nearest(name)

    def go_on_from(self, source: SessionInfo) -> None:
        """It is a fork: it has as many turns as the session it was made from."""
        self.info = self.store.touch(self.id, turns=source.turns)

    def rename(self, title: str) -> None:
        """Give the session a title of the user's."""
        self.info = self.store.rename(self.id, title)
        self.log.publish(SessionChanged(title=title))

    # --- life ---

    async def recover(self) -> None:
        """Close or resume what the last writer of this session left open; once, before any client is attached."""
        found = self.log.recovery
        commanded = found.open_turn is not None and found.open_turn.command and not found.open_step
        if found.open_restore is not None and found.open_turn is not None and commanded:
            await self.travel.finish(
                found.open_restore, found.open_turn.user_input
            )  # in its turn, as it would have been
        await recover(self.log, self.soul, self._asker, self._turns, self._agent.crew, self._files.capture)
        if found.open_restore is not None and not commanded:
            await self.travel.finish(found.open_restore)

    async def serve(self) -> None:
        """Run turns until `aclose`; then the files are let go."""
        self.mcp.start()
        try:
            source = "resume" if self.info.turns else "startup"
            async with self.hooks.around(source), self.tasks.serving(), self._side_questions.serving():
                await self._turns.serve()
        finally:
            await self.mcp.aclose()
            self._mailbox.close()
            await self._files.aclose()
            await self.log.aclose()
            self.closed.set()

    async def aclose(self, *, for_good: bool = False, handing_over: bool = False) -> None:
        """End what runs as interrupted and let `serve` return. What waits for approvals stays open (D16), but `for_good`.

        `handing_over`: its clients go on with the next daemon.
        """
        if not for_good:
            leave_waiting(self.log, self._asker, self._agent.crew.market)
        await self._turns.close(handing_over=handing_over)
