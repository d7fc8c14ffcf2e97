"""What one tool call changes carries who made the call.

Nothing here judges or asks: that is done round it.
"""

import time
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from sould.agents.base.workspace import Command, Expected, RunningCommand, TextFile
from sould.agents.files.edits.editlog import Captured
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.changes import Change
from sould.agents.files.review.hunk import AgentCall


class Writing(Struct, frozen=True):
    """In whose name a file is changed. `allowed`: a person saw the difference and said yes before.

    `all_names`: names of the file outside the project (hard links) may change with it, as a person said.
    """

    call: AgentCall
    allowed: bool = False
    all_names: bool = False


def captured(change: Change, call: AgentCall, *, allowed: bool) -> Captured:
    """A change that was found, as the call's. `allowed`: it is not to be reviewed."""
    return Captured(
        n=0,
        path=str(change.path),
        before=change.before,
        after=change.after,
        before_mode=change.before_mode,
        after_mode=change.after_mode,
        session_id=call.session_id,
        turn_id=call.turn_id,
        call_id=call.call_id,
        subagent=call.subagent,
        model=call.model,
        timestamp=time.time(),
        shared=change.shared,
        unsure=change.unsure,
        ran=change.ran,
        secret=change.secret,
        allowed=allowed,
    )


class RecordingFiles(Protocol):
    """A session's files, which remember in whose name they are changed."""

    capture: Capture | None

    async def write(self, path: Path, text: str, *, expected: Expected, writing: Writing) -> TextFile:
        """As `Workspace.write_text`, in this name."""
        ...

    async def remove(self, path: Path, *, expected: str, writing: Writing) -> None:
        """As `Workspace.delete`, in this name."""
        ...

    async def run(self, command: Command) -> RunningCommand:
        """As `Workspace.run`."""
        ...


class CallChanges(Struct, frozen=True):
    """What one call does to a session's files."""

    files: RecordingFiles
    writing: Writing

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write in the name of this call."""
        return await self.files.write(path, text, expected=expected, writing=self.writing)

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete in the name of this call."""
        await self.files.remove(path, expected=expected, writing=self.writing)

    async def run(self, command: Command) -> RunningCommand:
        """As the session's files; what it does to files is this call's, also after the call has ended."""
        capture = self.files.capture
        if capture is None:
            return await self.files.run(command)
        return await capture.running(self.writing.call, lambda: self.files.run(command))
