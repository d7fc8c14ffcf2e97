"""Everything a session can do with a prompt, in one place: the commands of its parts, and the plain prompt.

The one module that knows sessions and all commands; nothing but the host imports it.
"""

from functools import partial

from sould.agents.commands.flows import flow_commands
from sould.agents.commands.loops import loop_commands, prompt_turn
from sould.agents.commands.replies import say
from sould.agents.commands.servers import mcp_commands
from sould.agents.commands.session import session_commands
from sould.agents.commands.skills import require_known, skill_commands
from sould.agents.sessions.session import Session
from sould.agents.sessions.slash import CommandRegistry
from sould.agents.soul.loop import Ending
from sould.agents.wire.content import UserInput, input_text


def command_registry(session: Session) -> CommandRegistry:
    """The session's own commands win over those of skills, flows and servers."""
    sources = (session_commands, skill_commands, flow_commands, loop_commands, mcp_commands)
    plain, unknown = partial(_plain, session), partial(_unknown, session)
    return CommandRegistry(tuple(partial(source, session) for source in sources), plain, unknown)


async def _plain(session: Session, user_input: UserInput) -> Ending:
    require_known(session, input_text(user_input))
    return await prompt_turn(session, user_input)


async def _unknown(session: Session, text: str) -> Ending:
    """Most likely mistyped: no reason to pay a model for it."""
    require_known(session, text)
    word = text.split(None, 1)[0]
    near = [f"`/{name}`" for name in session.nearest_commands(word[1:])]
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    return say(
        session,
        f"There is no command `{word}`. {meant}`/help` lists all commands. If it is meant for the agent as it stands, send "
        "it again with a space or a word before it.",
    )
