"""How an editing tool changes a file: show the whole diff, ask, write only over what was read, say what came of it.

An editor is asked for its text once for each edit. Where nobody is asked, that is when the edit is computed, and the file
is held from there to the writing. Where a person is asked, the difference is computed from what is known of the file, and
the editor is asked after the answer, so that what was typed meanwhile is seen; the file is held only for that.
"""

import asyncio
import difflib
from contextlib import AsyncExitStack
from typing import Protocol

from msgspec import Struct

from sould.agents.permissions import policy
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.visible import file_name
from sould.agents.toolapi.base import ToolCallContext, tool_error, tool_ok
from sould.agents.wire.display import DiffBlock
from sould.agents.wire.messages import ToolReturn
from sould.agents.workspace import Expected, FileChangedError, JustRead, ResolvedPath, TextFile, WriteOperation

MAX_COMPARED = 200_000
MAX_PATCH = 4_000


class Proposal(Struct, frozen=True):
    """A file's text before (None: there is no file) and after; `done` is the sentence for the model once it is written."""

    path: ResolvedPath
    before: TextFile | None
    text: str
    done: str


class Propose(Protocol):
    """What a tool makes of the text that a file holds."""

    async def __call__(self, before: TextFile | None) -> Proposal | ToolReturn:
        """The edit, or the call's result where there is nothing to write."""
        ...


async def edit_file(
    path: ResolvedPath, propose: Propose, files: CallFiles, approval: Approval, call: ToolCallContext
) -> ToolReturn:
    """Read, compute, show and ask where that is needed, write."""
    asked = await files.asks_to_edit(path)
    async with AsyncExitStack() as held:
        if not asked:
            await held.enter_async_context(files.editing(path.path))
        proposal = await propose(await files.read_to_edit(path, asked=asked))
        if isinstance(proposal, ToolReturn):
            return proposal
        return await _carry_out(proposal, files, approval, call, asked=asked)


async def _carry_out(
    proposal: Proposal, files: CallFiles, approval: Approval, call: ToolCallContext, *, asked: bool
) -> ToolReturn:
    """Ask and write. The question holds the full old and new text; nothing is written over any other text."""
    path, before = proposal.path, proposal.before
    operation: WriteOperation = "create" if before is None else "modify"
    old = before.text if before is not None else ""
    secret = await approval.secret(path, old)
    new = before is None
    diff = DiffBlock(path=str(path.path), old_text=old, new_text=proposal.text, is_new=new, secret=bool(secret))
    verb = "Create" if before is None else "Edit"
    action = policy.EditFile(path, operation, secret)
    asked = asked or (await asyncio.to_thread(approval.judge, action)).decision == "ask"
    refused = await approval.request(
        call, action, sender=call.tool, description=f"{verb} file `{file_name(path.path)}`", display=(diff,)
    )
    if refused is not None:
        return refused
    seen = JustRead(before)
    expected: Expected = seen.digest if asked else seen
    try:
        written = await files.write_text(path.path, proposal.text, expected=expected)
    except FileChangedError as error:
        return tool_error(
            f"{error}. Read it again and redo the edit on what it holds now.", brief="File changed since it was read"
        )
    notes = [proposal.done]
    if before is not None and before.unsaved:
        notes.append("The editor had unsaved changes in this file; they are kept.")
    notes.append(await _changed_on_save(proposal.text, written.text, files.shown(path.path)))
    return tool_ok(
        message=" ".join(note for note in notes if note),
        display=(diff,),
        extras={"path": str(path.path), "operation": operation},
    )


async def _changed_on_save(wanted: str, saved: str, name: str) -> str:
    """What a formatter or the user made of the text while it was saved, as a patch; empty when it is as written."""
    written, now = (text.replace("\r\n", "\n") for text in (wanted, saved))
    if written == now:
        return ""
    if len(written) + len(now) > MAX_COMPARED:
        return f"But {name} changed while it was saved; read it before editing it again."
    patch = await asyncio.to_thread(_patch, written, now)
    return f"But the text changed while it was saved (a formatter, or the user):\n{patch}"


def _patch(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.split("\n"), new.split("\n"), "as you wrote it", "as it is now", lineterm="", n=2)
    text = "\n".join(lines)
    return text if len(text) <= MAX_PATCH else f"{text[:MAX_PATCH]}\n[... the patch is longer; read the file]"
