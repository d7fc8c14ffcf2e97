"""What a loop does in each iteration: a prompt, a skill, or a flow from its beginning to its end."""

from msgspec import Struct

from sould.agents.base.config import FlowLimits
from sould.agents.soul.flows.graph import Flow


class LoopTask(Struct, frozen=True):
    """`text` is what the agent is told; with a `flow`, what it is told that it goes through."""

    text: str
    limits: FlowLimits
    flow: Flow | None = None
