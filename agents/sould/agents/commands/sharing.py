"""`/export` and `/import`: the words around the operations that share a conversation."""

from sould.agents.commands.replies import say
from sould.agents.sessions.operations.sharing import NotExportedError, NotImportedError
from sould.agents.sessions.session import Session
from sould.agents.soul.loop import Ending


async def export(session: Session, argument: str) -> Ending:
    """Write the conversation, without the turn that asks for it; `argument` is a file or a directory."""
    try:
        done = await session.sharing.export(argument, until=session.current_turn.id)
    except NotExportedError as error:
        return say(session, error.message)
    return say(session, f"The conversation is in `{done.path}`.")


async def bring(session: Session, argument: str) -> Ending:
    """`/import`: a file, or another session by its id."""
    if not argument:
        return say(session, "Say what to import: `/import PATH`, or the id of another session.")
    try:
        done = await session.sharing.bring(argument)
    except NotImportedError as error:
        return say(session, error.message)
    return say(session, f"Imported {done.source}: about {done.tokens} tokens, which the agent now knows.")
