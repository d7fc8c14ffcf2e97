"""Going back in a session and returning, as operations with typed results: rewind, undo, redo, where one can go, and all that in words.

They run while nothing else works in the session: within the turn of a slash command, or between turns. What happens to
the files and the context is published by the rewinder; nothing here tells anybody.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from sould.agents.base.text import plural
from sould.agents.journal.log import SessionLog
from sould.agents.soul.compaction.breakdown import Breakdown, ToolShare
from sould.agents.soul.compaction.compactor import Compactor
from sould.agents.soul.soul import NO_COMPACTOR, needed
from sould.agents.soul.timetravel.outcome import describe, headline
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.soul.timetravel.timeline import Moment, timeline
from sould.agents.wire.content import TextPart, UserInput, typed_text
from sould.agents.wire.messages import FilesRestored, FilesRestoring
from sould.agents.wire.notice import notice

CLEARED = "The context has been cleared."
COMPACTED = "The context has been compacted."
_NOTHING = {
    "unknown_checkpoint": "There is no such checkpoint to go back to. `/rewind` lists them.",
    "nothing_to_undo": "There is no turn to undo.",
    "nothing_to_redo": "There is nothing to redo: `/redo` reverses an `/undo` or `/rewind`, until you continue from there.",
}


class WentBack(Struct, frozen=True):
    """The conversation is as it was at `checkpoint`; `restored` is what became of the files."""

    checkpoint: int
    restored: FilesRestored
    undid: Literal["turn", "clearing"] | None = None
    """What an undo took back; None after a rewind."""


class TookKeptBack(Struct, frozen=True):
    """What the last going back had left, because it was kept, is taken back, too; `restored` is what became of the files."""

    restored: FilesRestored


class Returned(Struct, frozen=True):
    """The last going back is taken back; `restored` is what became of the files."""

    restored: FilesRestored


class NothingToGoTo(Struct, frozen=True):
    """Nothing was done: there is no such checkpoint, or nothing to undo or to redo."""

    reason: Literal["unknown_checkpoint", "nothing_to_undo", "nothing_to_redo"]


TravelResult: TypeAlias = WentBack | TookKeptBack | Returned | NothingToGoTo


class Timeline(Struct, frozen=True):
    """The places of a session one can go back to, and what happened after each."""

    moments: Sequence[Moment]
    """Every turn, step and event, in order."""
    reachable: frozenset[int]
    """The checkpoints that a rewind goes to now."""
    turns: tuple[int, ...]
    """The checkpoints at which turns began that are part of the conversation, oldest first."""
    can_undo: bool
    can_redo: bool


class TimeTravel(Struct, frozen=True):
    """Of one session. All but `finish` raise OptionError where the agent keeps its conversation itself."""

    log: SessionLog
    rewinder: Rewinder
    compactor: Compactor | None

    def timeline(self) -> Timeline:
        """Where one can go."""
        self._require()
        context = self.log.context
        moments = timeline((record.message, record.timestamp) for record in self.log.replay())
        reachable = frozenset(
            moment.checkpoint for moment in moments if moment.kind != "event" and context.reaches(moment.checkpoint)
        )
        return Timeline(moments, reachable, context.turns, context.undoable is not None, bool(context.undone))

    async def rewind(self, checkpoint: int, turn_id: str = "") -> WentBack | NothingToGoTo:
        """Context and files as they were at a checkpoint. `turn_id`: of the turn that asks, "" for none.

        Raises:
            JournalFullError: the disk refuses; what was begun is finished when the session is opened again.
        """
        self._require()
        if not self.log.context.reaches(checkpoint):
            return NothingToGoTo("unknown_checkpoint")
        return await self._go_back(checkpoint, turn_id)

    async def undo(self, turn_id: str = "", *, kept: bool = False) -> WentBack | TookKeptBack | NothingToGoTo:
        """To before the last turn, or to before a clearing since which there was none. See `rewind`.

        What the user kept of the turn's changes stays. `kept`: it is taken back, too; after an undo or rewind that left some
        such changes, only these are.
        """
        self._require()
        left = await self.rewinder.take_kept_back(turn_id) if kept else None
        if left is not None:
            return TookKeptBack(left)
        last = self.log.context.undoable
        if last is None:
            return NothingToGoTo("nothing_to_undo")
        return await self._go_back(last.checkpoint, turn_id, "clearing" if last.cleared else "turn", kept=kept)

    async def redo(self, turn_id: str = "") -> Returned | NothingToGoTo:
        """To where the last undo or rewind left from, as long as nobody went on from there. See `rewind`."""
        compactor = self._require()
        restored = await self.rewinder.come_back(turn_id)
        if restored is None:
            return NothingToGoTo("nothing_to_redo")
        compactor.tell_used()
        return Returned(restored)

    async def finish(self, order: FilesRestoring, asked: UserInput | None = None) -> None:
        """Finish what the end of a daemon cut off, and say so: to undo once more would go back further.

        `asked`: the prompt in whose turn it was.
        """
        done = await self.rewinder.resume(order)
        if order.checkpoint_id is None and not order.undoes:
            return
        self._require().tell_used()
        returns = "" if order.undoes else " `/redo` returns."
        if asked is None:
            self.log.publish(
                notice("history", "sould was stopped while the session went back", describe(done) + returns)
            )
            return
        said = f"sould was stopped in the middle of `{typed_text(asked)}`, which is finished now: {describe(done)}{returns}"
        self.log.publish(TextPart(text=said))

    async def _go_back(
        self, checkpoint: int, turn_id: str, undid: Literal["turn", "clearing"] | None = None, *, kept: bool = False
    ) -> WentBack:
        restored = await self.rewinder.go_back(checkpoint, turn_id, kept=kept)
        self._require().tell_used()
        return WentBack(checkpoint, restored, undid)

    def _require(self) -> Compactor:
        return needed(self.compactor, NO_COMPACTOR)


def breakdown_text(found: Breakdown) -> str:
    """What fills the window, as lines of Markdown."""
    return "\n".join(_breakdown_lines(found))


def _breakdown_lines(found: Breakdown) -> Iterator[str]:
    share = f" ({found.used / found.window:.0%})" if found.window else ""
    yield f"{found.used:,} of {found.window:,} tokens of the model's window are used{share}."
    counted = (
        "The model's server counted the whole; how"
        if found.counted
        else "Nobody has counted them yet: all this and how"
    )
    yield f"{counted} it divides is estimated from the texts.\n"
    yield f"- instructions: {found.instructions:,}"
    yield f"- what you said, with notes and summaries: {found.asked:,}"
    yield f"- what the agent said and thought: {found.answered:,}"
    yield from map(_tool_line, found.tools)


def _tool_line(tool: ToolShare) -> str:
    name = f"MCP server `{tool.name}`" if tool.server else f"`{tool.name}`"
    if not tool.calls:
        return f"- {name}: {tool.described:,}, its description; no calls"
    return f"- {name}: {tool.used + tool.described:,}, of which its description {tool.described:,}; {plural(tool.calls, 'call')}"


def travelled(done: TravelResult) -> tuple[str, str]:
    """What was done, and what comes next; what became of each file everybody is shown beside it."""
    if isinstance(done, NothingToGoTo):
        return _NOTHING[done.reason], ""
    files = f"{headline(done.restored)}." if done.restored.files else describe(done.restored)
    if isinstance(done, Returned):
        return "Returned.", files
    if isinstance(done, TookKeptBack):
        return "What you had kept was taken back, too.", f"{files} `/redo` reverses both."
    match done.undid:
        case "turn":
            return "The last turn was undone.", f"{files} `/redo` reverses this."
        case "clearing":
            return "The /clear was undone: the conversation is as before.", f"{files} `/redo` reverses this."
        case None:
            return f"Back at checkpoint {done.checkpoint}.", f"{files} `/redo` reverses this."
