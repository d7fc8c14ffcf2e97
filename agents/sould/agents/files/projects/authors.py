"""Which agent wrote a file: what the edit logs of all projects say of it.

Reads logs beside their owners: takes no lock and changes nothing. A file counts as an agent's also when its directory was
put back as a copy: a mark too many is a question, one too few may be a trap.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from sould.agents.base.gitplaces import work_tree_of
from sould.agents.base.projectowners import Owners
from sould.agents.files.edits.editlog import read_events
from sould.agents.files.edits.logkeeping import LOG
from sould.agents.files.edits.logrecords import LogRecords
from sould.agents.files.edits.ownership import ALONE
from sould.agents.files.edits.sessionlogs import OLD_LOG
from sould.agents.files.edits.state import EditState, LoggedEdit
from sould.agents.permissions.projectfiles import FileDiffers

BY_AGENT = "BY THE AGENT"
"""How a line of `described` marks what the agent did."""
OF_OTHERS = "NOT ONLY YOURS"
"""The same of what others than the user can write."""


class LastAuthor(Struct, frozen=True):
    """The session whose agent wrote a file last. `alone`: what it wrote is what is there."""

    session_id: str
    alone: bool


def authors(sessions: Path, files: Mapping[Path, str]) -> Mapping[Path, LastAuthor]:
    """Of `files` (resolved path to the digest of its text, "" when it is gone) those that an agent wrote.

    `sessions` holds the directories of the sessions.
    """
    last: dict[Path, LoggedEdit] = {}
    for path, edit in _edits(sessions, files):
        if path not in last or edit.timestamp >= last[path].timestamp:
            last[path] = edit
    return {path: LastAuthor(edit.session_id, (edit.after or "") == files[path]) for path, edit in last.items()}


def described(changes: Iterable[FileDiffers], workspace: Path, sessions: Path, owners: Owners) -> list[str]:
    """A line for each file: what happened to it, who else can write it, and whether the agent did that; its own come first."""
    found = list(changes)
    written = authors(sessions, {change.path: change.digest for change in found})
    found.sort(key=lambda change: change.path not in written)
    return [_line(change, workspace, written.get(change.path), owners) for change in found]


def _line(change: FileDiffers, workspace: Path, author: LastAuthor | None, owners: Owners) -> str:
    name = os.path.relpath(change.path, os.path.realpath(workspace))
    line = f"{''.join(each if each.isprintable() else ascii(each)[1:-1] for each in name)}: {change.how}"
    if others := owners.others(change.path, work_tree_of(change.path.parent) or workspace):
        line += f" {OF_OTHERS}, {others}"
    if author is None:
        return line
    return f"{line} {BY_AGENT}{'' if author.alone else ', and by somebody since'} (session {author.session_id})"


def _edits(sessions: Path, files: Mapping[Path, str]) -> Iterator[tuple[Path, LoggedEdit]]:
    projects = sessions.parent / "projects"
    around = {parent for path in files for parent in path.parents}
    logs = dict.fromkeys(sessions.glob(f"*/{OLD_LOG}"), ALONE)
    logs |= {projects / log_id / LOG: root for log_id, root in LogRecords(projects).roots(around).items()}
    for log, root in logs.items():
        try:
            data = log.read_bytes()
        except OSError:
            continue
        if any(_needle(path, root) in data for path in files):  # most logs know none of them and are not parsed
            yield from _of(data, root, files)


def _needle(path: Path, root: Path) -> bytes:
    """How a path ends in a log, whatever its root was when it was written."""
    name = path.relative_to(root) if path.is_relative_to(root) else path
    return json.dumps(f"/{name}", ensure_ascii=False)[2:].encode(errors="surrogateescape")


def _of(data: bytes, root: Path, files: Mapping[Path, str]) -> Iterator[tuple[Path, LoggedEdit]]:
    state = EditState(root)
    for _, event in read_events(data):
        state.apply(event)
    for path, edits in state.edits().items():
        if path in files:
            yield from (
                (path, edit) for edit in edits if edit.call_id and (edit.unsure or not edit.shared)
            )  # no call: the user's command
