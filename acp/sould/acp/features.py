"""What a client's view depends on besides the stream: what the client understands, and what of the session is elsewhere.

Values only: nothing here is projected or asked.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct

from sould.acp.clients import offers_lasting, redraws_cards, shows_names
from sould.acp.introduction import ClientCapabilities, Implementation, OwnCapabilities
from sould.agents.sessions.commands.slash import SlashCommand
from sould.agents.sessions.settings.options import SessionOption
from sould.agents.sessions.turns.turns import Prompt
from sould.agents.wire.messages import StopReason

SIGN_IN: Final[Mapping[str, str]] = {"no_model": "no_model", "auth_required": "auth"}
"""Kinds of errors that signing in fixes, and what clients and programs call them (D17)."""


STOP_REASONS: Final[Mapping[StopReason, str]] = {
    "finished": "end_turn",
    "tool_rejected": "end_turn",
    "cancelled": "cancelled",
    "max_tokens": "max_tokens",
    "max_steps_reached": "max_turn_requests",
    "repeated_calls": "max_turn_requests",
    "refusal": "refusal",
}
"""Why a turn ended, where it did not fail."""


class Features(Struct, frozen=True):
    """What the client understands beyond the baseline."""

    notices: bool = False
    compaction: bool = False
    terminals: bool = False
    forms: bool = False
    """Questions are forms of the client's own; without them they are buttons beside a tool card."""
    names: bool = True
    """Buttons say what they are; without that, questions are asked in words and permissions one at a time."""
    lasting: bool = False
    """Options of a permission may reach beyond the session."""
    between_turns: bool = False
    """It shows what comes between two turns; others take words of no turn for a mistake of the agent's (agent-shell, pi)."""
    redraws: bool = False
    """A card becomes what its updates say: a call may be shown before its arguments are whole."""
    signs_in: bool = False
    """It knows what to do with an error that asks for signing in; others show it as a failure of the agent's."""
    pages: bool = False
    """It sends the user to pages that servers want them to visit."""
    subagents: bool = False
    """Subagents are child sessions; without that, their calls are cards beside their parent's."""
    queue: bool = False
    """Ours: the prompts that wait, told with every change."""
    custom: bool = False
    """Ours: messages that tools and hooks of the user's make up."""
    sequence: bool = False
    """Ours: it is told where in the session each update stands, and the words it sends itself are said to it, too."""
    own_turns: bool = False
    """Ours: no turn but the client's own is shown."""
    edits: bool = False
    """Ours: diffs say which lines they change."""
    tools: bool = False
    """Ours: it runs tools of its own for the agent."""


ShownT = TypeVar("ShownT")
LookUp: TypeAlias = Callable[[], Sequence[ShownT]]
"""Gives what is to be shown, as it is now."""


class LiveState(Struct, frozen=True):
    """How a session stands, looked up when it is shown; a session that is only read has nothing of it."""

    queue: LookUp[Prompt] = tuple
    """Prompts that wait, next first."""
    options: LookUp[SessionOption] = tuple
    """All options with their values."""
    commands: LookUp[SlashCommand] = tuple
    """The slash commands on offer."""


class Facts(Struct, frozen=True):
    """What of the session is not in its stream."""

    session_id: str
    cwd: str
    state: LiveState


def features_of(capabilities: ClientCapabilities, info: Implementation | None) -> Features:
    """What a client said that it understands, and what is known of it by its name."""
    knows_us = capabilities.own != OwnCapabilities()
    return Features(
        notices=capabilities.notices,
        compaction=capabilities.compaction,
        terminals=capabilities.display_terminals,
        forms=capabilities.forms,
        names=shows_names(info),
        lasting=offers_lasting(info) or knows_us,
        between_turns=capabilities.notices or knows_us,
        redraws=redraws_cards(info) or knows_us,
        signs_in=capabilities.terminal_sign_in or knows_us,
        pages=capabilities.pages,
        subagents=capabilities.subagents and not (capabilities.own.sequence or capabilities.own.own_turns),
        queue=capabilities.own.queue,
        custom=capabilities.own.custom,
        sequence=capabilities.own.sequence,
        own_turns=capabilities.own.own_turns and not capabilities.own.sequence,
        edits=knows_us,
        tools=capabilities.own.tools,
    )
