"""Running a loop in its session: a task is done once and then again, until the agent finds it complete (D34).

A loop runs on the runner of flows, within its budget, and asks when that is used up. Every move is on disk before the next
begins, and whatever ends a loop, its file says how it stands before the turn ends.
"""

import asyncio
import contextlib

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.config import FlowLimits
from sould.agents.base.errors import JournalFullError
from sould.agents.sessions.commands.slash import Conversation
from sould.agents.sessions.loops.controls import LoopControls, count
from sould.agents.sessions.loops.spending import Spending, ask_for_more
from sould.agents.sessions.loops.state import LoopState, LoopStore, Status
from sould.agents.sessions.settings.models import ModelUse
from sould.agents.soul.choices import without_choice
from sould.agents.soul.flows.graph import Edge, Flow, Node, Sketch, SourcePlace, build
from sould.agents.soul.flows.runner import FlowRunner, NoChoiceError, choice_prompt
from sould.agents.soul.loop import Ending, StepExtension
from sould.agents.soul.stepcalls import StepCalls
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.soul.turn import Turn
from sould.agents.wire.display import TodoItem
from sould.agents.wire.messages import ContextNote, Notification, PlanUpdate
from sould.agents.wire.notice import notice

CHOICES = {
    "CONTINUE": "there is more to do, or you are not certain that all is done.",
    "STOP": "the task is fully complete, and you have verified it.",
    "PAUSE": "only the user can settle what comes next; say what you need from them.",
    "ADJUST": "the plan has to change; you will be asked for the new one.",
    "ROLLBACK": "this iteration made things worse; it is undone and begun again.",
}
_ADJUST = (
    "State the adjusted plan for the task: what is done, what you change about the approach and why, what is left."
)
_MAX_ROLLBACKS = 2
_SHOWN = 5
_STOPPED = Ending("cancelled")
"""Ends the turn within the loop when its budget stays as it is; the loop's own turn is finished by it."""


class LoopTask(Struct, frozen=True):
    """`text` is what the agent is told; with a `flow`, what it is told that it goes through."""

    text: str
    limits: FlowLimits
    flow: Flow | None = None


def loop_flow(task: LoopTask) -> Flow:
    """The loop as a graph. The first iteration of a flow comes to a choice, too: a flow ends with no answer of its own."""
    place, text = SourcePlace(1, 1), task.text or "the task"
    first = [] if task.flow else [Sketch("work", text, decides=False, place=place)]
    sketches = [
        Sketch("BEGIN", "BEGIN", decides=False, place=place),
        *first,
        Sketch("again", text, decides=True, place=place),
        Sketch("adjust", _ADJUST, decides=False, place=place),
        Sketch("END", "END", decides=False, place=place),
    ]
    targets = {"CONTINUE": "again", "STOP": "END", "PAUSE": "END", "ADJUST": "adjust", "ROLLBACK": "again"}
    begun = [Edge("BEGIN", "work"), Edge("work", "again")] if first else [Edge("BEGIN", "again")]
    plain = [*begun, Edge("adjust", "again")]
    return build(sketches, [*plain, *(Edge("again", target, label) for label, target in targets.items())])


