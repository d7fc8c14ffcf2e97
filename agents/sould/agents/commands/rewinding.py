"""The commands that go back and return: `/rewind`, `/undo`, `/redo`. What they say is for people only."""

import time

from sould.agents.commands.replies import say
from sould.agents.sessions.operations.travel import NothingToGoTo, Timeline, TravelResult
from sould.agents.sessions.operations.wording import travelled
from sould.agents.sessions.session import Session
from sould.agents.soul.loop import Ending
from sould.agents.timetravel.timeline import Moment

SHOWN = 20
"""Turns that `/rewind` lists."""


async def rewind(session: Session, argument: str) -> Ending:
    """Without a number, the places to go back to; with one, go there."""
    if not argument:
        return say(session, _listing(session.travel.timeline()))
    unknown = f"There is no checkpoint {argument!r} to go back to. `/rewind` lists them."
    if not argument.isdecimal():
        return say(session, unknown)
    done = await session.travel.rewind(int(argument), session.current_turn.id)
    return say(session, unknown) if isinstance(done, NothingToGoTo) else _say(session, done)


async def undo(session: Session, _: str) -> Ending:
    """Go back to before the last turn, or to before a `/clear` since which there was none."""
    return _say(session, await session.travel.undo(session.current_turn.id))


async def redo(session: Session, _: str) -> Ending:
    """Return to where the last `/undo` or `/rewind` left from."""
    return _say(session, await session.travel.redo(session.current_turn.id))


def _say(session: Session, done: TravelResult) -> Ending:
    return say(session, " ".join(travelled(done)).strip())


def _listing(places: Timeline) -> str:
    known = {moment.checkpoint: moment for moment in places.moments if moment.kind == "turn"}
    lines = [_line(known[at]) for at in places.turns[-SHOWN:] if at in known]
    if not lines:
        return "There is nowhere to go back to yet."
    return "Go back to before a turn with `/rewind NUMBER`:\n\n" + "\n".join(lines)


def _line(moment: Moment) -> str:
    first = moment.text.strip().partition("\n")[0][:70]
    return f"- `{moment.checkpoint}` {time.strftime('%H:%M', time.localtime(moment.timestamp))} {first}"
