"""What a slash command answers: shown to people, no part of the model's context."""

from sould.agents.sessions.session import Session
from sould.agents.soul.loop import Ending
from sould.agents.wire.content import TextPart


def say(session: Session, text: str) -> Ending:
    """Reply to a command, to people only."""
    session.log.publish(TextPart(text=text))
    return Ending("finished")
