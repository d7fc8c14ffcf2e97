"""What waited for the user's approval or answer when a daemon stopped: calls of the main agent and of its subagents, however deep.

All of it is read from the session's own journal, where the events of every subagent are. Nothing here runs an agent.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec import Struct, field

from sould.agents.wire.messages import (
    ApprovalRequest,
    HeldOutput,
    QuestionRequest,
    StepBegin,
    SubagentEvent,
    ToolCall,
    TurnBegin,
    WireMessage,
    WireRequest,
)

ASKS: Final = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""The tools whose calls can be run again for the answer: nothing is done before it."""


class Unfinished(Struct, frozen=True):
    """Which calls wait, and who works for them."""

    requests: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The ids of the approvals, and of questions, by the call of the main agent that they are asked for."""
    calls: frozenset[str] = frozenset()
    """Calls, of whatever agent, that wait themselves or through a subagent."""
    agents: frozenset[str] = frozenset()
    """The subagents among those."""
    workers: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The subagents that worked for a call, the one that does so now last."""
    held: Mapping[str, HeldOutput] = field(default_factory=dict[str, HeldOutput])
    """What calls that ran came to, and their models were not told."""
    begun: Mapping[str, int] = field(default_factory=dict[str, int])
    """The main agent's newest checkpoint when it made a call that waits."""

    def going_on(self, call_id: str) -> str:
        """The subagent that goes on with its work when this call is run again; "" when none does."""
        return self.workers.get(call_id, ("",))[-1] if call_id in self.calls else ""


def unfinished(messages: Iterable[WireMessage], pending: Collection[WireRequest]) -> Unfinished:
    """What waits for the `pending` approvals of a session whose journal holds `messages`, and for questions of its agents."""
    workers: dict[str, dict[str, None]] = {}
    works_for: dict[str, tuple[str, str]] = {}
    begun: dict[str, int] = {}
    asking: dict[str, str] = {}
    calls: set[str] = set()
    agents: set[str] = set()
    requests: dict[str, tuple[str, ...]] = {}
    checkpoint = -1
    for message in messages:
        checkpoint += isinstance(message, TurnBegin | StepBegin)
        if isinstance(message, ToolCall):
            begun[message.id] = checkpoint
        boss = ""
        event: object = message
        while isinstance(event, SubagentEvent) and event.agent_id:
            call_id, agent_id = event.parent_tool_call_id, event.agent_id
            works_for[agent_id] = call_id, boss
            workers.setdefault(call_id, {})[agent_id] = None
            boss, event = agent_id, event.event
        if isinstance(event, ToolCall) and event.function.name in ASKS:
            asking[event.id] = boss
    approvals = [request for request in pending if isinstance(request, ApprovalRequest)]
    questions = [each for each in pending if isinstance(each, QuestionRequest) and each.tool_call_id in asking]
    for request in (*approvals, *questions):
        call_id = request.tool_call_id
        agent_id = request.agent_id or "" if isinstance(request, ApprovalRequest) else asking[call_id]
        calls.add(call_id)
        seen: set[str] = set()
        while agent_id in works_for and agent_id not in seen:
            seen.add(agent_id)
            call_id, agent_id = works_for[agent_id]
            calls.add(call_id)
        agents |= seen
        requests[call_id] = (*requests.get(call_id, ()), request.id)
    worked = {call_id: tuple(ids) for call_id, ids in workers.items()}
    waiting = {call_id: begun[call_id] for call_id in requests if call_id in begun}
    held = {request.tool_call_id: request.held for request in approvals if request.held is not None}
    return Unfinished(requests, frozenset(calls), frozenset(agents), worked, held, waiting)