class LoopRunner(FlowRunner, kw_only=True):
    """The iterations of one run. `told`: the first one's prompt is in the context already."""

    loop: LoopState
    task: LoopTask
    store: LoopStore
    host: "LoopRun"
    told: bool = False

    async def enter(self, node: Node) -> Ending | None:
        """Count the iteration that begins, or end the loop at its limit."""
        loop = self.loop
        if node.id == "adjust":
            return None
        if loop.runs is not None and loop.completed >= loop.runs:
            self._settle("finished", f"all {loop.runs} iterations were used")
            return Ending("finished")
        if not await self.host.within_budget():
            return Ending("finished")
        # the next StepBegin makes this checkpoint: behind the iteration's prompt, before its work
        loop.begin_iteration(self.agent.log.context.checkpoint + 1)
        self.store.save(loop)
        return await self._go_through(self.task.flow) if self.task.flow else None

    async def _go_through(self, flow: Flow) -> Ending | None:
        """The iteration's flow, to its end; an ending stops the loop in it."""
        ending = await FlowRunner(flow, self.agent, self.task.limits).run()
        return None if ending.stop_reason == "finished" else ending

    @property
    def begins_at(self) -> str:
        """The node at which the loop goes on from where it stands."""
        return "adjust" if self.loop.adjusting else "again" if self.loop.completed else ""

    def prompt(self, node: Node) -> str:
        """The task itself, then the task with the notice that it is repeated."""
        if node.id != "again":
            return "" if node.id == "work" and self.told else node.label
        loop = self.loop
        of = f" of {loop.runs}" if loop.runs is not None else ""
        plan = f"\n\nYour plan as you last adjusted it:\n{loop.plan}" if loop.plan else ""
        meanings = "\n".join(f"- {label}: {meaning}" for label, meaning in CHOICES.items())
        told = (
            f"You went through the flow `{self.task.text}` in a loop; this was iteration {loop.completed + 1}{of}. Verify what "
            f"came of it.{plan}\n\nThen decide."
            if self.task.flow
            else f"{self.task.text}\n\nYou work on this in a loop; this is iteration {loop.completed + 1}{of}. Find out what "
            f"earlier iterations did, do what is still missing, and verify it.{plan}\n\nWhen this iteration's work is "
            f"done, decide."
        )
        return (
            f"{told} STOP only when the task is fully complete; if you are not certain, CONTINUE.\n{meanings}"
            f"\n\n{choice_prompt(self.labels(node))}"
        )

    async def noted(self, node: Node, answer: str) -> None:
        """The first iteration is complete when its work is done; an adjusted plan is kept."""
        if node.id == "adjust":
            self.loop.adopt_plan(answer.strip()[:20_000])
        elif node.id == "work":
            self.loop.complete_iteration()
        self.store.save(self.loop)

    async def chosen(self, edge: Edge, answer: str) -> Ending | None:
        """Count the iteration and do what was chosen."""
        loop = self.loop
        loop.complete_iteration(rolled_back=edge.label == "ROLLBACK", adjusts=edge.label == "ADJUST")
        said = without_choice(answer)[-500:]
        if edge.label == "STOP":
            self._settle("finished", "the agent found the task complete")
        elif edge.label == "PAUSE":
            self._settle("paused", said or "the agent waits for you")
        elif edge.label == "ROLLBACK":
            await self._roll_back(said)
            if loop.rollbacks >= _MAX_ROLLBACKS:
                self._settle("paused", "the same iteration was rolled back twice")
        self.store.save(loop)
        return Ending("finished") if loop.status != "running" else None

    async def _roll_back(self, why: str) -> None:
        """Context and files go back to where the iteration began; the model is told what it gave up and why."""
        target = self.loop.checkpoints[-1]
        files = await self.host.go_back(target)
        self.agent.log.publish(
            ContextNote(text=f"You rolled back iteration {self.loop.completed}. {files} Why, in your words: {why}")
        )

    def _settle(self, status: Status, reason: str) -> None:
        self.loop.settle(status, reason)
        self.store.save(self.loop)

    def show(self, current: Node | None) -> None:
        """The latest iterations and the one under way."""
        loop = self.loop
        first = max(0, loop.completed - _SHOWN)
        items = [TodoItem(title=f"Iteration {n + 1}", status="done") for n in range(first, loop.completed)]
        if current is not None:
            of = f" of {loop.runs}" if loop.runs is not None else ""
            title = "Adjust the plan" if current.id == "adjust" else f"Iteration {loop.completed + 1}{of}"
            items.append(TodoItem(title=title, status="in_progress"))
        self.agent.log.publish(PlanUpdate(items=tuple(items)))


