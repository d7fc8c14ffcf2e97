"""What a worktree holds that the commit it parted at does not, and three texts made one. Reads only; no filter runs."""

import itertools
import os
import stat
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.files.directories.gitprogram import GitProgram
from sould.agents.files.directories.nodes import FileNode
from sould.agents.files.review.difference import LineEdit, edits_between
from sould.agents.files.review.lines import split
from sould.agents.sessions.worktrees.repository import LOOK_S, WorktreeError

MOST: Final = 5_000
"""Files that are looked at."""
_RAW: Final = ("diff-index", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules")
_SUBMODULE: Final = 0o160000


class ChangedFile(Struct, frozen=True):
    """A path in the worktree that may differ from the commit. `mode`: what it has there, 0 where it is not."""

    name: str
    mode: int


class MergeConflictError(Exception):
    """The texts were changed in the same place."""


def changed_files(git: GitProgram, commit: str) -> list[ChangedFile]:
    """Those of the worktree at `git.root`, ignored ones left out.

    Raises:
        WorktreeError: git does not say, or there are too many.
    """
    deadline = time.monotonic() + LOOK_S
    filters = git.without_filters(deadline)
    tracked = git.answer((*(filters or ()), *_RAW, commit, "--"), deadline)
    others = git.answer(("ls-files", "--others", "--exclude-standard", "-z"), deadline)
    if filters is None or tracked.failed or others.failed:
        why = tracked.failed or others.failed or "a filter cannot be switched off"
        raise WorktreeError(f"What was changed in {git.root} cannot be known: {why}.")
    parts = tracked.printed.split(b"\0")
    found = [
        ChangedFile(os.fsdecode(name), int(about[1:7], 8)) for about, name in zip(parts[::2], parts[1::2], strict=False)
    ]
    found += [ChangedFile(os.fsdecode(name), 0) for name in others.printed.split(b"\0") if name]
    if len(found) > MOST:
        raise WorktreeError(
            f"{len(found)} files were changed in {git.root}, which is too much to take over; merge its branch."
        )
    return sorted((each for each in found if each.mode != _SUBMODULE), key=lambda each: each.name)


def at_commit(git: GitProgram, commit: str, file: ChangedFile) -> FileNode | None:
    """The file as the commit has it, checked out. Raises WorktreeError."""
    if not file.mode:
        return None
    deadline = time.monotonic() + LOOK_S
    is_link = stat.S_ISLNK(file.mode)
    words = ("cat-file", "blob") if is_link else ("cat-file", "--filters")
    answer = git.answer((*(git.without_filters(deadline) or ()), *words, f"{commit}:{file.name}"), deadline)
    if answer.failed:
        raise WorktreeError(f"{file.name} cannot be had as it was: {answer.failed}.")
    return FileNode(file.mode if is_link else stat.S_IFREG | stat.S_IMODE(file.mode), answer.printed)


def merged(base: FileNode | None, theirs: FileNode | None, ours: FileNode | None) -> FileNode | None:
    """`ours` with what `theirs` changed of `base`; its mode stays, but for who may run it.

    Raises:
        MergeConflictError
    """
    if _same(theirs, base) or _same(ours, theirs):
        return ours
    if theirs is None and _same(ours, base):
        return None
    if _same(ours, base) and (ours is None or not _is_file(ours)):
        return theirs
    if base is None or theirs is None or ours is None or not all(map(_is_file, (base, theirs, ours))):
        raise MergeConflictError
    data = theirs.data if _same(ours, base) else merged_text(_text(base), _text(theirs), _text(ours)).encode()
    return FileNode(_mode(base, theirs, ours), data)


def merged_text(base: str, theirs: str, ours: str) -> str:
    """Likewise, of texts: what both did alike is done once.

    Raises:
        MergeConflictError: both did something else to the same lines, or to lines beside each other.
    """
    lines = split(base)
    mine, yours = edits_between(lines, split(ours)), edits_between(lines, split(theirs))
    edits = sorted({*mine, *yours}, key=_place)
    for edit, after in itertools.pairwise(edits):
        if after.start <= edit.stop and not ({edit, after} <= {*mine} or {edit, after} <= {*yours}):
            raise MergeConflictError
    found: list[str] = []
    at = 0
    for edit in edits:
        found += [*lines[at : edit.start], *edit.lines]
        at = edit.stop
    return "".join((*found, *lines[at:]))


def _place(edit: LineEdit) -> tuple[int, int]:
    return edit.start, edit.stop


def _same(one: FileNode | None, other: FileNode | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.kind == other.kind and one.data == other.data and _runs(one) == _runs(other)


def _is_file(node: FileNode) -> bool:
    return node.kind == stat.S_IFREG


def _runs(node: FileNode) -> bool:
    return _is_file(node) and bool((node.mode or 0) & 0o100)


def _mode(base: FileNode, theirs: FileNode, ours: FileNode) -> int | None:
    if ours.mode is None or _runs(theirs) == _runs(base):
        return ours.mode
    return ours.mode | (ours.mode & 0o444) >> 2 if _runs(theirs) else ours.mode & ~0o111


def _text(node: FileNode) -> str:
    """Raises MergeConflictError: it is none."""
    try:
        text = node.data.decode()
    except UnicodeDecodeError:
        raise MergeConflictError from None
    if "\0" in text:
        raise MergeConflictError
    return text


def place_in(root: Path, name: str) -> Path | None:
    """Where a file of that name is below another root; None: a directory above it leads elsewhere there."""
    path = root / name
    return path if os.path.realpath(path.parent) == str(path.parent) else None
