"""Running a flow: each node is a prompt to the session's agent, inside the turn that asked for the flow.

The model decides at decisions, by `<choice>`; an answer that names no way out is asked for again, a bounded number of
times. How far it has come is shown as a plan. The runner keeps nothing: what survives a restart is its caller's.
"""

import asyncio

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.base.config import FlowLimits
from sould.agents.base.errors import SouldError
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.journal.context import Context
from sould.agents.journal.log import SessionLog
from sould.agents.soul.choices import choice_in
from sould.agents.soul.flows.graph import Edge, Flow, Node
from sould.agents.soul.loop import AgentLoop, Ending, StepExtension
from sould.agents.soul.turn import Turn
from sould.agents.wire.content import TextPart
from sould.agents.wire.display import TodoItem
from sould.agents.wire.messages import ContextNote, PlanUpdate


class NoChoiceError(SouldError):
    """The model answered a decision with none of its choices, however often it was asked."""

    kind = "malformed"

    def __init__(self, node: Node) -> None:
        super().__init__(f"The model made no valid choice at {node.id}, however often it was asked. Try another model.")


class FlowAgent(Struct):
    """The agent of a session, asked one step at a time."""

    log: SessionLog
    steps: AgentLoop
    turn: Turn
    config: LiveConfig
    extensions: tuple[StepExtension, ...] = ()
    """They take part in every step that is asked of it here."""

    async def ask(self, prompt: str, *, decides: bool = False) -> tuple[Ending, str]:
        """Give the prompt ("": what was said before is the prompt) and run to the end; how it ended and the last answer.

        `decides`: see `Turn`.
        """
        if prompt:
            self.log.publish(ContextNote(text=prompt))
        turn = replace(self.turn, limits=self.config.now.loop_control, decides=decides)
        ending = await self.steps.turn(turn, self.extensions)
        return ending, last_text(self.log.context)


class FlowRunner(Struct):
    """One run of one flow."""

    flow: Flow
    agent: FlowAgent
    limits: FlowLimits
    _done: set[str] = field(default_factory=set[str])

    async def run(self, start: str = "") -> Ending:
        """From BEGIN, or the node `start`, to END, or to whatever ended a step early. The plan then is the caller's.

        Raises:
            NoChoiceError: it cannot go on from a decision.
        """
        node = self.flow.nodes[start] if start else self._next(self.flow.out(self.flow.begin.id)[0])
        for _ in range(self.limits.max_moves):
            if node.kind == "end":
                return Ending("finished")
            await asyncio.sleep(0)  # a model that answers at once must not keep a cancel out
            refused = await self.enter(node)
            if refused is not None:
                return refused
            self.show(node)
            taken = await self._do(node)
            if isinstance(taken, Ending):
                return taken
            self._done.add(node.id)
            node = self._next(taken)
        return Ending("max_steps_reached")

    async def enter(self, node: Node) -> Ending | None:
        """Before a node runs; an ending stops the run here."""
        return None

    async def chosen(self, edge: Edge, answer: str) -> Ending | None:
        """After a decision; an ending stops the run here."""
        return None

    async def noted(self, node: Node, answer: str) -> None:
        """After a task."""

    def prompt(self, node: Node) -> str:
        """What the agent is told at a node; "" when it has been told."""
        if node.kind == "task":
            return node.label
        return f"{node.label}\n\n{choice_prompt(self.labels(node))}"

    def labels(self, node: Node) -> list[str]:
        """The answers a decision takes."""
        return [edge.label for edge in self.flow.out(node.id)]

    def show(self, current: Node | None) -> None:
        """Publish the plan: what is done, what is under way (None: nothing), what may come."""
        items = tuple(self._item(step, current) for step in self.flow.steps())
        self.agent.log.publish(PlanUpdate(items=items))

    def _item(self, step: Node, current: Node | None) -> TodoItem:
        title = " ".join(step.label.split())[:100]
        if current is not None and step.id == current.id:
            return TodoItem(title=title, status="in_progress")
        return TodoItem(title=title, status="done" if step.id in self._done else "pending")

    async def _do(self, node: Node) -> Edge | Ending:
        """Run a node; the edge to leave by, or how the turn ended."""
        ending, answer = await self.agent.ask(self.prompt(node), decides=node.kind != "task")
        if ending.stop_reason != "finished":
            return ending
        out = self.flow.out(node.id)
        if node.kind == "task":
            await self.noted(node, answer)
            return out[0]
        for _ in range(self.limits.choice_reprompts):
            if any(edge.label == choice_in(answer) for edge in out):
                break
            ending, answer = await self.agent.ask(invalid_choice(answer, self.labels(node)), decides=True)
            if ending.stop_reason != "finished":
                return ending
        edge = next((edge for edge in out if edge.label == choice_in(answer)), None)
        if edge is None:
            raise NoChoiceError(node)
        return await self.chosen(edge, answer) or edge

    def _next(self, edge: Edge) -> Node:
        return self.flow.nodes[edge.target]


def choice_prompt(labels: list[str]) -> str:
    """How to answer a decision."""
    listed = "\n".join(f"- {label}" for label in labels)
    return f"Choose exactly one of:\n{listed}\n\nEnd your answer with the choice, as written above: <choice>…</choice>"


def invalid_choice(answer: str, labels: list[str]) -> str:
    """What an answer without a valid choice is met with."""
    given = choice_in(answer)
    said = f"{given[:100]!r} is not one of the choices." if given else "Your answer has no <choice>…</choice>."
    return f"{said} {choice_prompt(labels)}"


def last_text(context: Context) -> str:
    """The text of the agent's last message."""
    for message in reversed(context.messages):
        if message.role == "assistant":
            return "".join(part.text for part in message.content if isinstance(part, TextPart))
    return ""
