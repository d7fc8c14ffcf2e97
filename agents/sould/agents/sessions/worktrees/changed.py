"""What a worktree holds that the commit it parted at does not, and how another version of a file gets it. No filter runs. Blocks."""

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from sould.agents.base.errors import why_refused
from sould.agents.files.directories.nodes import FileNode
from sould.agents.sessions.worktrees.repository import LOOK_S, Repository, WorktreeError
from sould.agents.sessions.worktrees.worktrees import Worktree

MOST: Final = 5_000
"""Files that are looked at."""
_RAW: Final = ("diff-index", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules")
_SUBMODULE: Final = 0o160000


class ChangedFile(Struct, frozen=True):
    """A path in the worktree that may differ from the commit. `mode`: what it has there, 0 where it is not."""

    name: str
    mode: int


class MergeConflictError(WorktreeError):
    """Both were changed in the same place."""

    def __init__(self) -> None:
        super().__init__("it was changed here as well, in the same place")


class Changes(Struct, frozen=True):
    """Those of the worktree `there` since `commit`, which the one it was made in has, too."""

    there: Repository
    commit: str

    @classmethod
    def of(cls, worktree: Worktree, variables: Mapping[str, str]) -> "Changes":
        """Raises WorktreeError."""
        here, there = Repository.at(worktree.repository, variables), Repository.at(worktree.path, variables)
        return cls(there, here.common_ancestor(here.head(), there.head()) or worktree.commit)

    def files(self) -> list[ChangedFile]:
        """The files, ignored ones left out.

        Raises:
            WorktreeError: git does not say, or there are too many.
        """
        tracked = self.there.read(*_RAW, self.commit, "--")
        others = self.there.read("ls-files", "--others", "--exclude-standard", "-z")
        if why := tracked.failed or others.failed:
            raise WorktreeError(f"What was changed in {self.there.top} cannot be known: {why}.")
        parts = tracked.printed.split(b"\0")
        found = [
            ChangedFile(os.fsdecode(name), int(about[1:7], 8))
            for about, name in zip(parts[::2], parts[1::2], strict=False)
        ]
        found += [ChangedFile(os.fsdecode(name), 0) for name in others.printed.split(b"\0") if name]
        if len(found) > MOST:
            raise WorktreeError(
                f"{len(found)} files were changed in {self.there.top}, which is too much to take over; merge its branch."
            )
        return sorted((each for each in found if each.mode != _SUBMODULE), key=lambda each: each.name)

    def onto(self, file: ChangedFile, theirs: FileNode | None, ours: FileNode | None) -> FileNode | None:
        """`ours` with what `theirs` changed of the file since the commit; its mode stays, but for who may run it.

        Raises:
            MergeConflictError
            WorktreeError: git does not say what the commit has.
        """
        base = self._at_commit(file)
        if _same(theirs, base) or _same(ours, theirs):
            return ours
        if theirs is None and _same(ours, base):
            return None
        if _same(ours, base) and (ours is None or not _is_file(ours)):
            return theirs
        if base is None or theirs is None or ours is None or not all(map(_is_file, (base, theirs, ours))):
            raise MergeConflictError
        data = theirs.data if _same(ours, base) else self._merged(ours.data, base.data, theirs.data)
        return FileNode(_mode(base, theirs, ours), data)

    def _at_commit(self, file: ChangedFile) -> FileNode | None:
        """The file as the commit has it, checked out."""
        if not file.mode:
            return None
        is_link = stat.S_ISLNK(file.mode)
        words = ("cat-file", "blob") if is_link else ("cat-file", "--filters")
        answer = self.there.read(*words, f"{self.commit}:{file.name}")
        if answer.failed:
            raise WorktreeError(f"{file.name} cannot be had as it was: {answer.failed}.")
        return FileNode(file.mode if is_link else stat.S_IFREG | stat.S_IMODE(file.mode), answer.printed)

    def _merged(self, *ours_base_theirs: bytes) -> bytes:
        """Three texts made one: what both sides did alike is done once.

        Raises:
            MergeConflictError: both did something else to the same lines, or to lines beside each other, or these are no texts.
        """
        try:
            with TemporaryDirectory(prefix="sould-merge-") as folder:
                places = [Path(folder, name) for name in ("ours", "base", "theirs")]
                for place, data in zip(places, ours_base_theirs, strict=True):
                    place.write_bytes(data)
                words = ("merge-file", "-p", "--quiet", *map(str, places))
                answer = self.there.git.answer(words, time.monotonic() + LOOK_S)
        except OSError as error:
            raise WorktreeError(f"The texts cannot be merged: {why_refused(error)}.") from error
        if answer.code is None:
            raise WorktreeError(f"The texts cannot be merged: {answer.failed}.")
        if answer.failed:
            raise MergeConflictError
        return answer.printed


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


def place_in(root: Path, name: str) -> Path | None:
    """Where a file of that name is below another root; None: a directory above it leads elsewhere there."""
    path = root / name
    return path if os.path.realpath(path.parent) == str(path.parent) else None
