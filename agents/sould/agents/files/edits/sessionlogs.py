"""Which edit logs hold a session's edits: a list in the session's directory. Blocks: use it in a thread."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from sould.agents.base.parsed import LATE
from sould.agents.base.privatefile import write_private
from sould.agents.files.edits.editlog import Intent, read_events
from sould.agents.files.edits.state import EditState

LOGS: Final = "edit-logs.json"
OLD_LOG: Final = "ledger.jsonl"
"""In the session's directory: its edits, as earlier versions kept them."""
TAKEN_OVER: Final = "ledger.taken-over.jsonl"
_IDS: TypeAdapter[list[str]] = TypeAdapter(list[str], config=LATE)


def logs_of(directory: Path) -> list[str]:
    """The ids of the logs, in the order in which they were written to first."""
    try:
        return _IDS.validate_json((directory / LOGS).read_bytes())
    except (FileNotFoundError, ValidationError):
        return []


def add_logs(directory: Path, ids: Sequence[str]) -> None:
    """Add those that are not in the list. Raises OSError."""
    known = logs_of(directory)
    all_ids = [*dict.fromkeys((*known, *ids))]
    if all_ids != known:
        write_private(directory / LOGS, _IDS.dump_json(all_ids), durable=True)


def old_edits(directory: Path) -> list[tuple[Intent, bool]]:
    """The edits in the session's own log of earlier versions, but those that did not happen; and if it is known that they did.

    Raises:
        OSError
    """
    try:
        events = read_events((directory / OLD_LOG).read_bytes())
    except FileNotFoundError:
        return []
    state = EditState()
    for _, event in events:
        state.apply(event)
    settled = {edit.n: edit.settled for edits in state.edits().values() for edit in edits}
    return [(event, settled[event.n]) for _, event in events if isinstance(event, Intent) and event.n in settled]


def set_aside(directory: Path) -> None:
    """The session's own log is not needed any more."""
    with contextlib.suppress(FileNotFoundError):  # a fork of the session was opened at the same time
        (directory / OLD_LOG).rename(directory / TAKEN_OVER)
