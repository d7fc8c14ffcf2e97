"""A session's files as one tool call sees them: what it changes carries who made the call.

Nothing here judges or asks: that is done round it.
"""

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from sould.agents.base.workspace import Command, Expected, ResolvedPath, RunningCommand, TextFile, Workspace
from sould.agents.files.edits.editlog import Captured
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.changes import Change
from sould.agents.files.review.hunk import AgentCall
from sould.agents.toolapi.base import ToolCallContext


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


class AttributingFiles(Workspace, Protocol):
    """A session's files, which remember in whose name they are changed."""

    capture: Capture | None

    def for_call(self, call: ToolCallContext) -> "AttributedWorkspace":
        """As the call sees them."""
        ...

    async def write(self, path: Path, text: str, *, expected: Expected, writing: Writing) -> TextFile:
        """As `write_text`, in this name."""
        ...

    async def remove(self, path: Path, *, expected: str, writing: Writing) -> None:
        """As `delete`, in this name."""
        ...


class AttributedWorkspace(Struct, frozen=True):
    """A `Workspace`, and a `PerCall`: also the files of another call."""

    files: AttributingFiles
    writing: Writing

    def for_call(self, call: ToolCallContext) -> "AttributedWorkspace":
        """As the session's files."""
        return self.files.for_call(call)

    @property
    def root(self) -> Path:
        """The session's working directory."""
        return self.files.root

    @property
    def additional(self) -> Sequence[Path]:
        """Further directories that count as inside."""
        return self.files.additional

    def resolve(self, path: str) -> ResolvedPath:
        """As the session's files."""
        return self.files.resolve(path)

    async def read_text(self, path: Path) -> TextFile:
        """As the session's files."""
        return await self.files.read_text(path)

    async def known_text(self, path: Path) -> TextFile:
        """As the session's files."""
        return await self.files.known_text(path)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write in the name of this call."""
        return await self.files.write(path, text, expected=expected, writing=self.writing)

    async def delete(self, path: Path, *, expected: str) -> None:
        """Delete in the name of this call."""
        await self.files.remove(path, expected=expected, writing=self.writing)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """As the session's files."""
        return await self.files.read_bytes(path, limit)

    async def unsaved(self) -> Collection[Path]:
        """As the session's files."""
        return await self.files.unsaved()

    async def run(self, command: Command) -> RunningCommand:
        """As the session's files; what it does to files is this call's, also after the call has ended."""
        capture = self.files.capture
        if capture is None:
            return await self.files.run(command)
        return await capture.running(self.writing.call, lambda: self.files.run(command))
