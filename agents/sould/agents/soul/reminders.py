"""What the model is told before a step of how the session stands: plan mode, the user being away, tasks that have ended.

Only words: what plan mode forbids is refused by `permissions.policy`, and questions to nobody are dismissed where they are
asked, whatever the model was told.
"""

from typing import Final, Protocol

from msgspec import Struct

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.approval import Approval
from sould.agents.soul.loop import StepExtension
from sould.agents.soul.turn import Turn
from sould.agents.toolapi.background import BackgroundTasks
from sould.agents.wire.messages import ContextNote

EVERY: Final = 5
"""Steps between two reminders of plan mode; each `EVERY`th of them is the full text."""
FULL: Final = (
    "Plan mode is on. Change nothing: edits, commands with effects and external tools are refused, and working around "
    "that is not wanted. Read, search and think; ask the user what you cannot find out. When the plan is ready, show it "
    "with ExitPlanMode, or, where you do not have that tool, as your answer."
)
BRIEF: Final = "Plan mode is still on: change nothing; show the plan when it is ready."
OVER: Final = "Plan mode is over: you may make changes again, within the usual approvals."
AWAY: Final = (
    "The user is away and answers nothing until they are back: questions are dismissed, and what only they may allow is "
    "refused. Decide yourself, take the safer way where you doubt, and say at the end what you decided."
)
BACK: Final = "The user is back and answers questions again."


class PlanReminder(StepExtension, Struct):
    """Of plan mode: in full when it begins and now and then, in a line between; and when it is over."""

    log: SessionLog
    approval: Approval
    _on: bool = False
    _steps: int = 0

    async def before_step(self, turn: Turn) -> None:
        """Publish a note when one is due."""
        on = self.approval.mode == "plan"
        if on != self._on:
            self._on, self._steps = on, 0
            self.log.publish(ContextNote(text=FULL if on else OVER))
        elif on:
            self._steps += 1
            if self._steps % EVERY == 0:
                self.log.publish(ContextNote(text=FULL if self._steps % (EVERY * EVERY) == 0 else BRIEF))


class Presence(Protocol):
    """Who knows whether the user has said that they are away."""

    @property
    def away(self) -> bool:
        """They are."""
        ...


class AwayReminder(StepExtension, Struct):
    """Once that nobody is there to answer, and once that somebody is again; never under `skip_afk_prompt_injection`."""

    log: SessionLog
    presence: Presence
    config: LiveConfig
    _told: bool = False

    async def before_step(self, turn: Turn) -> None:
        """Publish a note when things changed."""
        away = self.presence.away and not self.config.now.skip_afk_prompt_injection
        if away != self._told:
            self._told = away
            self.log.publish(ContextNote(text=AWAY if away else BACK))


class TaskReminder(StepExtension, Struct, frozen=True):
    """Of background tasks that have ended since the last step."""

    tasks: BackgroundTasks

    async def before_step(self, turn: Turn) -> None:
        """Publish a note when some have."""
        self.tasks.tell()
