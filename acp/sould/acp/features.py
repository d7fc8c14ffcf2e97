"""What a client's view depends on besides the stream: what the client understands, and what of the session is elsewhere.

Values only: nothing here is projected or asked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sould.agents.sessions.slash import SlashCommand
from sould.agents.settings.options import SessionOption
from sould.agents.turns.turns import Prompt


@dataclass(frozen=True, slots=True)
class Features:
    """What the client understands beyond the baseline."""

    notices: bool = False
    compaction: bool = False
    terminals: bool = False
    forms: bool = False
    """Questions are forms of the client's own; without them they are buttons beside a tool card."""
    names: bool = True
    """Buttons say what they are; without that, questions are asked in words and permissions one at a time."""
    pages: bool = False
    """It sends the user to pages that servers want them to visit."""
    queue: bool = False
    """Ours: the prompts that wait, told with every change."""
    custom: bool = False
    """Ours: messages that tools and hooks of the user's make up."""
    own_turns: bool = False
    """Ours: no turn but the client's own is shown."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What of the session is not in its stream."""

    session_id: str
    cwd: str
    options: Callable[[], Sequence[SessionOption]]
    commands: Callable[[], Sequence[SlashCommand]]
    queue: Callable[[], Sequence[Prompt]]
