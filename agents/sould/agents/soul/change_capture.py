"""The project is looked at while the model answers and when a turn ends, so that calls do not wait for it.

What is found of a call when its result has been given is a notice.
"""

from msgspec import Struct

from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.changes import Findings, named
from sould.agents.journal.log import SessionLog
from sould.agents.soul.loop import Ending, StepExtension
from sould.agents.soul.stepcalls import StepCalls
from sould.agents.soul.turn import Turn
from sould.agents.wire.notice import notice


class LookingBeside(StepExtension, Struct, frozen=True):
    """Begins to look before a session's first answer, and looks once more when a turn ends."""

    capture: Capture

    async def before_step(self, turn: Turn) -> None:
        """Nobody waits for it."""
        self.capture.prepare()

    async def after_step(self, turn: Turn, calls: StepCalls, ending: Ending | None) -> Ending | None:
        """What commands wrote through memory maps shows by the time the turn ends."""
        if ending is not None:
            await self.capture.sweep()
        return ending


def tell_found_late(log: SessionLog, title: str, findings: Findings) -> None:
    """Tell the user of the session. A `LateListener`, given the log."""
    what = f"`{title}`" if title else "A command"
    changed = f"{what} changed more than its result says: {named(findings.paths)}." if findings.paths else ""
    body = f"{changed} {findings.note}".strip()
    log.publish(notice("found_late", "What a command changed was found late", body))
