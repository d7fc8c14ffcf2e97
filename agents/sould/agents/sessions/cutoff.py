"""Commands that the end of a daemon cut off: which they were, and what changed on disk since they began (D19).

What was there before they ran is not known any more, because the copies ended with the daemon. So what changed since is
told and kept as `shared`: going back names it, and never touches it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sould.agents.review.capture import Capture
from sould.agents.tools.background import BackgroundTasks
from sould.agents.wire.channel import Record
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    SubagentEvent,
    ToolCallDetail,
    ToolResult,
    TurnBegin,
    TurnEnd,
)

NAMED = 5
"""Files that a sentence names."""
LONGEST = 60
"""Characters of a command in it."""


@dataclass(slots=True)
class CutOff:
    """A call that may have run a program, and when that may have begun (wall seconds)."""

    call_id: str
    turn_id: str
    title: str
    began: float
    asks: str = ""
    """The approval it waits for: nothing of it has run."""


@dataclass(slots=True)
class _Running:
    """The fold: what runs in the open turn, whoever runs it."""

    turn_id: str = ""
    calls: dict[str, CutOff] = field(default_factory=dict[str, CutOff])

    def take(self, record: Record) -> None:
        message: object = record.message
        while isinstance(message, SubagentEvent):
            message = message.event
        if isinstance(record.message, TurnBegin | TurnEnd):
            self.turn_id = record.message.turn_id
            self.calls.clear()
        match message:
            case ToolCallDetail() if message.kind == "execute" or "__" in message.name:
                call_id = message.tool_call_id
                self.calls[call_id] = CutOff(call_id, self.turn_id, message.title, record.timestamp)
            case ApprovalRequest(tool_call_id=call_id) if call_id in self.calls:
                self.calls[call_id].asks = message.id
            case ApprovalResponse():
                for call in self.calls.values():
                    if call.asks == message.request_id:
                        call.asks, call.began = "", record.timestamp
            case ToolResult():
                self.calls.pop(message.tool_call_id, None)
            case _:
                pass


def running(records: Iterable[Record]) -> list[CutOff]:
    """The calls of a journal's open turn that were running programs, as far as is known."""
    found = _Running()
    for record in records:
        found.take(record)
    return [call for call in found.calls.values() if not call.asks]


def in_background(tasks: BackgroundTasks) -> Iterator[CutOff]:
    """The commands that went on by themselves."""
    for record in tasks.take_cut_off():
        yield CutOff("", "", record.description, record.started)


async def account(calls: Sequence[CutOff], capture: Capture | None) -> str:
    """Keep what changed since they began; the sentence for the user and the model, "" when nothing was cut off."""
    if not calls:
        return ""
    first = min(calls, key=lambda call: call.began)
    titles = ", ".join(f"`{' '.join(call.title.split())[:LONGEST]}`" for call in calls[:NAMED])
    said = f"Cut off in its middle: {titles}. What it changed was not recorded, so going back does not restore it."
    if capture is None:
        return said
    paths, whole = await capture.changed_since(first.began, first.turn_id, first.call_id)
    names = ", ".join(str(path) for path in paths[:NAMED]) + (
        f" and {len(paths) - NAMED} more" if paths[NAMED:] else ""
    )
    changed = (
        f"Changed since it began, by it or by others: {names}." if paths else "No file has changed since it began."
    )
    return (
        f"{said} {changed}{'' if whole else ' There was no time to look at all files.'} What it deleted is not known."
    )
