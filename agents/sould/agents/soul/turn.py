"""A running turn, as everything that works for it is told of it: a value, made when it begins and passed down.

Nothing keeps "the current turn": whoever needs it is given it.
"""

import secrets
import time

from msgspec import Struct, field

from sould.agents.base.config import LoopControl
from sould.agents.toolapi.base import AgentSource


def new_turn_id() -> str:
    """Sixteen hexadecimal digits of the nanoseconds since 1970, and six of chance."""
    return f"{time.time_ns():016x}{secrets.token_hex(3)}"


class Turn(Struct, frozen=True):
    """One turn of one agent. A flow or a loop runs it in several parts, each with the limits as they are by then."""

    id: str
    client_id: str = ""
    """Who asked for it; "" when no client did, as for a subagent's."""
    limits: LoopControl = field(default_factory=LoopControl)
    source: AgentSource | None = None
    """The subagent whose turn it is; None: the session's main agent."""
    attached: str = ""
    """Of a command's turn: what was attached to the command, for the model if the command asks it anything."""
    decides: bool = False
    """It is asked for a choice of a flow, which is parted from what people are shown."""
    unattended: bool = False
    """It goes on by itself, as in a loop: nobody is asked whether a summary will do (D26)."""
