"""A record as a line to read: its number, when, its type, and the few words that matter. Nothing in it drives the terminal."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

import click
import orjson

from sould.agents.journal.records import JournalRecord
from sould.agents.wire import messages as wire
from sould.agents.wire.content import TextPart, ThinkPart, input_summary, input_text
from sould.daemon.cli.output import one_line
from sould.daemon.cli.terminal.screenfuls import screen, wrapped

WIDTH: Final = 1_000
"""Of a line where no terminal says how wide it is."""
_TYPE: Final = 16
_COLOURS: Final[dict[str, str]] = {
    **dict.fromkeys(("TurnBegin", "TurnEnd", "SteerInput"), "green"),
    **dict.fromkeys(("ToolCall", "ToolCallPart", "ToolResult"), "cyan"),
    **dict.fromkeys(("ApprovalRequest", "ApprovalResponse", "QuestionRequest", "QuestionResponse"), "yellow"),
    **dict.fromkeys(("StepRetry", "StepInterrupted"), "red"),
}


class _Call(NamedTuple):
    name: str
    began: float


class RecordLines:
    """Makes the lines of one session, in order."""

    def __init__(self) -> None:
        self._day = ""
        self._calls: dict[str, _Call] = {}
        """Those that have no result yet."""

    def lines(self, record: JournalRecord) -> Iterator[str]:
        """Its line, and before the first one of a day that day."""
        when = _when(record.timestamp)
        day = f"{when:%Y-%m-%d}" if when is not None else self._day
        if day != self._day:
            self._day = day
            yield click.style(day, bold=True)
        clock = f"{when:%H:%M:%S}.{when.microsecond // 1000:03d}" if when is not None else "-"
        head = f"{record.seq:>5} {clock:<12}  "
        kind = one_line(record.type, 40).ljust(_TYPE)
        message = record.message
        words = _fields(record.payload) if message is None else self._words(message, record.timestamp)
        if record.incomplete:
            words = f"(not whole) {words}"
        here = screen()
        left = max(1, (here.columns if here is not None else WIDTH) - len(head) - len(kind) - 2)
        failed = _has_failed(message)
        yield (
            click.style(head, dim=True)
            + click.style(kind, fg="red" if failed else _COLOURS.get(record.type))
            + f"  {_cut(words, left)}"
        ).rstrip()

    def _words(self, message: wire.WireMessage, when: float) -> str:
        match message:
            case wire.ToolCall():
                self._calls[message.id] = _Call(message.function.name, when)
                return f"{message.function.name} {message.function.arguments or ''}"
            case wire.ToolResult():
                return self._result(message, when)
            case wire.SubagentEvent():
                event = cast("wire.WireMessage", message.event)
                who = message.subagent_type or message.agent_id or "subagent"
                return f"{who}: {wire.type_name(event)} {self._words(event, when)}"
            case _:
                return _said(message)

    def _result(self, message: wire.ToolResult, when: float) -> str:
        value = message.return_value
        call = self._calls.pop(message.tool_call_id, None)
        about = f"{call.name}, {max(0.0, when - call.began):.3f} s" if call is not None else message.tool_call_id
        text = value.message or input_text(value.output)
        return f"{about}: {'failed' if value.is_error else 'ok'}  {text}"


def _has_failed(message: wire.WireMessage | None) -> bool:
    match message:
        case wire.ToolResult():
            return message.return_value.is_error
        case wire.TurnEnd():
            return message.error is not None
        case _:
            return False


def _said(message: wire.WireMessage) -> str:
    match message:
        case TextPart():
            return message.text
        case ThinkPart():
            return f"(thinks) {message.think}"
        case wire.TurnBegin() | wire.SteerInput():
            return input_summary(message.user_input)
        case wire.TurnEnd():
            error = f"  {message.error.kind}: {message.error.message}" if message.error is not None else ""
            return f"{message.stop_reason}{error}"
        case wire.StepBegin():
            return str(message.n)
        case wire.ToolCallPart():
            return message.arguments_part or ""
        case wire.ApprovalRequest():
            return f"{message.action}: {message.description}"
        case wire.ApprovalResponse():
            who = f" by {message.answered_by}" if message.answered_by else ""
            return f"{message.response}{who}{f': {message.feedback}' if message.feedback else ''}"
        case wire.QuestionRequest():
            return "  ".join(each.question for each in message.questions)
        case wire.StatusUpdate():
            return _status(message)
        case wire.Notification():
            return f"{message.severity}: {message.title}"
        case wire.SystemPrompt():
            return message.text
        case _:
            return _fields(message.model_dump(mode="json"))


def _status(message: wire.StatusUpdate) -> str:
    used = message.token_usage
    tokens = (
        f"{used.input:,} tokens in ({used.input_cache_read:,} cached), {used.output:,} out" if used is not None else ""
    )
    window = f"{message.context_usage:.0%} of the window" if message.context_usage is not None else ""
    rest = message.model_dump(mode="json", include={"plan_mode", "mcp_status", "cost", "currency"}, exclude_none=True)
    return "  ".join(filter(None, (tokens, window, _fields(rest))))


def _fields(payload: object) -> str:
    """What a message says, for types without words of their own: its fields that are not empty."""
    if not isinstance(payload, dict):
        return "" if payload is None else orjson.dumps(payload).decode()
    fields = cast("dict[str, Any]", payload)
    said = {name: value for name, value in fields.items() if value not in (None, "", [], {}, False)}
    return "  ".join(
        f"{name}: {value if isinstance(value, str) else orjson.dumps(value).decode()}" for name, value in said.items()
    )


def _cut(words: str, columns: int) -> str:
    """On one line of so many columns, whose end says that there is more."""
    line = one_line(words[: 8 * columns], 8 * columns)
    if len(wrapped(line, columns)) == 1 and len(words) <= 8 * columns:
        return line
    return f"{wrapped(line, columns - 1)[0]}…" if columns > 1 else "…"


def _when(timestamp: float) -> datetime | None:
    """In the zone of who looks; None where it is no time."""
    try:
        return datetime.fromtimestamp(timestamp).astimezone()
    except (OverflowError, ValueError, OSError):
        return None
