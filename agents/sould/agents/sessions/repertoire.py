"""Everything a session can do with a prompt, in one place: the commands of its parts, and the plain prompt.

The one module that knows sessions and all commands; nothing but the host imports it.
"""

from functools import partial

from sould.agents.flows.commands import flow_commands
from sould.agents.flows.loopcommand import loop_commands, prompt_turn
from sould.agents.mcp.commands import mcp_commands
from sould.agents.sessions.commands import session_commands
from sould.agents.sessions.session import Session
from sould.agents.sessions.slash import Repertoire
from sould.agents.skills.commands import require_known, skill_commands
from sould.agents.soul.loop import Ending
from sould.agents.wire.content import UserInput, input_text


def repertoire(session: Session) -> Repertoire:
    """The session's own commands win over those of skills, flows and servers."""
    sources = (session_commands, skill_commands, flow_commands, loop_commands, mcp_commands)
    return Repertoire(tuple(partial(source, session) for source in sources), partial(_plain, session))


async def _plain(session: Session, user_input: UserInput) -> Ending:
    require_known(session, input_text(user_input))
    return await prompt_turn(session, user_input)
