"""The commands about the conversation: what the model knows of it, going back and returning, and sharing it.

They are `/init`, `/context`, `/compact`, `/clear`, `/rewind`, `/undo`, `/redo`, `/export` and `/import`. What they say is for people only.
"""

import time
from pathlib import Path

from msgspec import Struct

from sould.agents.sessions.commands.slash import Conversation
from sould.agents.sessions.operations.context import ModelContext
from sould.agents.sessions.operations.sharing import NotExportedError, NotImportedError, Sharing
from sould.agents.sessions.operations.travel import (
    CLEARED,
    COMPACTED,
    NothingToGoTo,
    Timeline,
    TimeTravel,
    TravelResult,
    breakdown_text,
    travelled,
)
from sould.agents.soul.loop import Ending
from sould.agents.soul.timetravel.timeline import Moment
from sould.agents.soul.turn import Turn

SHOWN = 20
"""Turns that `/rewind` lists."""
_INIT_PROMPT = Path(__file__).with_name("init.md")


class ConversationCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    context: ModelContext
    sharing: Sharing
    travel: TimeTravel

    async def init(self, turn: Turn, wishes: str) -> Ending:
        """Let the agent write AGENTS.md."""
        instruction = _INIT_PROMPT.read_text(encoding="utf-8").strip()
        return await self.conversation.ask(turn, f"{instruction}\n\n{wishes}".strip())

    async def show(self, _turn: Turn, _: str) -> Ending:
        """What fills the model's window."""
        return self.conversation.say(breakdown_text(self.context.breakdown))

    async def compact(self, _turn: Turn, guidance: str) -> Ending:
        """`preview` as the first word shows the summary before it is used."""
        first, _, rest = guidance.partition(" ")
        preview = first == "preview"
        unchanged = await self.context.compact(rest.strip() if preview else guidance, preview=preview)
        return self.conversation.say(f"The context is unchanged. {unchanged}" if unchanged else COMPACTED)

    async def clear(self, _turn: Turn, _: str) -> Ending:
        """Begin with an empty context."""
        self.context.clear()
        return self.conversation.say(f"{CLEARED} The history stays readable.")

    async def export(self, turn: Turn, argument: str) -> Ending:
        """The conversation without the turn that asks for it; `argument` is a file or a directory."""
        try:
            path = await self.sharing.export(argument, until=turn.id)
        except NotExportedError as error:
            return self.conversation.refuse(error.message)
        return self.conversation.say(f"The conversation was exported to `{path}`.")

    async def bring(self, _: Turn, argument: str) -> Ending:
        """`argument`: a file, or a session's id."""
        say = self.conversation.say
        if not argument:
            return self.conversation.refuse("Name what to import: `/import PATH`, or the id of another session.")
        try:
            source, size = await self.sharing.bring(argument)
        except NotImportedError as error:
            return self.conversation.refuse(error.message)
        return say(f"Imported {source}: about {size} tokens, which the agent now knows.")

    async def rewind(self, turn: Turn, argument: str) -> Ending:
        """Without a number, the places to go back to; with one, go there."""
        if not argument:
            return self.conversation.say(_listing(self.travel.timeline()))
        unknown = f"There is no checkpoint {argument!r} to go back to. `/rewind` lists them."
        if not argument.isdecimal():
            return self.conversation.refuse(unknown)
        done = await self.travel.rewind(int(argument), turn.id)
        return self.conversation.refuse(unknown) if isinstance(done, NothingToGoTo) else self._say(done)

    async def undo(self, turn: Turn, argument: str) -> Ending:
        """`kept`: also the changes that the user kept."""
        if argument not in ("", "kept"):
            return self.conversation.refuse("`/undo` takes back the last turn, `/undo kept` also what you kept of it.")
        return self._say(await self.travel.undo(turn.id, kept=bool(argument)))

    async def redo(self, turn: Turn, argument: str) -> Ending:
        """Go back to where the last of them began."""
        if argument:
            return self.conversation.refuse(
                "`/redo` takes nothing behind it: it reverses the last `/undo` or `/rewind`."
            )
        return self._say(await self.travel.redo(turn.id))

    def _say(self, done: TravelResult) -> Ending:
        """What became of each file, the clients are shown by the restore itself."""
        say = self.conversation.refuse if isinstance(done, NothingToGoTo) else self.conversation.say
        return say(" ".join(travelled(done)).strip())


def _listing(places: Timeline) -> str:
    known = {moment.checkpoint: moment for moment in places.moments if moment.kind == "turn"}
    lines = [_line(known[at]) for at in places.turns[-SHOWN:] if at in known]
    if not lines:
        return "There are no checkpoints yet."
    return "Go back to before a turn with `/rewind NUMBER`:\n\n" + "\n".join(lines)


def _line(moment: Moment) -> str:
    first = moment.text.strip().partition("\n")[0][:70]
    return f"- `{moment.checkpoint}` {time.strftime('%H:%M', time.localtime(moment.timestamp))} {first}"