class LoopRun(StepExtension):
    """One run of one loop, from wherever it stands, in one turn."""

    def __init__(
        self,
        conversation: Conversation,
        controls: LoopControls,
        model: ModelUse,
        rewinder: Rewinder,
        turn: Turn,
        loop: LoopState,
    ) -> None:
        self._log = conversation.log
        self._controls = controls
        self._budgets = model.budgets
        self._rewinder = rewinder
        self._loop = loop
        self._turn = replace(turn, unattended=True)
        self._agent = conversation.agent(self._turn, (self,))
        self._spending = Spending(conversation.log, loop, model.costs)

    async def run(self, task: LoopTask, *, told: bool) -> Ending:
        """Until the loop finishes, pauses or is cut off; a daemon that stops leaves it `running`, for the next one.

        `told`: the first iteration's prompt is in the context already.
        """
        loop, runner = self._loop, self._runner(task, told=told)
        self._save()
        try:
            with self._controls.run():
                ending = await self._run(runner)
        except BaseException as error:
            if loop.status == "running" and not self._controls.interrupted:
                loop.settle("stopped", "cancelled" if isinstance(error, asyncio.CancelledError) else "it failed")
            with contextlib.suppress(JournalFullError):  # what ended the loop is what is told
                self._save()
            if loop.status == "stopped":
                self._log.publish(_notice(loop))
            raise
        finally:
            runner.show(None)
        if loop.status == "running":
            self._pause(ending.error.message if ending.error else ending.stop_reason.replace("_", " "))
        self._save()
        self._log.publish(_notice(loop))
        return ending

    def _runner(self, task: LoopTask, *, told: bool) -> LoopRunner:
        limits = self._agent.config.now.flows.model_copy(update={"max_moves": 10**15})
        store = self._controls.store
        return LoopRunner(
            loop_flow(task), self._agent, limits, loop=self._loop, task=task, store=store, host=self, told=told
        )

    async def _run(self, runner: LoopRunner) -> Ending:
        while True:
            try:
                async with self._spending:
                    ending = await runner.run(runner.begins_at)
            except TimeoutError:
                if not self._spending.interrupted:
                    raise
                if not await self._may_go_on():
                    return Ending("finished")
            except NoChoiceError as error:
                self._pause(error.message)
                return Ending("finished", failed=True)
            else:
                if self._budgets.stopped:
                    self._pause(f"the budget is used up ({self._budgets.stopped})")
                    return Ending("finished")
                return Ending("finished") if ending is _STOPPED else ending

    async def after_step(self, turn: Turn, calls: StepCalls, ending: Ending | None) -> Ending | None:
        """End the turn when the budget is used up and stays as it is."""
        if ending is not None or await self.within_budget():
            return ending
        return _STOPPED

    async def within_budget(self) -> bool:
        """Whether the loop may go on; asks the user when its budget is used up."""
        if not self._loop.used_up:
            return True
        with self._spending.paused():
            return await self._may_go_on()

    async def _may_go_on(self) -> bool:
        """The budget is used up: ask (D38). Until there is an answer the loop is paused, also for the next daemon."""
        loop = self._loop
        self._pause(f"its budget is used up ({loop.overspent})")
        more = await ask_for_more(self._log.channel, loop)
        if more is None:
            return False
        loop.grant(more)
        loop.settle("running")
        self._save()
        return True

    async def go_back(self, checkpoint: int) -> str:
        """Files and context as they were; a context that was compacted since stays as it is."""
        reached = self._log.context.reaches(checkpoint)
        rewind = self._rewinder.go_back if reached else self._rewinder.restore
        done = await rewind(checkpoint, self._turn.id)
        conflicts = ", ".join(file.path for file in done.files if file.action == "conflict" or file.conflicts)
        but = f", except {conflicts}, which somebody else has changed since" if conflicts else ""
        accepted = ", ".join(file.path for file in done.files if file.kept)
        kept = f" What the user has kept of your changes stays, in {accepted}." if accepted else ""
        return f"The files you changed in it are as they were before{but}.{kept}"

    def _save(self) -> None:
        self._controls.store.save(self._loop)

    def _pause(self, reason: str) -> None:
        self._loop.settle("paused", reason)
        self._save()


def _notice(loop: LoopState) -> Notification:
    body = f"After {count(loop.completed)}: {loop.reason.rstrip('.')}{'' if loop.reason.endswith(('?', '!')) else '.'}"
    if loop.status != "finished":
        body += " `/loop resume` resumes it."
    return notice("loop", f"The loop is {loop.status}", body)
