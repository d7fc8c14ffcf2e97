"""Tells the model once that nobody is there to answer, and once that somebody is again.

Only words; that questions are dismissed is decided where they are asked, whatever the model was told.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sould.agents.sessionlog.log import SessionLog
from sould.agents.wire.messages import ContextNote

AWAY: Final = (
    "The user is away and answers nothing until they are back: questions are dismissed, and what only they may allow is "
    "refused. Decide yourself, take the safer way where you doubt, and say at the end what you decided."
)
BACK: Final = "The user is back and answers questions again."


@dataclass(slots=True)
class AwayReminder:
    """A `before_step` of one soul. `silent`: the user wants the model not to be told (`skip_afk_prompt_injection`)."""

    log: SessionLog
    away: Callable[[], bool]
    silent: Callable[[], bool]
    _told: bool = False

    async def __call__(self) -> None:
        """Publish a note when things changed."""
        away = self.away() and not self.silent()
        if away != self._told:
            self._told = away
            self.log.publish(ContextNote(text=AWAY if away else BACK))
