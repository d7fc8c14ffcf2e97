"""Taking edits back: every file as it was before them, with what the user changed since.

Only files the ledger has edits of are touched. Edits are taken back one by one, newest first; what somebody else wrote in
between or since is merged in, and where that cannot be done the file stays as it is and the conflict is told. Every
restored file is an edit of the ledger itself, so a restore can be taken back too, and one that was cut off by a crash
can simply be done again: what is done already is found done.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from sould.agents.review.blobs import BlobMissingError
from sould.agents.review.ledger import Ledger
from sould.agents.review.merge import merge
from sould.agents.review.state import Edit
from sould.agents.workspace import FileChangedError, NotAFileError, TextFile, WorkspaceError

Chosen: TypeAlias = Callable[[Edit], bool]
Action: TypeAlias = Literal["restored", "deleted", "created", "conflict"]

BOTH = "it was changed since in the same place"
GONE = "it was deleted since"
EXTENDED = "it was made by the agent and changed since"


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of one file; `reason` only of a conflict."""

    path: Path
    action: Action
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Conflict(Exception):  # noqa: N818 -- an outcome inside this module
    reason: str


def restore_call(restore_id: str) -> str:
    """The call id that the edits of a restore carry in the ledger."""
    return f"restore:{restore_id}"


def touched(ledger: Ledger, chosen: Chosen) -> list[Path]:
    """The files a restore would look at."""
    return [path for path, edits in ledger.edits.items() if any(map(chosen, edits))]


async def take_back(ledger: Ledger, chosen: Chosen, restore_id: str, turn_id: str) -> list[FileOutcome]:
    """Take the chosen edits back; files that need nothing are left out."""
    outcomes: list[FileOutcome] = []
    for path in sorted(touched(ledger, chosen)):
        edits = [edit for edit in ledger.edits[path] if chosen(edit)]
        try:
            outcome = await _restore(ledger, path, edits, restore_id, turn_id)
        except _Conflict as conflict:
            outcome = FileOutcome(path, "conflict", conflict.reason)
        except (WorkspaceError, BlobMissingError) as error:
            outcome = FileOutcome(path, "conflict", str(error))
        if outcome is not None:
            outcomes.append(outcome)
    return outcomes


async def _restore(
    ledger: Ledger, path: Path, edits: Sequence[Edit], restore_id: str, turn_id: str
) -> FileOutcome | None:
    for attempt in (1, 2):
        found = await _found(ledger, path)
        now = found.text if found is not None else None
        wanted = now
        for edit in reversed(edits):
            wanted = await _without(ledger, edit, wanted)
        if wanted == now:
            return None
        try:
            return await _put(ledger, path, found, wanted, restore_id, turn_id)
        except FileChangedError:  # somebody typed just now: look once more
            if attempt == 2:
                raise
    return None


async def _put(
    ledger: Ledger, path: Path, found: TextFile | None, wanted: str | None, restore_id: str, turn_id: str
) -> FileOutcome:
    call_id = restore_call(restore_id)
    if wanted is None:
        assert found is not None
        await ledger.remove(path, expected=found.digest, turn_id=turn_id, call_id=call_id)
        return FileOutcome(path, "deleted")
    expected = found.digest if found is not None else None
    await ledger.write(path, wanted, expected=expected, turn_id=turn_id, call_id=call_id)
    return FileOutcome(path, "created" if found is None else "restored")


async def _found(ledger: Ledger, path: Path) -> TextFile | None:
    try:
        return await ledger.read_text(path)
    except NotAFileError:
        if path.exists():
            raise
        return None


async def _without(ledger: Ledger, edit: Edit, text: str | None) -> str | None:
    """`text` with one edit taken back."""
    before = await ledger.text(edit.before) if edit.before is not None else None
    after = await ledger.text(edit.after) if edit.after is not None else None
    if not edit.settled and text == before:
        return text  # nobody knew if it happened; it did not
    merged, result = await asyncio.to_thread(merge, after, text, before)
    if not merged:
        raise _Conflict(GONE if text is None else EXTENDED if before is None else BOTH)
    return result
