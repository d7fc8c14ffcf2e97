"""The loop: a task is done once and then again, until the agent finds it complete, on the runner of flows (D34).

Every move is on disk before the next begins. A loop that stops for any reason but its end can be taken up again.
"""

from typing import Protocol

from msgspec import Struct

from sould.agents.base.config import FlowLimits
from sould.agents.soul.choices import without_choice
from sould.agents.soul.flows.graph import Edge, Flow, Node, Sketch, SourcePlace, build
from sould.agents.soul.flows.loopstate import LoopState, LoopStore, Status
from sould.agents.soul.flows.runner import FlowRunner, choice_prompt
from sould.agents.soul.loop import Ending
from sould.agents.wire.display import TodoItem
from sould.agents.wire.messages import ContextNote, PlanUpdate

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


class LoopTask(Struct, frozen=True):
    """`text` is what the agent is told; with a `flow`, what it is told that it goes through."""

    text: str
    limits: FlowLimits
    flow: Flow | None = None


class LoopHost(Protocol):
    """What a loop needs of the session in which it runs."""

    async def within_budget(self) -> bool:
        """Whether another iteration may begin; asks the user when the budget is used up."""
        ...

    async def go_back(self, checkpoint: int) -> str:
        """Bring context and files back to a checkpoint; what the model should know about the files."""
        ...


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
    """One run of a loop. `told`: the first iteration's prompt is in the context already."""

    loop: LoopState
    task: LoopTask
    store: LoopStore
    host: LoopHost
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
