"""How an editing tool changes a file: show the whole diff, ask, write only over what was read, say what came of it.

Who is asked may answer with a text of their own, which is written in place of the agent's; the agent is told the difference.

An editor is asked for its text once for each edit. Where nobody is asked, that is when the edit is computed, and the file
is held from there to the writing. Where a person is asked, the difference is computed from what is known of the file, and
the editor is asked after the answer, so that what was typed meanwhile is seen; the file is held only for that.

What a user types in the very moment of the writing refuses it. Where nobody was asked, the edit is then computed once more.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, TypeAlias

import orjson
from msgspec import Struct
from msgspec.structs import replace
from pydantic import JsonValue

from sould.agents.base.textencoding import UTF_8
from sould.agents.base.workspace import FileChangedError, ResolvedPath, TextFile, WriteOperation
from sould.agents.files.projects.patches import patch
from sould.agents.permissions import policy
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles, JudgedFile
from sould.agents.permissions.visible import file_name
from sould.agents.toolapi.base import ToolCallContext, tool_error, tool_ok
from sould.agents.wire.display import DiffBlock
from sould.agents.wire.messages import ToolReturn

PARTED: Final = "The file had other names outside the project (hard links). They were not changed: this one is a file of its own now."


class Proposal(Struct, frozen=True):
    """A file's next text; `done` is the sentence for the model once it is written."""

    text: str
    done: str


Propose: TypeAlias = Callable[[TextFile | None], Awaitable[Proposal | ToolReturn]]
"""The edit that a tool makes of a file's text, or the call's result where there is nothing to write."""


class _Refused(Struct, frozen=True):
    """Nothing was written, for the file does not hold `before` any more. `seen`: a person allowed the edit of that."""

    before: TextFile | None
    seen: bool
    reason: FileChangedError


async def edit_file(
    path: ResolvedPath, propose: Propose, files: CallFiles, approval: Approval, call: ToolCallContext
) -> ToolReturn:
    """Read, compute, show and ask where that is needed, write."""
    refused: _Refused | None = None
    while True:
        async with files.to_edit(path) as judged:
            before = judged.before
            if refused is not None and before == refused.before:
                return _changed(refused)
            proposal = await propose(before)
            if isinstance(proposal, ToolReturn):
                return proposal
            if before is not None and (broken := await asyncio.to_thread(_broken_notebook, before, proposal.text)):
                return tool_error(broken, brief="No notebook any more")
            result = await _carry_out(proposal, judged, files, approval, call)
        if isinstance(result, ToolReturn):
            return result
        if refused is not None or judged.asks or result.seen:
            return _changed(result)
        refused = result


def _broken_notebook(before: TextFile, text: str) -> str:
    """Why a notebook's text would be none any more; "" where it is one still, and of all other files."""
    if before.path.suffix != ".ipynb" or _json_problem(before.text):
        return ""
    problem = _json_problem(text)
    return (
        f"Nothing was written: {before.path.name} would be no JSON any more ({problem}), and no notebook could be opened. The lines of a "
        'cell are JSON strings there: write quotes as \\" and line ends as \\n, and a comma behind each but the last.'
        if problem
        else ""
    )


def _json_problem(text: str) -> str:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return str(error)
    return ""


def _changed(refused: _Refused) -> ToolReturn:
    return tool_error(
        f"{refused.reason}. Read it again and redo the edit on what it holds now.",
        brief="File changed since it was read",
    )


def _about_names(written: TextFile, files: CallFiles) -> Iterator[str]:
    if written.others:
        names = ", ".join(file_name(files.paths.shown(name)) for name in written.others)
        yield f"It is the same file as {names} (hard links)."
    if written.parted:
        yield PARTED


async def _carry_out(
    proposal: Proposal, judged: JudgedFile, files: CallFiles, approval: Approval, call: ToolCallContext
) -> ToolReturn | _Refused:
    """Ask and write. The question holds the full old and new text; nothing is written over any other text."""
    path, before = judged.path, judged.before
    operation: WriteOperation = "create" if before is None else "modify"
    old = before.text if before is not None else ""
    is_secret, new = bool(judged.secret), before is None
    diff = DiffBlock(path=str(path.path), old_text=old, new_text=proposal.text, is_new=new, secret=is_secret)
    verb = "Create" if before is None else "Edit"
    others = await files.others(path.path)
    contest = await others.contest(proposal.text)
    if contest is not None and not contest.can_ask:
        return tool_error(f"{contest.why}. Nobody is there to ask, so nothing was written.", brief="Not reviewed yet")
    why, encoding = contest.why if contest is not None else "", before.encoding if before is not None else UTF_8
    in_other = encoding.name if encoding != UTF_8 else ""
    action = policy.EditFile(path, operation, judged.secret, why, in_other)
    description = f"{verb} file `{file_name(path.path)}`"
    consent = await approval.consent(
        call, action, sender=call.tool, description=description, display=(diff,), let_go=judged.let_go
    )
    if consent.refused is not None:
        return consent.refused
    text = proposal.text if consent.text is None else consent.text
    if before is not None and before.text == text:
        return tool_ok(message="The user took your change out before allowing it, so nothing was written.")
    if contest is not None:
        others.allowed(contest)
    known = await files.problems.known(files, path.path)
    writer = files.for_call(replace(call, allowed=consent.seen, all_names=consent.all_names))
    try:
        written = await writer.write_text(path.path, text, expected=judged.expected)
    except FileChangedError as error:
        return _Refused(before, consent.seen, error)
    notes = [proposal.done, *_about_names(written, files)]
    if before is not None and before.unsaved:
        notes.append("The editor had unsaved changes in this file; they are kept.")
    extras: dict[str, JsonValue] = {"path": str(path.path), "operation": operation}
    user_edits = ""
    if written.text != proposal.text:  # a formatter, or the user, had a part in it
        user_edits = await asyncio.to_thread(patch, proposal.text, written.text, "as you wrote it", "as it is now")
    if user_edits:
        extras["user_edits"] = user_edits
        who = "the text changed while it was saved (a formatter, or the user)"
        notes.append(f"But {who if consent.text is None else 'the user changed it before allowing it'}:\n{user_edits}")
    if known is not None and (broken := await files.problems.new(files, path.path, known)):
        extras["new_problems"] = list(broken)
        notes.append("\n".join(["It brought errors that were not there before:", *broken]))
    if unreviewed := await others.beside():
        notes.append(f"Changes of others in it are not reviewed yet: {unreviewed}.")
    shown = diff if text == proposal.text else diff.model_copy(update={"new_text": text})
    return tool_ok(message=" ".join(notes), display=(shown,), extras=extras)
