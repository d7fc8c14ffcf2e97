"""A text of the agent's put into a file by the user's word: an edit of the session's, pending in the review as any of its edits.

Nobody is asked, because the user says it, and nothing is taken for accepted: they saw the text, not what it does to the
file. It goes only where an agent may write at all.
"""

import asyncio
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from sould.agents.base.errors import SouldError
from sould.agents.base.workspace import JustRead, ResolvedPath, WorkspaceError
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import EditFile
from sould.agents.sessions.operations.context import ModelContext
from sould.agents.toolapi.base import ToolCallContext


class NotAppliedError(SouldError):
    """The file is as it was."""

    kind = "not_applied"


Change: TypeAlias = Callable[[str | None], str]
"""What is to become of a file. Its next text; `text` None: there is no file.

Raises:
    NotAppliedError: the file is not what it was taken for.
"""


class Applying(Struct, frozen=True):
    """Of one session."""

    files: CallFiles
    approval: Approval
    context: ModelContext

    async def apply(self, named: str, change: Change) -> tuple[Path, bool]:
        """Write it, in the editor that has the file open or on disk; the model is told.

        The file, and whether it held something else before.

        Raises:
            NotAppliedError: with the reason.
        """
        try:
            path = await self._admitted(named)
            changed = await self._write(path, change)
        except WorkspaceError as error:
            raise NotAppliedError(f"Nothing was written: {str(error).rstrip('.')}.") from error
        if changed:
            self.context.tell(
                f"The user applied text of yours to {self.files.paths.shown(path.path)}; it is pending in the review."
            )
        return path.path, changed

    async def _admitted(self, named: str) -> ResolvedPath:
        path = self.files.resolve(named)
        verdict = await asyncio.to_thread(self.approval.judge, EditFile(path, "modify"))
        secret = await self.approval.secret(path)
        if not path.inside or verdict.decision == "deny" or secret:
            why = secret or ("it is outside the project" if not path.inside else verdict.reason)
            raise NotAppliedError(f"Nothing was written to {path.written}: {why}.")
        return path

    async def _write(self, path: ResolvedPath, change: Change) -> bool:
        files = self.files.for_call(ToolCallContext(f"applied_{secrets.token_hex(6)}", 0, tool="Apply"))
        async with files.locks.editing(path.path):
            before = await files.read_to_edit(path)
            text = change(before.text if before is not None else None)
            if before is not None and before.text == text:
                return False
            await files.write_text(path.path, text, expected=JustRead(before))
        return True
