"""The commands that go back and return: `/rewind`, `/undo`, `/redo`. What they say is for people only."""

import time
from typing import TYPE_CHECKING

from sould.agents.soul.loop import Ending
from sould.agents.timetravel.timeline import Moment, timeline
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import FilesRestored

if TYPE_CHECKING:
    from sould.agents.sessions.session import Session

SHOWN = 20
"""Turns that `/rewind` lists."""


async def rewind(session: "Session", argument: str) -> Ending:
    """Without a number, the places to go back to; with one, go there."""
    if not argument:
        return _say(session, _listing(session))
    if not argument.isdecimal() or not session.log.context.reaches(int(argument)):
        return _say(session, f"There is no checkpoint {argument!r} to go back to. `/rewind` lists them.")
    done = await session.rewinder.go_back(int(argument), session.current_turn)
    return _say(session, f"Back at checkpoint {argument}. {_told(done)} `/redo` returns.")


async def undo(session: "Session", _: str) -> Ending:
    """Go back to before the last turn."""
    turns = session.log.context.turns
    if not turns:
        return _say(session, "There is no turn to undo.")
    done = await session.rewinder.go_back(turns[-1], session.current_turn)
    return _say(session, f"The last turn is undone. {_told(done)} `/redo` returns.")


async def redo(session: "Session", _: str) -> Ending:
    """Return to where the last `/undo` or `/rewind` left from."""
    done = await session.rewinder.come_back(session.current_turn)
    if done is None:
        return _say(
            session, "There is nothing to redo: it takes back an `/undo` or `/rewind`, until you go on from there."
        )
    return _say(session, f"Returned. {_told(done)}")


def _listing(session: "Session") -> str:
    moments = timeline((record.message, record.timestamp) for record in session.log.replay())
    known = {moment.checkpoint: moment for moment in moments if moment.kind == "turn"}
    lines = [_line(known[at]) for at in session.log.context.turns[-SHOWN:] if at in known]
    if not lines:
        return "There is nowhere to go back to yet."
    return "Go back to before a turn with `/rewind NUMBER`:\n\n" + "\n".join(lines)


def _line(moment: Moment) -> str:
    first = moment.text.strip().partition("\n")[0][:70]
    return f"- `{moment.checkpoint}` {time.strftime('%H:%M', time.localtime(moment.timestamp))} {first}"


def _told(done: FilesRestored) -> str:
    restored = sum(file.action != "conflict" for file in done.files)
    said = [f"{restored} file{'' if restored == 1 else 's'} restored." if restored else "No file needed restoring."]
    said += [f"Left as it is: `{file.path}` ({file.reason})." for file in done.files if file.action == "conflict"]
    return " ".join(said)


def _say(session: "Session", text: str) -> Ending:
    session.log.publish(TextPart(text=text))
    return Ending("finished")
