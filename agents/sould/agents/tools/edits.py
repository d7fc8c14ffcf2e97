"""How an editing tool changes a file: show the whole diff, ask, write only over what was read, say what came of it."""

import asyncio
import difflib
from dataclasses import dataclass

from sould.agents.permissions import policy
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.visible import file_name
from sould.agents.toolapi.base import ToolCallContext, tool_error, tool_ok
from sould.agents.wire.display import DiffBlock
from sould.agents.wire.messages import ToolReturn
from sould.agents.workspace import FileChangedError, ResolvedPath, TextFile, WorkspaceError, WriteOperation

MAX_COMPARED = 200_000
MAX_PATCH = 4_000


@dataclass(frozen=True, slots=True)
class Proposal:
    """A file's text before (None: there is no file) and after; `done` is the sentence for the model once it is written."""

    path: ResolvedPath
    before: TextFile | None
    text: str
    done: str


async def carry_out(proposal: Proposal, files: CallFiles, approval: Approval, call: ToolCallContext) -> ToolReturn:
    """Ask and write. The question holds the full old and new text; nothing is written over any other text."""
    path, before = proposal.path, proposal.before
    operation: WriteOperation = "create" if before is None else "modify"
    old = before.text if before is not None else ""
    secret = await approval.secret(path, old)
    new = before is None
    diff = DiffBlock(path=str(path.path), old_text=old, new_text=proposal.text, is_new=new, secret=bool(secret))
    verb = "Create" if before is None else "Edit"
    refused = await approval.request(
        call,
        policy.EditFile(path, operation, secret),
        sender=call.tool,
        description=f"{verb} file `{file_name(path.path)}`",
        display=(diff,),
    )
    if refused is not None:
        return refused
    try:
        await files.write_text(path.path, proposal.text, expected=before.digest if before is not None else None)
    except FileChangedError as error:
        return tool_error(
            f"{error}. Read it again and redo the edit on what it holds now.", brief="File changed since it was read"
        )
    notes = [proposal.done]
    if before is not None and before.unsaved:
        notes.append("The editor had unsaved changes in this file; they are kept.")
    notes.append(await _changed_on_save(proposal, files))
    return tool_ok(
        message=" ".join(note for note in notes if note),
        display=(diff,),
        extras={"path": str(path.path), "operation": operation},
    )


async def _changed_on_save(proposal: Proposal, files: CallFiles) -> str:
    """What a formatter or the user made of the text while it was saved, as a patch; empty when it is as written."""
    try:
        found = await files.read_text(proposal.path)
    except WorkspaceError:
        return ""
    written, now = (text.replace("\r\n", "\n") for text in (proposal.text, found.text))
    if written == now:
        return ""
    name = files.shown(proposal.path.path)
    if len(written) + len(now) > MAX_COMPARED:
        return f"But {name} changed while it was saved; read it before editing it again."
    patch = await asyncio.to_thread(_patch, written, now)
    return f"But the text changed while it was saved (a formatter, or the user):\n{patch}"


def _patch(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.split("\n"), new.split("\n"), "as you wrote it", "as it is now", lineterm="", n=2)
    text = "\n".join(lines)
    return text if len(text) <= MAX_PATCH else f"{text[:MAX_PATCH]}\n[... the patch is longer; read the file]"
