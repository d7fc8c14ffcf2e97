"""Taking edits back: every file as it was before them, with what the user changed since.

Only files the session has edits of are touched. Edits are taken back one by one, newest first; what somebody else wrote in
between or since is merged in, and where that cannot be done the file stays as it is and the conflict is told. Every
restored file is an edit itself, so a restore can be taken back too, and one that was cut off by a crash
can simply be done again: what is done already is found done.
"""

import asyncio
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from sould.agents.projects.blobs import BlobMissingError
from sould.agents.projects.merge import merge
from sould.agents.projects.nodes import Node
from sould.agents.projects.refs import DIRECTORY
from sould.agents.projects.sessionfiles import SessionFiles
from sould.agents.projects.state import Edit
from sould.agents.workspace import FileChangedError, WorkspaceError

Chosen: TypeAlias = Callable[[Edit], bool]
Action: TypeAlias = Literal["restored", "deleted", "created", "conflict"]

BOTH = "it was changed since in the same place"
GONE = "it was deleted since"
EXTENDED = "it was made by the agent and changed since"
SHARED = "a command changed it while others may have changed it too"


class FileOutcome(Struct, frozen=True):
    """What became of one file; `reason` only of a conflict."""

    path: Path
    action: Action
    reason: str = ""


class _Conflict(Exception):  # noqa: N818 -- an outcome inside this module
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def restore_call(restore_id: str) -> str:
    """The call id that the edits of a restore carry in the files."""
    return f"restore:{restore_id}"


def touched(files: SessionFiles, chosen: Chosen) -> list[Path]:
    """The files a restore would look at."""
    return [path for path, edits in files.edits.items() if any(map(chosen, edits))]


async def take_back(files: SessionFiles, chosen: Chosen, restore_id: str, turn_id: str) -> list[FileOutcome]:
    """Take the chosen edits back; files that need nothing are left out. Directories go last, when they are empty."""
    outcomes: list[FileOutcome] = []
    paths = sorted(touched(files, chosen))
    directories = {path for path in paths if await asyncio.to_thread(_is_directory, path)}
    for path in [*(path for path in paths if path not in directories), *sorted(directories, reverse=True)]:
        edits = [edit for edit in files.edits[path] if chosen(edit)]
        outcomes += await _outcomes(files, path, edits, restore_id, turn_id)
    return sorted(outcomes, key=lambda outcome: outcome.path)


async def _outcomes(
    files: SessionFiles, path: Path, edits: Sequence[Edit], restore_id: str, turn_id: str
) -> list[FileOutcome]:
    ours = [edit for edit in edits if not edit.shared]
    try:
        outcome = await _restore(files, path, ours, restore_id, turn_id)
    except _Conflict as conflict:
        outcome = FileOutcome(path, "conflict", conflict.reason)
    except (WorkspaceError, BlobMissingError) as error:
        outcome = FileOutcome(path, "conflict", str(error))
    shared = [FileOutcome(path, "conflict", SHARED)] if len(ours) < len(edits) else []
    return [outcome, *shared] if outcome is not None and outcome.action != "conflict" else shared or _listed(outcome)


def _listed(outcome: FileOutcome | None) -> list[FileOutcome]:
    return [outcome] if outcome is not None else []


async def _restore(
    files: SessionFiles, path: Path, edits: Sequence[Edit], restore_id: str, turn_id: str
) -> FileOutcome | None:
    for attempt in (1, 2):
        now = await files.node(path)
        wanted = now
        for edit in reversed(edits):
            wanted = await _without(files, edit, wanted)
        if wanted == now or await asyncio.to_thread(_in_use, path, now, wanted):
            return None
        try:
            await files.put(path, now, wanted, turn_id, restore_call(restore_id))
        except FileChangedError:  # somebody typed just now: look once more
            if attempt == 2:
                raise
            continue
        if stat.S_IFDIR in {node.kind for node in (now, wanted) if node is not None}:
            return None  # people care for files
        return FileOutcome(path, "deleted" if wanted is None else "created" if now is None else "restored")
    return None


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _in_use(path: Path, now: Node | None, wanted: Node | None) -> bool:
    """A directory that was made, and in which there is something by now that is to stay."""
    return wanted is None and now is not None and now.kind == stat.S_IFDIR and bool(os.listdir(path))


async def _without(files: SessionFiles, edit: Edit, now: Node | None) -> Node | None:
    """`now` with one edit taken back."""
    if not edit.settled:  # nobody knew if it happened
        before = await _version(files, edit.before, edit.before_mode)
        if _same(now, before):
            return now
    after = await _version(files, edit.after, edit.after_mode)
    before = await _version(files, edit.before, edit.before_mode)
    if _same(now, after):
        return _with_mode(before, edit, now)
    if _same(now, before):
        return _with_mode(now, edit, now)
    merged, data = False, None
    if after is not None and now is not None and before is not None and _texts(after, now, before):
        merged, data = await asyncio.to_thread(_merge, after, now, before)
    if not merged:
        raise _Conflict(GONE if now is None else EXTENDED if before is None else BOTH)
    return _with_mode(Node(None, data or b""), edit, now)


def _merge(after: Node, now: Node, before: Node) -> tuple[bool, bytes | None]:
    merged, text = merge(after.data.decode(), now.data.decode(), before.data.decode())
    return merged, text.encode() if text is not None else None


def _texts(*nodes: Node) -> bool:
    try:
        return all(node.kind == stat.S_IFREG and "\0" not in node.data.decode() for node in nodes)
    except UnicodeDecodeError:
        return False


async def _version(files: SessionFiles, digest: str | None, mode: int | None) -> Node | None:
    if digest is None:
        return None
    if digest == DIRECTORY and mode is None:
        mode = stat.S_IFDIR | (0o777 & ~files.umask)
    return Node(mode, await files.content(digest))


def _same(one: Node | None, other: Node | None) -> bool:
    """The same thing with the same content, whatever its mode."""
    if one is None or other is None:
        return one is other
    return one.kind == other.kind and one.data == other.data


def _with_mode(result: Node | None, edit: Edit, now: Node | None) -> Node | None:
    """`result` with the mode it is to have: what the edit changed is changed back, what others changed since stays."""
    if result is None or (now is not None and result.kind != now.kind):
        return result
    if now is None or now.mode is None:
        return Node(edit.before_mode if edit.before_mode is not None else result.mode, result.data)
    if edit.before_mode is not None and edit.after_mode is not None and now.mode == edit.after_mode:
        return Node(edit.before_mode, result.data)
    return Node(now.mode, result.data)
