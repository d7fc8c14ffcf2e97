"""`/loop`, and prompts that are repeated: which task that is; beginning, stopping and resuming loops."""

from pathlib import Path

from msgspec import Struct

from sould.agents.base.errors import OptionError
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.sessions.commands.skills import FlowCommands, require_known, skill_prompt
from sould.agents.sessions.commands.slash import CommandRegistry, Conversation
from sould.agents.sessions.loops.controls import LoopControls, LoopOption, count, describe_loop, describe_loops
from sould.agents.sessions.loops.request import USAGE, LoopRequest, parse_request
from sould.agents.sessions.loops.run import LoopRun, LoopTask
from sould.agents.sessions.loops.state import LoopBudget, LoopState
from sould.agents.sessions.settings.models import ModelUse
from sould.agents.soul.loop import Ending
from sould.agents.soul.soul import NO_STEPS, needed
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.soul.turn import Turn
from sould.agents.wire.messages import Notification
from sould.agents.wire.notice import notice

DEFAULT_LIMIT = 10
"""Iterations after the first, where neither the user nor the configuration says."""


class LoopTasks(Struct, frozen=True):
    """Of one session: prompts, skills and flows can be repeated, other commands cannot."""

    config: LiveConfig
    flows: FlowCommands
    registry: CommandRegistry

    def plain(self, prompt: str) -> LoopTask:
        """The prompt itself."""
        return LoopTask(prompt, self.config.now.flows)

    def find(self, prompt: str) -> LoopTask:
        """The task that a prompt stands for.

        Raises:
            OptionError: it names a skill or flow that cannot be used, or another command.
        """
        limits, catalog = self.config.now.flows, self.flows.catalog
        word, _, rest = prompt.strip().partition(" ")
        kind, _, name = word.removeprefix("/").partition(":")
        skill = catalog.skills.get(name) if word.startswith("/") else None
        if skill is not None and kind == ("flow" if skill.flow else "skill"):
            if skill.flow:
                return LoopTask(prompt, limits, self.flows.flow(skill, rest.strip()))
            return LoopTask(skill_prompt(skill, rest.strip()), limits)
        require_known(catalog, prompt)
        if word.startswith("/") and word[1:] in self.registry.names():
            raise OptionError(f"`{word}` cannot be the task of a loop; a prompt, a skill or a flow can.")
        return self.plain(prompt)


