"""Commands that the end of a daemon cut off: which they were, and what changed on disk since they began (D19).

What was there before they ran is not known any more, because the copies ended with the daemon. So what changed since is
told and kept as `shared`: going back names it, and never touches it.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.files.projects.capture import Capture
from sould.agents.journal.channel import Record
from sould.agents.soul.call_scheduler import not_begun
from sould.agents.toolapi.background import BackgroundTasks
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


class CutOff(Struct, frozen=True):
    """A call that may have run a program, and when that may have begun (wall seconds)."""

    call_id: str
    turn_id: str
    title: str
    began: float


class _Running(Struct):
    """The fold: what runs in the open turn, whoever runs it."""

    turn_id: str = ""
    calls: dict[str, CutOff] = field(default_factory=dict[str, CutOff])
    after: dict[str, str] = field(default_factory=dict[str, str])
    """The call that each begins after."""
    asking: dict[str, str] = field(default_factory=dict[str, str])
    """The call by the approval it waits for: nothing of it has run."""

    def take(self, record: Record) -> None:
        message: object = record.message
        while isinstance(message, SubagentEvent):
            message = message.event
        if isinstance(record.message, TurnBegin | TurnEnd):
            self.turn_id = record.message.turn_id
            for each in (self.calls, self.after, self.asking):
                each.clear()
        if isinstance(message, ToolCallDetail):
            self.after[message.tool_call_id] = message.after
        match message:
            case ToolCallDetail() if message.kind == "execute" or "__" in message.name:
                call_id = message.tool_call_id
                self.calls[call_id] = CutOff(call_id, self.turn_id, message.title, record.timestamp)
            case ApprovalRequest():
                self.asking[message.id] = message.tool_call_id
            case ApprovalResponse():
                call = self.calls.get(self.asking.pop(message.request_id, ""))
                if call is not None:
                    self.calls[call.call_id] = replace(call, began=record.timestamp)
            case ToolResult():
                self.calls.pop(message.tool_call_id, None)
            case _:
                pass


def running(records: Iterable[Record]) -> list[CutOff]:
    """The calls of a journal's open turn that were running programs, as far as is known."""
    found = _Running()
    for record in records:
        found.take(record)
    asking = set(found.asking.values())
    waiting = asking | not_begun(found.after, found.after, asking)
    return [call for call in found.calls.values() if call.call_id not in waiting]


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
    said = f"Cut off midway: {titles}. What it changed was not recorded, so going back does not restore it."
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
