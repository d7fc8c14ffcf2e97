"""What happens in a session, in the daemon's log: debug lines made of its messages, where somebody wants them.

They say what, how much and how long, and never what was said: no prompt, no path, no command, no argument, no output.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Final, cast

from sould.agents.base.loglevel import LOG_LEVELS
from sould.agents.base.text import plural
from sould.agents.journal.channel import Channel, Record
from sould.agents.wire import messages as wire
from sould.agents.wire.content import UserInput, input_text

logger = logging.getLogger(__name__)

KINDS: Final[tuple[type[wire.WireMessage], ...]] = (
    *(wire.TurnBegin, wire.TurnEnd, wire.StepBegin, wire.StepInterrupted, wire.SteerInput),
    *(wire.ToolCallDetail, wire.CommandBegin, wire.ToolResult, wire.StatusUpdate, wire.Notification),
    *(wire.ApprovalRequest, wire.ApprovalResponse, wire.QuestionRequest, wire.QuestionResponse, wire.RequestClosed),
    *(wire.HookTriggered, wire.HookResolved, wire.CompactionBegin, wire.CompactionEnd),
    *(wire.MCPLoadingBegin, wire.MCPLoadingEnd, wire.SubagentEvent),
)


@contextmanager
def logged_messages(channel: Channel) -> Generator[None]:
    """While this lasts, the session's messages are logged, as what goes on here, if debug lines from here are written."""
    if not LOG_LEVELS.is_debug:
        yield
        return
    here = copy_context()  # a client that answers publishes in its own

    def note(record: Record) -> None:
        here.run(_log, record.message)

    listening = channel.listen(KINDS, note)
    try:
        yield
    finally:
        listening.close()


def _log(message: wire.WireMessage) -> None:
    who = ""
    while isinstance(message, wire.SubagentEvent):
        who = f"subagent {message.agent_id}: " if message.agent_id else "subagent: "
        message = cast("wire.WireMessage", message.event)
    if isinstance(message, KINDS) and (said := _said(message)):
        logger.debug("%s%s", who, said)


def _said(message: wire.WireMessage) -> str:
    match message:
        case wire.TurnBegin():
            return f"a turn begins: {_size(message.user_input)}{', a command' if message.command else ''}"
        case wire.TurnEnd():
            return f"the turn ends: {message.stop_reason}{f', {message.error.kind}' if message.error else ''}"
        case wire.StepBegin():
            return f"step {message.n} begins"
        case wire.StepInterrupted():
            return "the step is interrupted"
        case wire.SteerInput():
            return f"the user adds {_size(message.user_input)}"
        case wire.StatusUpdate():
            return _counted(message)
        case wire.Notification():
            return f"a notice: {message.category}, {message.severity}"
        case wire.CompactionBegin():
            return "compaction begins"
        case wire.CompactionEnd():
            how = "failed" if message.failed else f"{message.tokens_before} tokens became {message.tokens_after}"
            return f"compaction ends: {how}"
        case wire.MCPLoadingBegin():
            return "MCP servers are being connected"
        case wire.MCPLoadingEnd():
            return "MCP servers are connected, or have failed"
        case wire.HookTriggered():
            return f"{message.event}: {plural(message.hook_count, 'hook')} to be asked"
        case wire.HookResolved():
            return f"{message.event}: hooks {message.action}, after {message.duration_ms} ms"
        case _:
            return _of_call(message)


def _of_call(message: wire.WireMessage) -> str:
    match message:
        case wire.ToolCallDetail():
            return f"call {message.tool_call_id} of {message.name} begins"
        case wire.CommandBegin():
            return f"call {message.tool_call_id} starts its command"
        case wire.ToolResult():
            value = message.return_value
            how = "failed" if value.is_error else "is done"
            return f"call {message.tool_call_id} {how}: {_size(value.output)}"
        case wire.ApprovalRequest():
            return f"request {message.id} of call {message.tool_call_id}: may it {message.action}?"
        case wire.ApprovalResponse():
            return f"request {message.request_id} is answered: {message.response}"
        case wire.QuestionRequest():
            return f"request {message.id} of call {message.tool_call_id}: {plural(len(message.questions), 'question')}"
        case wire.QuestionResponse():
            return f"request {message.request_id} is {'answered' if message.answers else 'dismissed'}"
        case wire.RequestClosed():
            return f"request {message.request_id} is closed: {message.reason}"
        case _:
            return ""


def _counted(message: wire.StatusUpdate) -> str:
    used = message.token_usage
    if used is None:
        return ""
    return f"the model's server counted {used.input} tokens in ({used.input_cache_read} cached), {used.output} out"


def _size(content: UserInput) -> str:
    return plural(len(input_text(content)), "character")