class LoopCommands(Struct, frozen=True):
    """Of one session. `cwd`: its directory."""

    conversation: Conversation
    tasks: LoopTasks
    controls: LoopControls
    option: LoopOption
    model: ModelUse
    rewinder: Rewinder
    cwd: Path

    @property
    def repeats(self) -> bool:
        """Prompts of the session are repeated."""
        return self.conversation.soul.steps is not None and self.option.limit != 0

    async def repeat(self, turn: Turn, prompt: str) -> Ending:
        """A plain prompt of a session whose prompts are repeated; it is in the context already."""
        return await self._begin(
            turn, LoopRequest("start", self.option.limit, prompt), self.tasks.plain(prompt), told=True
        )

    async def loop(self, turn: Turn, argument: str) -> Ending:
        """What `/loop` says, by its first word."""
        say, request = self.conversation.say, parse_request(argument)
        match request.action:
            case "status":
                return say(describe_loop(self.controls.load()))
            case "list":
                return say(describe_loops(self.controls.store, ()))
            case "help":
                return say(USAGE)
            case "off":
                return say(await self._off())
            case "pause":
                return say(self._pause())
            case "resume":
                return await self._resume(turn, request)
            case "start":
                return await self._start(turn, request)

    async def _start(self, turn: Turn, request: LoopRequest) -> Ending:
        needed(self.conversation.soul.steps, NO_STEPS)
        if not request.prompt:
            limit = DEFAULT_LIMIT if request.limit is None else request.limit
            await self.option.set(limit)
            said = f"Prompts in this session now loop ({_times(limit)}); `/loop off` turns that off."
            return self.conversation.say(said)
        task = self.tasks.find(request.prompt)
        if request.limit != 0:
            return await self._begin(turn, request, task, told=False)
        if task.flow is not None:
            return await self.tasks.flows.run(turn, task.flow)
        return await self.conversation.ask(turn, task.text)

    async def _begin(self, turn: Turn, request: LoopRequest, task: LoopTask, *, told: bool) -> Ending:
        limit = request.limit
        if limit is None:
            limit = self.option.limit or DEFAULT_LIMIT
        budget = self._budget(request.budget)
        loop = LoopState(
            session_id=self.controls.session_id,
            cwd=self.cwd,
            prompt=request.prompt,
            limit=limit,
            budget=budget,
            allowance=budget,
        )
        return await self._run(turn, loop, task, told=told)

    async def _run(self, turn: Turn, loop: LoopState, task: LoopTask, *, told: bool) -> Ending:
        return await LoopRun(self.conversation, self.controls, self.model, self.rewinder, turn, loop).run(
            task, told=told
        )

    def _budget(self, asked: LoopBudget) -> LoopBudget:
        control = self.conversation.config.now.loop_control
        self._require_price(asked)
        if control.ralph_max_cost is not None and not self._is_priced:
            self.conversation.log.publish(_unpriced(self.model.models.info.key))
        return LoopBudget(
            tokens=asked.tokens or control.ralph_max_tokens,
            cost=asked.cost or control.ralph_max_cost,
            seconds=asked.seconds or control.ralph_max_time_s,
        )

    def _require_price(self, asked: LoopBudget) -> None:
        """A budget that could never be reached is none."""
        if asked.cost is not None and not self._is_priced:
            key = self.model.models.info.key
            raise OptionError(
                f"The price of the model {key} is not known, so a budget in money cannot be kept: set `input_price` and "
                f"`output_price` in [models.{key}], or give --tokens instead."
            )

    @property
    def _is_priced(self) -> bool:
        info = self.model.models.info
        return info.input_price is not None and info.output_price is not None

    async def _resume(self, turn: Turn, request: LoopRequest) -> Ending:
        own = self.controls.session_id
        loop = self.controls.store.load(request.session_id or own)
        if loop is None:
            raise OptionError(f"There is no loop to resume. {USAGE}")
        if loop.session_id != own:
            loop = self._adopt(loop)
        elif loop.status == "finished":
            reason = loop.reason.removesuffix(".")
            raise OptionError(f"The loop is finished: {reason}. Start another with `/loop PROMPT`.")
        self._require_price(request.budget)
        loop.grant(request.budget)
        loop.raise_allowance(request.budget)
        try:
            task = self.tasks.find(loop.prompt)
        except OptionError as error:
            loop.settle("paused", error.message)
            self.controls.store.save(loop)
            raise
        loop.resume()
        return await self._run(turn, loop, task, told=False)

    def _adopt(self, loop: LoopState) -> LoopState:
        """Another session's loop as this session's; its checkpoints mean nothing here."""
        live = self.controls.load()
        if live is not None and live.status != "finished":
            raise OptionError("This session has a loop of its own; end it with `/loop off` first.")
        if loop.cwd.resolve() != self.cwd.resolve():
            raise OptionError(f"That loop belongs to {loop.cwd}; resume it there.")
        self.controls.store.delete(loop.session_id)
        return loop.model_copy(update={"session_id": self.controls.session_id, "checkpoints": []})

    async def _off(self) -> str:
        await self.option.set(0)
        loop = self.controls.load()
        if loop is None or loop.status == "finished":
            return "Prompts in this session do not loop."
        loop.settle("stopped", "cancelled")
        self.controls.store.save(loop)
        return f"The loop is stopped after {count(loop.completed)}; `/loop resume` resumes it."

    def _pause(self) -> str:
        """Also one that was running until this came: the turn was ended for it."""
        loop = self.controls.load()
        if loop is None or loop.status == "finished":
            return "There is no loop in this session to pause."
        loop.settle("paused", "you paused it")
        self.controls.store.save(loop)
        return f"The loop is paused after {count(loop.completed)}; `/loop resume` resumes it."


def _unpriced(model: str) -> Notification:
    body = f"`ralph_max_cost` has no effect on this loop: the price of the model {model} is not known."
    return notice("loop", "A budget in money cannot be kept", body, severity="warning")


def _times(limit: int) -> str:
    return "without limit" if limit < 0 else f"up to {limit} more time{'' if limit == 1 else 's'}"
