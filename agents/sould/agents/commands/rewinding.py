"""The commands that go back and return: `/rewind`, `/undo`, `/redo`. What they say is for people only."""

import time

from sould.agents.commands.replies import say
from sould.agents.sessions.session import Session
from sould.agents.soul.loop import Ending
from sould.agents.timetravel.outcome import describe
from sould.agents.timetravel.timeline import Moment, timeline

SHOWN = 20
"""Turns that `/rewind` lists."""


async def rewind(session: Session, argument: str) -> Ending:
    """Without a number, the places to go back to; with one, go there."""
    if not argument:
        return say(session, _listing(session))
    if not argument.isdecimal() or not session.log.context.reaches(int(argument)):
        return say(session, f"There is no checkpoint {argument!r} to go back to. `/rewind` lists them.")
    done = await session.rewinder.go_back(int(argument), session.current_turn.id)
    session.soul.compactor.tell_used()
    return say(session, f"Back at checkpoint {argument}. {describe(done)} `/redo` returns.")


async def undo(session: Session, _: str) -> Ending:
    """Go back to before the last turn, or to before a `/clear` since which there was none."""
    last = session.log.context.undoable
    if last is None:
        return say(session, "There is no turn to undo.")
    done = await session.rewinder.go_back(last.checkpoint, session.current_turn.id)
    session.soul.compactor.tell_used()
    if last.cleared:
        return say(
            session, f"The clearing is undone: the conversation is as before. {describe(done)} `/redo` clears again."
        )
    return say(session, f"The last turn is undone. {describe(done)} `/redo` returns.")


async def redo(session: Session, _: str) -> Ending:
    """Return to where the last `/undo` or `/rewind` left from."""
    done = await session.rewinder.come_back(session.current_turn.id)
    if done is None:
        return say(
            session, "There is nothing to redo: it takes back an `/undo` or `/rewind`, until you go on from there."
        )
    session.soul.compactor.tell_used()
    return say(session, f"Returned. {describe(done)}")


def _listing(session: Session) -> str:
    moments = timeline((record.message, record.timestamp) for record in session.log.replay())
    known = {moment.checkpoint: moment for moment in moments if moment.kind == "turn"}
    lines = [_line(known[at]) for at in session.log.context.turns[-SHOWN:] if at in known]
    if not lines:
        return "There is nowhere to go back to yet."
    return "Go back to before a turn with `/rewind NUMBER`:\n\n" + "\n".join(lines)


def _line(moment: Moment) -> str:
    first = moment.text.strip().partition("\n")[0][:70]
    return f"- `{moment.checkpoint}` {time.strftime('%H:%M', time.localtime(moment.timestamp))} {first}"
