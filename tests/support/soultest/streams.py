"""Streams of Wire messages for tests: strategies, sinks, and what a stream looks like on a screen."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from sould.agents.journal.channel import Cursor, Record
from sould.agents.journal.journal import JournalWriter
from sould.agents.journal.log import SessionLog
from sould.agents.wire.content import FunctionCall, TextPart, ThinkPart
from sould.agents.wire.messages import (
    StatusUpdate,
    SteerInput,
    StepBegin,
    StepInterrupted,
    ToolCall,
    ToolCallPart,
    ToolOutput,
    ToolResult,
    ToolReturn,
    TurnBegin,
    TurnEnd,
    WireMessage,
)
from sould.agents.wire.stream import is_delta, piece

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_calls = st.sampled_from(["call-1", "call-2", "call-3"])

messages: st.SearchStrategy[WireMessage] = st.one_of(
    st.builds(TextPart, text=_text),
    st.builds(ThinkPart, think=_text, encrypted=st.sampled_from([None, None, None, "sealed"])),
    st.builds(
        ToolCall, id=_calls, function=st.builds(FunctionCall, name=st.just("Shell"), arguments=st.none() | _text)
    ),
    st.builds(ToolCallPart, arguments_part=_text, tool_call_id=st.none() | _calls),
    st.builds(
        ToolResult, tool_call_id=_calls, return_value=st.builds(ToolReturn, is_error=st.booleans(), output=_text)
    ),
    st.builds(TurnBegin, user_input=_text),
    st.just(TurnEnd()),
    st.builds(StepBegin, n=st.integers(1, 9)),
    st.just(StepInterrupted()),
    st.builds(SteerInput, user_input=_text),
    st.builds(StatusUpdate, context_tokens=st.integers(0, 999)),
    st.builds(ToolOutput, tool_call_id=_calls, text=_text),
)
"""Any message, in any order: worse than a soul would do."""


def rendered(stream: Iterable[Record]) -> list[tuple[object, ...]]:
    """What a screen shows: neighbouring deltas of one message are one thing, however they were cut."""
    shown: list[tuple[object, ...]] = []
    for record in stream:
        message = record.message
        if record.volatile or not is_delta(message):
            shown.append(("whole", message))
            continue
        text = piece(message)
        last = shown[-1] if shown else None
        if last and last[0] == "streamed" and last[1] == record.seq:
            shown[-1] = (*last[:-1], f"{last[-1]}{text}")
        else:
            call = message.id if isinstance(message, ToolCall) else None
            shown.append(
                ("streamed", record.seq, "call" if isinstance(message, ToolCallPart) else type(message), call, text)
            )
    return shown


@dataclass
class Screen:
    """A sink that takes `room` records and then says it is full."""

    room: int = 1_000_000
    records: list[Record] = field(default_factory=list[Record])
    cut_at: Cursor | None = None

    def take(self, record: Record) -> bool:
        """The sink."""
        self.records.append(record)
        self.room -= 1
        return self.room > 0

    def cut(self, cursor: Cursor) -> None:
        """The subscription ended here."""
        self.cut_at = cursor

    @property
    def text(self) -> str:
        """All visible text."""
        return "".join(record.message.text for record in self.records if isinstance(record.message, TextPart))


async def until(condition: Callable[[], bool]) -> None:
    """Return when another thread or the kernel has made it true; what nobody can be told of has to be looked at."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 -- nobody sets an event
            await asyncio.sleep(0.002)


async def new_log(directory: Path, writer: JournalWriter) -> SessionLog:
    """An empty one in this directory."""
    directory.mkdir(exist_ok=True)
    return await SessionLog.create(directory, writer, session_id="s1", cwd=Path("/w"))
