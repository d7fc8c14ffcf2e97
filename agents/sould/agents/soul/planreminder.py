"""Tells the model that plan mode is on: in full when it begins and now and then, in a line between; and when it is over.

Only words; what plan mode forbids is refused by `permissions.policy` whatever the model was told.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sould.agents.permissions.policy import Mode
from sould.agents.sessionlog.log import SessionLog
from sould.agents.wire.messages import ContextNote

EVERY: Final = 5
"""Steps between two reminders; each `EVERY`th of them is the full text."""
FULL: Final = (
    "Plan mode is on. Change nothing: edits, commands with effects and external tools are refused, and working around "
    "that is not wanted. Read, search and think; ask the user what you cannot find out. When the plan is ready, show it "
    "with ExitPlanMode, or, where you do not have that tool, as your answer."
)
BRIEF: Final = "Plan mode is still on: change nothing; show the plan when it is ready."
OVER: Final = "Plan mode is over: you may make changes again, within the usual approvals."


@dataclass(slots=True)
class PlanReminder:
    """A `before_step` of one soul."""

    log: SessionLog
    mode: Callable[[], Mode]
    _on: bool = False
    _steps: int = 0

    async def __call__(self) -> None:
        """Publish a note when one is due."""
        on = self.mode() == "plan"
        if on != self._on:
            self._on, self._steps = on, 0
            self.log.publish(ContextNote(text=FULL if on else OVER))
        elif on:
            self._steps += 1
            if self._steps % EVERY == 0:
                self.log.publish(ContextNote(text=FULL if self._steps % (EVERY * EVERY) == 0 else BRIEF))
