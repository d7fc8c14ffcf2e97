"""The commands that go back and return: `/rewind`, `/undo`, `/redo`. What they say is for people only."""

import time

from msgspec import Struct

from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.operations.travel import NothingToGoTo, Timeline, TimeTravel, TravelResult, travelled
from sould.agents.soul.loop import Ending
from sould.agents.soul.timetravel.timeline import Moment
from sould.agents.soul.turn import Turn

SHOWN = 20
"""Turns that `/rewind` lists."""


class TravelCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    travel: TimeTravel

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
