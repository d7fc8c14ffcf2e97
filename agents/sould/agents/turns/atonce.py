"""What is not queued behind a running turn, though it was sent as a prompt: a side question, a look at the queue …"""

from typing import Protocol

from msgspec import Struct

from sould.agents.settings.awaymode import BY
from sould.agents.settings.modeswitch import ModeSwitch
from sould.agents.turns.turns import Prompt, Turns
from sould.agents.wire.content import UserInput, input_text


class AnswersAtOnce(Protocol):
    """Knows a kind of prompt that cannot wait."""

    def take(self, user_input: UserInput, client_id: str) -> Prompt | None:
        """Do what it says, or begin to, if it is of this kind; None: it is not.

        Synchronous, so that a cancel right behind it finds it (F33).
        """
        ...


class GoingAway(Struct, frozen=True):
    """`/afk` while a turn runs holds for this turn already, and answers what it is asking."""

    mode_switch: ModeSwitch
    turns: Turns

    def take(self, user_input: UserInput, client_id: str) -> Prompt | None:
        """See `AnswersAtOnce`."""
        if self.turns.current is None or input_text(user_input).strip() != BY:
            return None
        self.mode_switch.go_away()
        return Prompt.answered(user_input, client_id)
