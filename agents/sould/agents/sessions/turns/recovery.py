"""What happens when a session is opened that its last writer left in the middle of something (D16).

A turn in which something waits for an approval, or for an answer to the agent's question, goes on, be it one of the main
agent or of a subagent: nothing of that call has run, or what it came to is in the request. Every other open turn is closed
honestly: its calls may or may not have run, and are never run again.
"""

from collections.abc import Collection
from functools import partial

from sould.agents.files.projects.capture import Capture
from sould.agents.journal import recovery
from sould.agents.journal.log import SessionLog
from sould.agents.journal.recovery import Recovery
from sould.agents.permissions.questions import Questions
from sould.agents.sessions.turns import interrupted_commands
from sould.agents.sessions.turns.approval_requests import ApprovalRequester
from sould.agents.sessions.turns.turns import INTERRUPTED, Prompt, Turns
from sould.agents.soul.call_scheduler import not_begun
from sould.agents.soul.loop import AgentLoop
from sould.agents.soul.soul import Expire, OpenWork, Soul
from sould.agents.soul.subagents.crew import Crew, Job
from sould.agents.soul.subagents.market import can_go_on
from sould.agents.soul.unfinished import ASKS, Unfinished, unfinished
from sould.agents.toolapi.background import BackgroundTasks, Printed, TaskEnded, TaskError
from sould.agents.toolapi.base import ToolCallContext, tool_error
from sould.agents.tools.agent import in_background
from sould.agents.tools.askuser import nobody_here
from sould.agents.wire.messages import (
    CompactionEnd,
    RequestClosed,
    StepInterrupted,
    ToolCall,
    ToolCallDetail,
    ToolResult,
    ToolReturn,
    TurnEnd,
    TurnError,
)
from sould.agents.wire.notice import notice

AFTER_CRASH = (
    "Interrupted: the daemon stopped while this call was open; it may or may not have run. Check before you repeat it."
)
STOPPED = "The daemon stopped in the middle of a turn."


async def recover(
    log: SessionLog,
    soul: Soul,
    asker: ApprovalRequester,
    questions: Questions,
    turns: Turns,
    tasks: BackgroundTasks,
    capture: Capture | None,
) -> None:
    """Close or resume what was open, tell the clients once, and make it durable."""
    found = log.recovery
    cut_off = [
        *(interrupted_commands.running(log.replay()) if found.open_calls else ()),
        *interrupted_commands.in_background(tasks),
    ]
    lost = await interrupted_commands.account(cut_off, capture)
    if found.clean:
        if lost:
            _notify(log, lost)
        return
    said = (record.message for record in log.replay()) if found.open_requests else ()
    left = unfinished(said, found.open_requests)
    expire = partial(_expire, asker, questions)
    resumed = soul.resume(OpenWork(found, left, lost, expire))
    kept = {request for call_id, ids in left.requests.items() if call_id in resumed.tasks for request in ids}
    turn = found.open_turn
    if turn is not None and resumed.turn:
        asked = {request for call in found.open_calls for request in left.requests.get(call.id, ())}
        kept |= asked
        turns.submit(Prompt("", turn.client_id, turn_id=turn.turn_id, resumes=True, on_end=partial(expire, asked)))
    again = [request for request in found.open_requests if request.id in kept]
    asker.restore(again, (record.message for record in log.replay()) if again else ())
    questions.restore(again)
    for request in found.open_requests:
        if request.id not in kept:
            log.publish(RequestClosed(request_id=request.id, reason="expired"))
    if not resumed.turn:
        close_open_work(log, found, lost)
    stopped = turn is not None and (not resumed.turn or resumed.cut_off)
    told = " ".join(filter(None, (found.notice, STOPPED if stopped else "", lost)))
    if told:
        _notify(log, told)
    await log.commit()


def _expire(asker: ApprovalRequester, questions: Questions, request_ids: Collection[str]) -> None:
    asker.expire(request_ids)
    questions.expire(request_ids)


def take_up(log: SessionLog, loop: AgentLoop, found: Recovery, left: Unfinished, lost: str = "") -> bool:
    """Let an agent's next turn be the one that was open (D16); whether some of its calls may have run.

    What waited is asked again, what had not begun because of that follows it, the rest may have run.
    """
    said = (record.message for record in log.replay())
    after = {message.tool_call_id: message.after for message in said if isinstance(message, ToolCallDetail)}
    asking = [each for each in found.open_calls if each.function.name in ASKS]
    unasked = {each.id for each in asking if not loop.tools.toolset.find(each.function.name)}
    going_on = left.calls | not_begun((call.id for call in found.open_calls), after, left.calls)
    cut_off = {call.id: _interrupted(call, left, lost) for call in found.open_calls if call.id not in going_on}
    loop.take_up(found.open_calls, cut_off | dict.fromkeys(unasked & going_on, nobody_here()), left.held)
    return bool(cut_off)


def take_up_task(log: SessionLog, crew: Crew, expire: Expire, call_id: str) -> bool:
    """Let a subagent in the background go on that waited for a person."""
    market = crew.market
    record = market.tasks.lost(call_id)
    if record is None or not market.unfinished.going_on(call_id):
        return False
    job = Job(prompt="", kind="", description=record.description, background=True)
    born = market.unfinished.begun.get(call_id, -1)
    work = in_background(crew, job, ToolCallContext(call_id, 0, checkpoint=born))

    async def again(printed: Printed) -> TaskEnded:
        try:
            return await work(printed)
        finally:
            expire(market.unfinished.requests[call_id])

    try:
        market.tasks.take_up(record, again)
    except TaskError as error:
        _notify(log, f"{record.id} cannot go on. {error.message}")
        return False
    return True


def leave_waiting(
    log: SessionLog, soul: Soul, asker: ApprovalRequester, questions: Questions, tasks: BackgroundTasks
) -> None:
    """The daemon is about to end: what waits for a person stays as it is, and the next daemon goes on with it (D16)."""
    pending = (*log.channel.pending, *asker.unasked, *questions.unasked)
    if not pending:
        return
    work, messages = recovery.OpenWork(), [record.message for record in log.replay()]
    for message in messages:
        work.apply(message)
    left = unfinished(messages, pending)
    asker.forget()
    questions.forget()
    soul.leave(left)
    open_calls = {call.id for call in work.calls}
    if open_calls & left.calls:
        log.channel.freeze()
    waiting = [call_id for call_id in left.requests if call_id not in open_calls]
    tasks.keep(waiting)
    log.channel.keep({request for call_id in waiting for request in left.requests[call_id]})


def close_open_work(log: SessionLog, found: Recovery, lost: str = "") -> None:
    """Give the calls and the turn that were open an honest end. `lost`: what is known of what their programs did."""
    left = unfinished((record.message for record in log.replay()) if found.open_calls else (), ())
    for call in found.open_calls:
        log.publish(ToolResult(tool_call_id=call.id, return_value=_interrupted(call, left, lost)))
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
        error = TurnError(kind="interrupted", message=INTERRUPTED)
        log.publish(TurnEnd(turn_id=found.open_turn.turn_id, stop_reason="interrupted", error=error))


def _interrupted(call: ToolCall, left: Unfinished, lost: str) -> ToolReturn:
    message = " ".join((AFTER_CRASH, *filter(None, (lost,)), *map(can_go_on, left.workers.get(call.id, ()))))
    return tool_error(message, brief="Interrupted")


def _notify(log: SessionLog, text: str) -> None:
    log.publish(notice("recovered", "Recovered after a crash", text, severity="warning"))
