"""A session's journal as places one can go back to. Pure: reads messages, opens nothing."""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct, field

from sould.agents.base.text import plural
from sould.agents.soul.timetravel.outcome import left
from sould.agents.wire.content import input_summary
from sould.agents.wire.display import CHANGED, DiffBlock
from sould.agents.wire.messages import (
    CompactionEnd,
    ContextCleared,
    ContextReturned,
    ContextReverted,
    FilesRestored,
    StepBegin,
    SubagentEvent,
    ToolCall,
    ToolCallDetail,
    ToolResult,
    ToolReturn,
    TurnBegin,
    WireMessage,
)

Kind: TypeAlias = Literal["turn", "step", "event"]


class Moment(Struct):
    """A checkpoint, or something that happened to the context (`event`, with the checkpoint it happened at)."""

    kind: Kind
    checkpoint: int
    timestamp: float
    text: str
    did: list[str] = field(default_factory=list[str])
    """Titles of the calls made after it."""
    files: list[str] = field(default_factory=list[str])
    """Paths edited after it."""

    def note_changed(self, paths: Iterable[str]) -> None:
        """These were edited after it, each of them told once."""
        self.files += [path for path in dict.fromkeys(paths) if path not in self.files]


def timeline(records: Iterable[tuple[WireMessage, float]]) -> list[Moment]:
    """Every turn, step and event, in order. Checkpoints count as in the context."""
    moments: list[Moment] = []
    checkpoint = -1
    for message, timestamp in records:
        match message:
            case TurnBegin():
                checkpoint += 1
                moments.append(Moment("turn", checkpoint, timestamp, input_summary(message.user_input)))
            case StepBegin():
                checkpoint += 1
                moments.append(Moment("step", checkpoint, timestamp, ""))
            case ToolCallDetail() if moments:
                moments[-1].did.append(message.title)
            case ToolResult() if moments:
                moments[-1].note_changed(_changed(message.return_value))
            case _:
                text = _event(message)
                if text:
                    moments.append(Moment("event", checkpoint, timestamp, text))
    return moments


def calls_after(messages: Iterable[WireMessage], checkpoint_id: int) -> list[str]:
    """The ids of all calls made after a checkpoint, those of subagents included."""
    checkpoint = -1
    found: list[str] = []
    for message in messages:
        if isinstance(message, TurnBegin | StepBegin):
            checkpoint += 1
        elif checkpoint >= checkpoint_id:
            found += _calls(message)
    return found


def _calls(message: object) -> Iterator[str]:
    if isinstance(message, ToolCall):
        yield message.id
    elif isinstance(message, SubagentEvent):
        yield from _calls(message.event)


def _changed(result: ToolReturn) -> Iterator[str]:
    yield from (block.path for block in result.display if isinstance(block, DiffBlock))
    found = (result.extras or {}).get(CHANGED)
    if isinstance(found, list):
        yield from (path for path in found if isinstance(path, str))


def _event(message: WireMessage) -> str:
    match message:
        case CompactionEnd(failed=False):
            return f"compacted: {message.note}" if message.note else "compacted"
        case ContextCleared():
            return "cleared"
        case ContextReverted():
            return f"went back to {message.checkpoint_id}"
        case ContextReturned():
            return "returned"
        case FilesRestored() if message.files:
            kept = len(left(message))
            restored = f"restored {plural(len(message.files) - kept, 'file')}"
            return f"{restored}, left {kept}" if kept else restored
        case _:
            return ""
