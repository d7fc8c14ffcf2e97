"""What happens when a session is opened that its last writer left in the middle of something (F61, D16).

A turn that only waited for approvals goes on: nothing of those calls has run. Every other open turn is closed honestly:
its calls may or may not have run, and are never run again.
"""

import secrets
import time
from collections.abc import Collection, Iterable

from sould.agents.sessions.asking import Asker
from sould.agents.sessions.turns import Prompt, Turns
from sould.agents.soul.loop import Soul
from sould.agents.soul.subagents.market import can_go_on
from sould.agents.tools.base import tool_error
from sould.agents.wire.log import SessionLog
from sould.agents.wire.messages import (
    ApprovalRequest,
    CompactionEnd,
    Notification,
    RequestClosed,
    StepInterrupted,
    SubagentEvent,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnError,
    WireRequest,
)
from sould.agents.wire.recovery import OpenWork, Recovery

AFTER_CRASH = (
    "Interrupted: the daemon stopped while this call was open; it may or may not have run. Check before you repeat it."
)

STOPPED = "The daemon stopped in the middle of a turn."


async def recover(log: SessionLog, soul: Soul, asker: Asker, turns: Turns) -> None:
    """Close or resume what was open, tell the clients once, and make it durable."""
    found = log.recovery
    if found.clean:
        return
    if found.open_turn is not None and only_waited(found.open_calls, found.open_requests):
        asker.restore(request for request in found.open_requests if isinstance(request, ApprovalRequest))
        soul.pending = found.open_calls
        turns.submit(Prompt("", found.open_turn.client_id, turn_id=found.open_turn.turn_id, resumes=True))
    else:
        close_open_work(log, found)
    told = " ".join(filter(None, (found.notice, STOPPED if found.open_turn is not None else "")))
    if told:
        _notify(log, told)
    await log.commit()


def only_waits(log: SessionLog) -> bool:
    """The running turn waits for approvals and for nothing else, so the next daemon can go on with it."""
    if not log.channel.pending:
        return False
    work = OpenWork()
    for record in log.replay():
        work.apply(record.message)
    return only_waited(work.calls, work.requests)


def only_waited(calls: Iterable[ToolCall], requests: Iterable[WireRequest]) -> bool:
    """There are open calls, and every one of them waits for its approval."""
    waiting = {request.tool_call_id for request in requests if isinstance(request, ApprovalRequest)}
    open_calls = {call.id for call in calls}
    return bool(open_calls) and open_calls <= waiting


def close_open_work(log: SessionLog, found: Recovery) -> None:
    """Give whatever was open an honest end."""
    for request in found.open_requests:
        log.publish(RequestClosed(request_id=request.id, reason="expired"))
    workers = _workers(log, {call.id for call in found.open_calls})
    for call in found.open_calls:
        message = " ".join((AFTER_CRASH, *map(can_go_on, workers.get(call.id, ()))))
        log.publish(ToolResult(tool_call_id=call.id, return_value=tool_error(message, brief="Interrupted")))
    if found.open_compaction is not None:
        failed = CompactionEnd(
            compaction_id=found.open_compaction.compaction_id,
            failed=True,
            error="The daemon stopped during compaction.",
        )
        log.publish(failed)
    if found.open_step:
        log.publish(StepInterrupted())
    if found.open_turn is not None:
        error = TurnError(kind="interrupted", message="The daemon stopped in the middle of this turn.")
        log.publish(TurnEnd(turn_id=found.open_turn.turn_id, stop_reason="interrupted", error=error))


def _workers(log: SessionLog, calls: Collection[str]) -> dict[str, dict[str, None]]:
    """The subagents that worked for each of these calls."""
    found: dict[str, dict[str, None]] = {}
    for record in log.replay() if calls else ():
        message = record.message
        if isinstance(message, SubagentEvent) and message.agent_id and message.parent_tool_call_id in calls:
            found.setdefault(message.parent_tool_call_id, {})[message.agent_id] = None
    return found


def _notify(log: SessionLog, text: str) -> None:
    log.publish(
        Notification(
            id=secrets.token_hex(6),
            type="recovered",
            title="Recovered after a crash",
            body=text,
            severity="warning",
            created_at=time.time(),
        )
    )
